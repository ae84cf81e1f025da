"""A unary pull that waits for a message (PUL-03, PUL-06)."""

from __future__ import annotations

import asyncio

from emulator.engine.delivery.delivery import Delivery
from emulator.service.consumers import Consumer
from emulator.service.core import Core


class WaitingPull(Consumer):
    def __init__(self, core: Core, subscription: str, limit: int) -> None:
        super().__init__(subscription)
        self._core = core
        self._limit = limit

    def lease(self, share: int) -> list[Delivery]:
        return self._core.lease(self.subscription, min(share, self._limit))

    async def wait(self, patience_s: float) -> list[Delivery]:
        """Return messages as soon as there are any; none after `patience_s`, or at the end.

        Raises what the subscription ended with, should it end meanwhile. A caller who gives up
        takes no message along.
        """
        core = self._core
        if core.is_closing:
            return []
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[list[Delivery]] = loop.create_future()
        self.waiting = waiting
        timer = loop.call_later(patience_s, self.answer, [])
        core.consumers.enter(self)
        core.consumers.stand(self)
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                leases = [(delivery, delivery.ack_id) for delivery in waiting.result()]
                core.release(self.subscription, leases)
            raise
        finally:
            timer.cancel()
            core.consumers.leave(self)
