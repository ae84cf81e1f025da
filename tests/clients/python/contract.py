"""What the tests of this suite share: names, inboxes, links that break."""

from __future__ import annotations

import json
import os
import queue
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from google.cloud import pubsub_v1
from google.cloud.pubsub_v1.subscriber.message import Message

#: Nothing here takes as long; it keeps a broken server from hanging the suite.
HANG_LIMIT_S = 30.0


class Names:
    """Full names in a project of the test's own."""

    def __init__(self, project: str) -> None:
        self.project = project

    @property
    def parent(self) -> str:
        return f"projects/{self.project}"

    def topic(self, name: str = "topic") -> str:
        return f"{self.parent}/topics/{name}"

    def subscription(self, name: str = "subscription") -> str:
        return f"{self.parent}/subscriptions/{name}"

    def snapshot(self, name: str = "snapshot") -> str:
        return f"{self.parent}/snapshots/{name}"


class Inbox:
    """A callback that settles messages, and the messages it was called with."""

    def __init__(self, settle: Callable[[Message], Any] = Message.ack) -> None:
        self._settle = settle
        self._received: queue.SimpleQueue[Message] = queue.SimpleQueue()

    def __call__(self, message: Message) -> None:
        self._settle(message)
        self._received.put(message)

    def next(self, timeout_s: float = HANG_LIMIT_S) -> Message:
        return self._received.get(timeout=timeout_s)

    def take(self, count: int) -> list[bytes]:
        return [self.next().data for _ in range(count)]

    def is_quiet_for(self, seconds: float) -> bool:
        try:
            self.next(seconds)
        except queue.Empty:
            return True
        return False

    def __len__(self) -> int:
        return self._received.qsize()


@contextmanager
def listening(
    client: pubsub_v1.SubscriberClient,
    subscription: str,
    callback: Callable[[Message], None],
    **options: Any,
) -> Iterator[Any]:
    """Subscribe for a while; fail if the stream did."""
    future = client.subscribe(subscription, callback, **options)
    yield future
    future.cancel()
    future.result(timeout=HANG_LIMIT_S)


def until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + HANG_LIMIT_S
    while not holds():
        assert time.monotonic() < limit, "did not come true"
        time.sleep(0.02)


class Link:
    """An address of the server whose connections break on order (see tests/clients/faults.py)."""

    def __init__(self, kind: str) -> None:
        faults = os.environ.get("FAULTS")
        if not faults:
            pytest.skip("FAULTS does not name a program that breaks connections")
        self._links = f"http://{faults}/links"
        answer = self._order("POST", kind)
        self.address: str = answer["address"]
        self._id: int = answer["id"]

    def break_all(self, silent_s: float = 0) -> int:
        """Break what is open; return how much that was."""
        return int(self._order("POST", f"{self._id}/break?silent_s={silent_s}")["broken"])

    def sent_bytes(self) -> int:
        return int(self._order("GET", str(self._id))["sent_bytes"])

    def streams(self) -> int:
        """How many streams clients have opened."""
        return int(self._order("GET", str(self._id))["streams"])

    def close(self) -> None:
        self._order("DELETE", str(self._id))

    def _order(self, method: str, path: str) -> dict[str, Any]:
        request = urllib.request.Request(f"{self._links}/{path}", method=method)
        with urllib.request.urlopen(request, timeout=HANG_LIMIT_S) as answer:
            return dict(json.load(answer))
