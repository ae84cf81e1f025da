"""A StreamingPull from its first request to its end (STR-*)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from emulator.api import pubsub
from emulator.engine import errors
from emulator.engine.delivery import Delivery
from emulator.engine.errors import PubsubError
from emulator.engine.limits import PULL_MESSAGES
from emulator.service.consumers import Consumer
from emulator.service.core import Core
from emulator.service.splice import streaming_pull_response


class Stream(Consumer):
    """`receive` takes the client's requests, `next_response` waits for the next thing to send.

    `over` fails with the reason when the server ends the stream. Raises PubsubError when
    the first request opens no stream.
    """

    def __init__(self, core: Core, first: pubsub.StreamingPullRequest) -> None:
        if core.is_closing:
            raise errors.stream_closed()
        outcome = core.engine.open_stream(first, now=core.now(first.subscription))
        super().__init__(first.subscription)
        self._core = core
        self._holder = outcome.value
        self._answers_pings = first.protocol_version >= 1
        self._pongs = 0
        self._unsent: Sequence[Delivery] = ()
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        core.consumers.enter(self)
        core.streams[self._holder] = self
        core.settle(self.subscription, outcome)
        self._count_ping(first)

    # --- what the client says ---

    def receive(self, request: pubsub.StreamingPullRequest) -> None:
        """Take a later request; raises PubsubError for one that ends the stream (STR-02, 04)."""
        core = self._core
        outcome = core.engine.receive(self._holder, request, now=core.now(self.subscription))
        core.settle(self.subscription, outcome)
        self._count_ping(request)

    def _count_ping(self, request: pubsub.StreamingPullRequest) -> None:
        """Clients of protocol version 1 give a stream up that does not answer (STR-11)."""
        if self._answers_pings and not request.ack_ids and not request.modify_deadline_ack_ids:
            self._pongs += 1
            self.answer([])

    # --- what it is told ---

    async def next_response(self) -> bytes:
        """Wait for messages, or for a ping to answer; return the encoded response.

        Call `sent` when it has been handed on. Raises what the subscription ended with.
        """
        deliveries: Sequence[Delivery] = ()
        while not self._pongs and not deliveries:
            deliveries = self.lease(PULL_MESSAGES) or await self._wait()
        if not deliveries:
            self._pongs -= 1
        self._unsent = deliveries
        return streaming_pull_response(deliveries, self._properties())

    def sent(self) -> None:
        """The last response is on its way."""
        self._unsent = ()

    def lease(self, share: int) -> list[Delivery]:
        if self.over.done():
            return []  # the end is known, the transport has yet to hear of it
        return self._core.lease_to(self._holder, share)

    async def _wait(self) -> list[Delivery]:
        consumers = self._core.consumers
        waiting: asyncio.Future[list[Delivery]] = asyncio.get_running_loop().create_future()
        self.waiting = waiting
        if not self._holder.is_blocked:
            consumers.stand(self)
        try:
            return await waiting
        finally:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                self._unsent = waiting.result()
            self.waiting = None
            consumers.step_out(self)

    def has_room(self) -> None:
        """The window was full and is not any more."""
        if self.waiting is not None:
            self._core.consumers.stand(self)

    def _properties(self) -> pubsub.StreamingPullResponse.SubscriptionProperties:
        return self._core.engine.subscription_properties(self.subscription)

    # --- the end ---

    def end(self, error: PubsubError) -> None:
        """End the stream from the server's side (STR-13)."""
        if not self.over.done():
            self.over.set_exception(error)

    def close(self) -> None:
        """Leave: what was not sent is available again, what was sent stays leased (STR-05)."""
        core = self._core
        core.consumers.leave(self)
        core.streams.pop(self._holder, None)
        ours = [(d, d.ack_id) for d in self._unsent if d.holder is self._holder]
        if ours:
            core.release(self.subscription, ours)
        if self.over.done():
            self.over.exception()  # seen, should the client have gone at the same moment
