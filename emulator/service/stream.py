"""A StreamingPull from its first request to its end (STR-*)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from emulator.api import pubsub
from emulator.engine.delivery.leases import Lease
from emulator.engine.operations.holders import Leases
from emulator.engine.values import errors
from emulator.engine.values.errors import PubsubError
from emulator.engine.values.limits import PULL_MESSAGES
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
        name = first.subscription
        super().__init__(name)
        self._core = core
        self._holder = core.perform(name, core.engine.streaming.open, first)
        self._answers_pings = first.protocol_version >= 1
        self._unsaid: deque[bytes] = deque()
        self._unsent: Sequence[Lease] = ()
        self._is_blocked = False
        self._is_taking = True
        self._is_finishing = False
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            self._receive(first, is_first=True)
        except PubsubError:
            core.perform(name, core.engine.holders.close, self._holder)
            raise
        core.consumers.enter(self)
        core.holders[self._holder] = self

    # --- what the client says ---

    def receive(self, request: pubsub.StreamingPullRequest) -> None:
        """Take a later request; raises PubsubError for one that ends the stream (STR-02, 04)."""
        self._receive(request, is_first=False)

    def _receive(self, request: pubsub.StreamingPullRequest, *, is_first: bool) -> None:
        core, name = self._core, self.subscription
        receipt = core.perform(
            name, core.engine.streaming.receive, self._holder, request, is_first=is_first
        )
        if receipt.confirmation is not None:
            receipt.confirmation.subscription_properties.CopyFrom(
                pubsub.StreamingPullResponse.SubscriptionProperties(
                    exactly_once_delivery_enabled=receipt.properties.is_exactly_once,
                    message_ordering_enabled=receipt.properties.is_ordered,
                )
            )
            self._say(receipt.confirmation.SerializeToString())
        elif self._answers_pings and _is_ping(request):
            self._say(streaming_pull_response((), receipt.properties))

    def _say(self, response: bytes) -> None:
        self._unsaid.append(response)
        self.answer(None)

    # --- what it is told ---

    async def next_response(self) -> bytes | None:
        """Wait for messages, or for something else to say; return the encoded response.

        Call `sent` when it has been handed on. None when the stream is finishing and everything
        has been said. Raises what the subscription ended with.
        """
        taken: Leases | None = None
        while taken is None or not taken.leases:
            if self._unsaid:
                return self._unsaid.popleft()
            if self._is_finishing:
                return None
            taken = self.lease(PULL_MESSAGES, 1)
            if taken is None or not taken.leases:
                taken = await self._wait()
        self._unsent = taken.leases
        return streaming_pull_response(
            taken.leases, taken.properties, is_attempt_shown=taken.is_attempt_shown
        )

    def sent(self) -> None:
        """The last response is on its way."""
        self._unsent = ()

    def recall(self) -> Callable[[], None] | None:
        """What makes the messages of the last response available again; None if it has none."""
        if not self._unsent:
            return None
        leases = self._unsent
        return lambda: self._core.release(self.subscription, leases)

    def lease(self, limit: int, among: int) -> Leases | None:
        if not self._is_taking or self.over.done():
            return None  # the end is known, the transport has yet to hear of it
        core = self._core
        taken = core.perform(
            self.subscription, core.engine.holders.lease, self._holder, limit, among=among
        )
        self._is_blocked = taken.is_blocked
        return taken

    async def _wait(self) -> Leases | None:
        consumers = self._core.consumers
        waiting: asyncio.Future[Leases | None] = asyncio.get_running_loop().create_future()
        self.waiting = waiting
        if not self._is_blocked:
            consumers.stand(self)
        try:
            return await waiting
        finally:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                taken = waiting.result()
                self._unsent = taken.leases if taken is not None else ()
            self.waiting = None
            consumers.step_out(self)

    def has_room(self) -> None:
        """The window was full and is not any more."""
        self._is_blocked = False
        if self.waiting is not None:
            self._core.consumers.stand(self)

    # --- the end ---

    def end(self, error: PubsubError) -> None:
        """End the stream from the server's side (STR-13)."""
        if not self.over.done():
            self.over.set_exception(error)

    def stop(self) -> None:
        self.end(errors.stream_closed())

    def finish(self) -> None:
        """Take no more messages; what was taken or is to be said can still be sent (STR-14)."""
        self._is_taking = False
        self._is_finishing = True
        is_sending = bool(self._unsent) or (self.waiting is not None and not self.is_waiting)
        self.answer(None)
        core = self._core
        core.perform(
            self.subscription, core.engine.holders.half_close, self._holder, is_sending=is_sending
        )

    def leave(self) -> None:
        """Take no more messages and give back what was not sent; the client has gone (STR-05)."""
        self._is_taking = False
        self._core.consumers.leave(self)
        unsent, self._unsent = self._unsent, ()
        if unsent:
            self._core.release(self.subscription, unsent)

    def close(self) -> None:
        """End: what was not sent is available again, what was sent stays leased (STR-05)."""
        self.leave()
        self._core.holders.pop(self._holder, None)
        self._core.perform(self.subscription, self._core.engine.holders.close, self._holder)
        if self.over.done():
            self.over.exception()  # seen, should the client have gone at the same moment


def _is_ping(request: pubsub.StreamingPullRequest) -> bool:
    """Clients of protocol version 1 give a stream up that does not answer these (STR-11)."""
    return not request.ack_ids and not request.modify_deadline_ack_ids
