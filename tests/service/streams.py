"""A StreamingPull with nothing between the test and the wire, and a look at who holds what."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import grpc

from emulator.api import pubsub
from emulator.engine.delivery.holder import Holder
from emulator.engine.values.durations import SECOND_US
from tests.inside import Inside
from tests.wire import HANG_LIMIT_S, LONG_LEASE_S, Wire

Request = pubsub.StreamingPullRequest
Received = list[pubsub.ReceivedMessage]
_PATH = "/google.pubsub.v1.Subscriber/StreamingPull"


class RawStream:
    """One stream, which reads a response only when it is asked for one.

    The first request has `subscription`, a long deadline and whatever else is given; without a
    subscription nothing is sent by itself.
    """

    def __init__(
        self,
        wire: Wire,
        subscription: str = "",
        *,
        timeout_s: float = HANG_LIMIT_S,
        **first: Any,
    ) -> None:
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        method = wire.channel.stream_stream(
            _PATH, response_deserializer=pubsub.StreamingPullResponse.FromString
        )
        self.call: Any = method(iter(self._requests.get, None), timeout=timeout_s)
        if subscription:
            first.setdefault("stream_ack_deadline_seconds", LONG_LEASE_S)
            self.send(subscription=subscription, **first)

    def open(self) -> RawStream:
        """Return when the server has taken the first request."""
        self.call.initial_metadata()
        return self

    def send(self, **fields: Any) -> None:
        self.send_bytes(Request(**fields).SerializeToString())

    def send_bytes(self, encoded: bytes) -> None:
        self._requests.put(encoded)

    def half_close(self) -> None:
        self._requests.put(None)

    def cancel(self) -> None:
        self.call.cancel()

    def response(self) -> pubsub.StreamingPullResponse:
        """The next response, waiting for it."""
        response: pubsub.StreamingPullResponse = next(self.call)
        return response

    def receive(self, count: int) -> Received:
        """Read responses until `count` messages have come."""
        received: Received = []
        while len(received) < count:
            received.extend(self.response().received_messages)
        assert len(received) == count
        return received

    def rest(self) -> Iterator[pubsub.StreamingPullResponse]:
        """The responses up to the end of the stream, whatever that is."""
        try:
            yield from self.call
        except grpc.RpcError:
            return

    def end(self) -> tuple[grpc.StatusCode, str]:
        """Read to the end; return its code and text."""
        for _ in self.rest():
            pass
        return self.call.code(), self.call.details()

    def __enter__(self) -> RawStream:
        return self.open()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.cancel()


def ids(received: Received) -> list[str]:
    return [each.ack_id for each in received]


def held(inside: Inside, subscription: str) -> list[int]:
    """How many messages each stream on a subscription holds, in the order of their opening."""
    return inside._ask(
        lambda: [h.held_messages for h in _holders(inside) if h.subscription == subscription]
    )


def _holders(inside: Inside) -> list[Holder]:
    core = inside._server._core
    return [core.engine._world.holders[holder] for holder in core.holders]


def lease_ends_in_s(inside: Inside, subscription: str, ack_id: str) -> float:
    """How long a lease still runs."""
    core = inside._server._core

    def remaining() -> float:
        delivery = core.engine._world.subscriptions[subscription].backlog.leases.by_ack_id[ack_id]
        return (delivery.deadline_us - core.now(subscription)) / SECOND_US

    return inside._ask(remaining)


def present(inside: Inside) -> tuple[int, int]:
    """How many streams and consumers the whole server has."""
    core = inside._server._core
    return inside._ask(lambda: (len(core.holders), len(core.consumers)))


def open_streams(inside: Inside, subscription: str) -> list[int]:
    """The identities of a subscription's streams, in the order of their opening."""
    return inside._ask(lambda: [h.id for h in _holders(inside) if h.subscription == subscription])
