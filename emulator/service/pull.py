"""A unary pull that waits for a message (PUL-03, PUL-06)."""

from __future__ import annotations

import asyncio

from emulator.engine.operations.holders import Leases, Window
from emulator.service.consumers import Consumer
from emulator.service.core import Core


class WaitingPull(Consumer):
    def __init__(self, core: Core, subscription: str, limit: int) -> None:
        super().__init__(subscription)
        self._core = core
        self._limit = limit
        self._holder = 0

    def lease(self, limit: int, among: int) -> Leases:
        core = self._core
        return core.perform(
            self.subscription, core.engine.holders.lease, self._holder, limit, among=among
        )

    def stop(self) -> None:
        self.answer(None)

    async def wait(self, patience_s: float) -> Leases | None:
        """Return messages as soon as there are any; none after `patience_s`, or at the end.

        Raises what the subscription ended with, should it end meanwhile. A caller who gives up
        takes no message along.
        """
        core = self._core
        if core.is_closing:
            return None
        window = Window(self._limit, is_passing=True)
        self._holder = core.perform(
            self.subscription, core.engine.holders.open, self.subscription, window
        )
        timer = asyncio.get_running_loop().call_later(patience_s, self.answer, None)
        core.consumers.enter(self)
        try:
            return await self._wait()
        finally:
            timer.cancel()
            core.consumers.leave(self)
            core.perform(self.subscription, core.engine.holders.close, self._holder)

    async def _wait(self) -> Leases | None:
        waiting: asyncio.Future[Leases | None] = asyncio.get_running_loop().create_future()
        self.waiting = waiting
        self._core.consumers.stand(self)
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                self._give_back(waiting.result())
            raise

    def _give_back(self, taken: Leases | None) -> None:
        if taken is not None:
            self._core.release(self.subscription, taken.leases)
