"""The program that breaks connections does break them, and only when told to."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from emulator.api import pubsub
from emulator.testing import Emulator
from tests.spec import spec
from tests.wire import HANG_LIMIT_S, Names, Wire

PROGRAM = Path(__file__).with_name("faults.py")
PULL = "/google.pubsub.v1.Subscriber/StreamingPull"
Order = Callable[[str, str], dict[str, Any]]


@pytest.fixture
def order(emulator: Emulator) -> Iterator[Order]:
    command = [sys.executable, str(PROGRAM), emulator.host_port]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()

        def send(method: str, path: str) -> dict[str, Any]:
            request = urllib.request.Request(f"http://{address}/links/{path}", method=method)
            with urllib.request.urlopen(request, timeout=HANG_LIMIT_S) as answer:
                return dict(json.load(answer))

        yield send
        process.stdin.close()  # which ends it
        assert process.wait(HANG_LIMIT_S) == 0


def pull(wire: Wire, subscription: str) -> Any:
    """An open stream, on which a first message has arrived."""
    call: Any = wire.channel.stream_stream(
        PULL,
        request_serializer=pubsub.StreamingPullRequest.SerializeToString,
        response_deserializer=pubsub.StreamingPullResponse.FromString,
    )
    first = pubsub.StreamingPullRequest(subscription=subscription, stream_ack_deadline_seconds=60)
    stream = call(iter_then_wait(first), timeout=HANG_LIMIT_S)
    assert next(stream).received_messages
    return stream


def iter_then_wait(first: Any) -> Iterator[Any]:
    """One request, on a stream that stays open until the call ends."""
    yield first
    threading.Event().wait(HANG_LIMIT_S)


@spec("STR-13")
def test_streams_end_unavailable_and_the_connection_stays(
    order: Order, wire: Wire, names: Names
) -> None:
    wire.create(names.topic(), names.subscription())
    wire.publish(names.topic(), b"a")
    link = order("POST", "grpc")
    through = Wire(link["address"])
    stream = pull(through, names.subscription())
    assert order("GET", str(link["id"]))["streams"] == 1
    assert order("POST", f"{link['id']}/break") == {"broken": 1}
    with pytest.raises(grpc.RpcError) as caught:
        next(stream)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert "should be recreated" in caught.value.details()
    assert through("GetTopic", pubsub.GetTopicRequest(topic=names.topic())).name == names.topic()
    with pytest.raises(grpc.RpcError) as caught:  # errors pass as they are
        through("GetTopic", pubsub.GetTopicRequest(topic=names.topic("absent")))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    through.close()
    order("DELETE", str(link["id"]))


def test_cut_connections_end_and_new_ones_are_taken(order: Order, wire: Wire, names: Names) -> None:
    wire.create(names.topic(), names.subscription())
    wire.publish(names.topic(), b"a")
    link = order("POST", "tcp")
    through = Wire(link["address"])
    stream = pull(through, names.subscription())
    assert order("GET", str(link["id"]))["sent_bytes"] > 0
    assert order("POST", f"{link['id']}/break") == {"broken": 1}
    with pytest.raises(grpc.RpcError) as caught:
        next(stream)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    again = Wire(link["address"])
    assert again("GetTopic", pubsub.GetTopicRequest(topic=names.topic())).name == names.topic()
    again.close()
    through.close()
    order("DELETE", str(link["id"]))
