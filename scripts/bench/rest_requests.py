"""The JSON bodies of the benchmark's REST calls, and what is read of an answer."""

import base64
import json

from scripts.bench.requests import PAYLOAD_BYTES


def publish(count: int) -> bytes:
    """Build the body of a publish call: the messages are those of `requests.publish`."""
    data = base64.b64encode(b"x" * PAYLOAD_BYTES).decode()
    return _encoded({"messages": [{"data": data, "attributes": {"kind": "event"}}] * count})


def pull(max_messages: int) -> bytes:
    """Build the body of a pull call that waits for messages."""
    return _encoded({"maxMessages": max_messages, "returnImmediately": False})


def acknowledge(ack_ids: list[str]) -> bytes:
    """Build the body of an acknowledge call."""
    return _encoded({"ackIds": ack_ids})


def ack_ids(answer: bytes) -> list[str]:
    """Return the ack ids in the answer to a pull, which has no list if it has no message."""
    return [message["ackId"] for message in json.loads(answer).get("receivedMessages", ())]


def _encoded(body: dict[str, object]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()
