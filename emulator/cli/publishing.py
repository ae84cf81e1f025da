"""`pubsub-emulator publish`."""

from __future__ import annotations

import base64
import sys
from argparse import Namespace
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from emulator.cli.names import full
from emulator.cli.rest import Client
from emulator.cli.table import Progress, print_json

#: The service's limits, with some room: messages of a request, and its bytes (PUB-20, PUB-22).
_MOST_MESSAGES = 1000
_MOST_BYTES = 7_000_000


def publish(client: Client, parsed: Namespace) -> None:
    """Publish what the options say, in as few requests as the limits allow; print the ids."""
    topic = full(parsed.topic, "topics", parsed.project)
    messages = [_message(data, parsed) for data in _datas(parsed)]
    total = len(messages) * parsed.n
    progress = Progress("published", total)
    for batch in _batches(chain.from_iterable(repeat(messages, parsed.n))):
        answer = client.call("POST", f"{topic}:publish", {"messages": batch})
        _show(answer["messageIds"], parsed)
        progress.add(len(batch))
    progress.end()


def _show(ids: list[str], parsed: Namespace) -> None:
    if parsed.json:
        print_json({"messageId": each} for each in ids)
    else:
        print("\n".join(ids))


def _datas(parsed: Namespace) -> list[bytes]:
    if parsed.data is not None:
        data = parsed.data.encode("utf-8", "surrogateescape")
    elif parsed.file is not None:
        data = Path(parsed.file).read_bytes()
    elif parsed.stdin is not None:
        data = sys.stdin.buffer.read()
    elif parsed.attribute:
        data = b""
    else:
        raise ValueError("there is nothing to publish: give -d, -f, - or -a")
    return data.splitlines() if parsed.lines else [data]


def _message(data: bytes, parsed: Namespace) -> dict[str, Any]:
    message: dict[str, Any] = {"data": base64.b64encode(data).decode()}
    if parsed.attribute:
        message["attributes"] = dict(parsed.attribute)
    if parsed.key:
        message["orderingKey"] = parsed.key
    return message


def _batches(messages: Iterator[dict[str, Any]]) -> Iterator[list[Any]]:
    batch: list[Any] = []
    size = 0
    for message in messages:
        more = len(message["data"]) + 500
        if batch and (len(batch) == _MOST_MESSAGES or size + more > _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += more
    if batch:
        yield batch
