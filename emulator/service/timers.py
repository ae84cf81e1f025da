"""Has a project's due work done when something is due, and at no other time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import NamedTuple

from emulator.service.clock import Clock


class _Armed(NamedTuple):
    at_us: int
    handle: asyncio.Handle


class Timers:
    """One timer a project, armed for its next deadline; none where nothing is to come.

    `next_deadline` says when a project has work, `tick` does a part of it. Stopped time has no
    timer, unless for what is due already: chores above all.
    """

    def __init__(
        self,
        next_deadline: Callable[[str], int | None],
        clock: Clock,
        tick: Callable[[str], object],
    ) -> None:
        self._next_deadline = next_deadline
        self._clock = clock
        self._tick = tick
        self._armed: dict[str, _Armed] = {}

    def touch(self, project: str) -> None:
        """An operation on `project` was done: see that the timer is early enough."""
        next_us = self._next_deadline(project)
        if next_us is None:
            return
        if self._clock.is_stopped(project) and next_us > self._clock.now_us(project):
            return
        armed = self._armed.get(project)
        if armed is None or next_us < armed.at_us:
            if armed is not None:
                armed.handle.cancel()
            self._arm(project, next_us)

    def rearm(self, project: str) -> None:
        """The clock of `project` was turned."""
        armed = self._armed.pop(project, None)
        if armed is not None:
            armed.handle.cancel()
        self.touch(project)

    def restart(self, projects: Iterable[str]) -> None:
        """All is different: forget what was armed, and arm what there is for `projects`."""
        self.close()
        for project in projects:
            self.touch(project)

    def _arm(self, project: str, at_us: int) -> None:
        delay_s = max(at_us - self._clock.now_us(project), 0) / 1e6
        handle = asyncio.get_running_loop().call_later(delay_s, self._fire, project)
        self._armed[project] = _Armed(at_us, handle)

    def _fire(self, project: str) -> None:
        del self._armed[project]
        self._tick(project)
        # With more work due this arms a timer of no delay, behind whatever else waits for the loop.
        self.touch(project)

    def close(self) -> None:
        """Let nothing fire any more."""
        for armed in self._armed.values():
            armed.handle.cancel()
        self._armed.clear()
