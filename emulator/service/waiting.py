"""Pulls that wait for a message (PUL-03, PUL-06)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from emulator.engine.delivery import Delivery
from emulator.engine.errors import PubsubError

Lease = Callable[[str, int], list[Delivery]]
Release = Callable[[str, list[tuple[Delivery, str]]], None]


@dataclass(eq=False, slots=True)
class _Waiter:
    limit: int
    future: asyncio.Future[list[Delivery]]


class WaitingPulls:
    """Who waits on which subscription, first come, first served.

    `lease` and `release` are the engine's, on the subscription's time. Messages are leased only
    for a pull that waits, at the moment when they become available; what a pull that was given up
    had got is taken back.
    """

    def __init__(self, lease: Lease, release: Release) -> None:
        self._lease = lease
        self._release = release
        self._waiting: dict[str, dict[_Waiter, None]] = {}
        self._is_open = True

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    async def wait(self, subscription: str, limit: int, patience_s: float) -> list[Delivery]:
        """Lease up to `limit` messages as soon as there are any; none after `patience_s`.

        Raises what `end` was given if the subscription ends meanwhile.
        """
        if not self._is_open:
            return []
        loop = asyncio.get_running_loop()
        waiter = _Waiter(limit, loop.create_future())
        self._waiting.setdefault(subscription, {})[waiter] = None
        timer = loop.call_later(patience_s, _answer_empty, waiter.future)
        try:
            return await waiter.future
        except asyncio.CancelledError:
            self._take_back(subscription, waiter.future)
            raise
        finally:
            timer.cancel()
            self._leave(subscription, waiter)

    def serve(self, subscription: str) -> None:
        """Give what is available to those who wait."""
        for waiter in tuple(self._waiting.get(subscription, ())):
            if waiter.future.done():
                continue
            deliveries = self._lease(subscription, waiter.limit)
            if not deliveries:
                return
            waiter.future.set_result(deliveries)

    def end(self, subscription: str, error: PubsubError) -> None:
        """Answer everybody who waits on `subscription` with `error`."""
        for waiter in self._waiting.get(subscription, ()):
            if not waiter.future.done():
                waiter.future.set_exception(error)

    def close(self) -> None:
        """Answer everybody with nothing, now and from now on."""
        self._is_open = False
        for waiters in self._waiting.values():
            for waiter in waiters:
                _answer_empty(waiter.future)

    def _take_back(self, subscription: str, future: asyncio.Future[list[Delivery]]) -> None:
        if future.done() and not future.cancelled() and future.exception() is None:
            self._release(subscription, [(d, d.ack_id) for d in future.result()])

    def _leave(self, subscription: str, waiter: _Waiter) -> None:
        waiters = self._waiting[subscription]
        del waiters[waiter]
        if not waiters:
            del self._waiting[subscription]


def _answer_empty(future: asyncio.Future[list[Delivery]]) -> None:
    if not future.done():
        future.set_result([])
