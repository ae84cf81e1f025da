"""What happens at a set time, apart from leases and backoffs: one heap a project.

A *thing* has one alarm at most. Setting it again leaves the old entry to be passed over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from heapq import heapify, heappop, heappush

from emulator.engine.delivery.outcome import Effect

_SLACK = 64


class Thing(ABC):
    """Something with an alarm; `alarm_us` is when it rings, None when it is not set."""

    alarm_us: int | None = None
    alarm_number = 0  # of the entry that says so

    @abstractmethod
    def ring(self, now: int) -> tuple[list[Effect], int | None]:
        """Do what is due; return what that brought about, and when to ring next, if ever."""


class Alarms:
    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Thing]] = []
        self._pushes = 0
        self._set = 0

    def __len__(self) -> int:
        return len(self._heap)

    def set(self, thing: Thing, at_us: int | None) -> None:
        """Let `thing` ring at `at_us` and at no other time; None for never."""
        if thing.alarm_us == at_us:
            return
        self._set += (at_us is not None) - (thing.alarm_us is not None)
        thing.alarm_us, thing.alarm_number = at_us, 0
        if at_us is not None:
            self._pushes += 1  # breaks ties in the order of the calls
            thing.alarm_number = self._pushes
            heappush(self._heap, (at_us, self._pushes, thing))
        if len(self._heap) > 2 * self._set + _SLACK:
            self._heap = [entry for entry in self._heap if entry[2].alarm_number == entry[1]]
            heapify(self._heap)

    def next(self) -> int | None:
        """When the first alarm rings."""
        heap = self._heap
        while heap:
            at_us, number, thing = heap[0]
            if thing.alarm_number == number:
                return at_us
            heappop(heap)
        return None

    def ring(self, now: int, budget: int) -> tuple[list[Effect], int]:
        """Ring what is due by `now`, `budget` things at most; return effects and what is left."""
        effects: list[Effect] = []
        while budget > 0:
            at_us = self.next()
            if at_us is None or at_us > now:
                break
            _, _, thing = heappop(self._heap)
            thing.alarm_us, thing.alarm_number = None, 0
            self._set -= 1
            brought_about, next_us = thing.ring(now)
            effects += brought_about
            if next_us is not None:
                self.set(thing, max(next_us, now + 1))
            budget -= 1
        return effects, budget
