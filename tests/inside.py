"""What goes on inside an emulator of the test's own process; asked on its loop, changed nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple, TypeVar

import psutil

from emulator.testing import Emulator
from tests.wire import HANG_LIMIT_S

Answer = TypeVar("Answer")


class Counts(NamedTuple):
    """Messages of one subscription."""

    available: int
    leased: int


class Inside:
    def __init__(self, emulator: Emulator) -> None:
        assert emulator._running is not None
        self._loop, self._server = emulator._running

    def _ask(self, question: Callable[[], Answer]) -> Answer:
        return self.begin(question).result(HANG_LIMIT_S)

    def begin(self, question: Callable[[], Answer]) -> Future[Answer]:
        """Ask without waiting for the answer."""

        async def answer() -> Answer:
            return question()

        return asyncio.run_coroutine_threadsafe(answer(), self._loop)

    def waiting(self, subscription: str) -> int:
        """How many consumers, waiting pulls and streams, a subscription has."""
        consumers = self._server._core.consumers
        return self._ask(lambda: len(consumers._present.get(subscription, ())))

    def counts(self, subscription: str) -> Counts:
        engine = self._server._core.engine

        def count() -> Counts:
            backlog = engine._world.subscriptions[subscription].backlog
            return Counts(backlog.available, backlog.leased)

        return self._ask(count)

    def kept(self, topic: str) -> int:
        """How many messages the log of a topic holds."""
        engine = self._server._core.engine
        return self._ask(lambda: engine._world.topics[topic].log.kept)

    def has_timer(self, project: str) -> bool:
        """Whether a timer is armed for what is due in a project."""
        return self._ask(lambda: project in self._server._core.timers._armed)

    def tasks(self) -> int:
        """Tasks of the server's loop, the asking one included."""
        return self._ask(lambda: len(asyncio.all_tasks()))

    def connections(self) -> int:
        front = self._server._front
        assert front is not None
        return self._ask(lambda: front.connections)

    def guards(self) -> int:
        """Answers of which it is not known yet whether they arrived."""
        relays = self._server._peers._relays
        return self._ask(lambda: sum(len(relay._guards) for relay in relays.values()))

    def peers(self) -> int:
        """Connections of which calls can come."""
        return self._ask(lambda: len(self._server._peers))

    def callers(self) -> int:
        """Calls that would hear of the end of their connection."""
        relays = self._server._peers._relays
        return self._ask(lambda: sum(len(relay._callers) for relay in relays.values()))


def open_files() -> int:
    """Descriptors of this process."""
    return psutil.Process().num_fds()
