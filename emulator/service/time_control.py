"""Turning a project's clock: what is due on the way happens, in order (GEN-01)."""

from __future__ import annotations

import asyncio

from emulator.engine.delivery.outcome import Fired
from emulator.service.core import Core

#: Turns of the loop that streams get to send what a turned clock brought them.
_TURNS = 10
#: Snapshots and policies look some years ahead, and timestamps end with the year 9999.
_END_US = 253_086_768_000_000_000


class TimeControl:
    """Client deadlines and the patience of waiting pulls stay on real time."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._turning = asyncio.Lock()  # one turn after the other

    def now_us(self, project: str) -> int:
        """The time of `project`."""
        return self._core.clock.now_us(project)

    def stop(self, project: str) -> None:
        """Let the time of `project` stand still; nothing of it is due until it is put forward."""
        self._core.clock.stop(project)
        self._core.timers.rearm(project)

    def run(self, project: str) -> None:
        """Let the time of `project` run on from where it is."""
        self._core.clock.run(project)
        self._core.timers.rearm(project)

    async def advance(self, project: str, by_us: int) -> list[Fired]:
        """Put the time of `project` forward by `by_us`; return what happened on the way.

        Raises ValueError for a step back.
        """
        return await self.put(project, self.now_us(project) + by_us)

    async def put(self, project: str, to_us: int) -> list[Fired]:
        """Put the time of `project` forward to `to_us`; return what happened on the way.

        Every deadline is met at its own time. Raises ValueError for a time that is past.
        """
        clock = self._core.clock
        async with self._turning:
            if to_us < self.now_us(project):
                raise ValueError("time does not run backwards")
            if to_us > _END_US:
                raise ValueError("time ends with the year 9989")
            was_stopped = clock.is_stopped(project)
            clock.stop(project)
            fired = await self._meet_deadlines(project, to_us)
            if clock.is_stopped(project):  # not if all was reset meanwhile
                clock.put(project, to_us)
            if not was_stopped:
                clock.run(project)
            self._core.timers.rearm(project)
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        return fired

    async def _meet_deadlines(self, project: str, to_us: int) -> list[Fired]:
        core = self._core
        fired: list[Fired] = []
        while (next_us := core.next_deadline(project)) is not None and next_us <= to_us:
            core.clock.put(project, max(next_us, self.now_us(project)))
            core.on_fired = fired.append
            core.tick(project)
            core.on_fired = None
            core.finish()  # dead letters have the time of this moment
            # Others have their turn, and streams send what this moment brought before the next.
            await asyncio.sleep(0)
            if not core.clock.is_stopped(project):
                break
        return fired
