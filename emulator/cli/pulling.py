"""`pubsub-emulator pull`."""

from __future__ import annotations

import base64
import sys
from argparse import Namespace
from typing import Any

from emulator.cli.names import full
from emulator.cli.rest import Client
from emulator.cli.table import print_json, print_table

_DEFAULT_LIMIT = 10
_MOST = 1000
_COLUMNS = ("MESSAGE ID", "PUBLISHED", "ATTEMPT", "KEY", "ATTRIBUTES", "DATA")


def pull(client: Client, parsed: Namespace) -> None:
    """Show messages once, or for ever with --follow."""
    name = full(parsed.subscription, "subscriptions", parsed.project)
    left = parsed.n or (None if parsed.follow else _DEFAULT_LIMIT)
    is_first = True
    while left is None or left > 0:
        # In a table that others come behind, wait for what is there, not for a full page.
        limit = _MOST if left is None else min(left, _MOST)
        body = {"maxMessages": limit, "returnImmediately": not parsed.follow}
        received = client.call("POST", f"{name}:pull", body).get("receivedMessages", [])
        if received:
            _show(received, parsed, has_head=is_first)
            is_first = False
            if parsed.ack:
                ids = [each["ackId"] for each in received]
                client.call("POST", f"{name}:acknowledge", {"ackIds": ids})
        elif not parsed.follow:
            break
        left = None if left is None else left - len(received)
    if is_first and not parsed.json:
        print("There is no message to take now.", file=sys.stderr)


def _show(received: list[Any], parsed: Namespace, *, has_head: bool) -> None:
    if parsed.json:
        print_json(received)
    else:
        print_table(_COLUMNS, [_row(each) for each in received], has_head=has_head)
        sys.stdout.flush()


def _row(received: Any) -> tuple[object, ...]:
    message = received["message"]
    attributes = message.get("attributes", {})
    return (
        message["messageId"],
        message["publishTime"],
        received.get("deliveryAttempt"),
        message.get("orderingKey"),
        ",".join(f"{key}={value}" for key, value in sorted(attributes.items())),
        _text(base64.b64decode(message.get("data", ""))),
    )


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"{len(data)} bytes: {data[:24].hex(' ')}{'…' if len(data) > 24 else ''}"
