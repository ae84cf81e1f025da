"""What happens at a set time, apart from leases and backoffs: one heap a project.

Whoever has an alarm has one at most. Setting it again leaves the old entry to be passed over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from operator import attrgetter

from emulator.engine.delivery.due_heap import DueHeap
from emulator.engine.delivery.events import Recording
from emulator.engine.delivery.outcome import Due, Effect
from emulator.engine.resources.events import AlarmRang

_SLACK = 64


class _Setting:
    """One time that an alarm was set to; it counts until that is another, or has come."""

    __slots__ = ("is_current", "waiter")

    def __init__(self, waiter: HasAlarm) -> None:
        self.waiter = waiter
        self.is_current = True


class HasAlarm(ABC):
    """Something with an alarm; `alarm_us` is when it rings, None when it is not set."""

    alarm_us: int | None = None
    alarm_setting: _Setting | None = None
    due: Due

    @property
    @abstractmethod
    def name(self) -> str:
        """Of the resource whose alarm it is."""

    @abstractmethod
    def ring(self, now: int) -> tuple[list[Effect], int | None]:
        """Do what is due; return what that brought about, and when to ring next, if ever."""


class Alarms:
    def __init__(self, recording: Recording | None = None) -> None:
        self._recording = recording if recording is not None else Recording()
        self._heap: DueHeap[_Setting] = DueHeap(attrgetter("is_current"), _SLACK)

    def __len__(self) -> int:
        return len(self._heap)

    def set(self, waiter: HasAlarm, at_us: int | None) -> None:
        """Let `waiter` ring at `at_us` and at no other time; None for never."""
        if waiter.alarm_us == at_us:
            return
        if waiter.alarm_setting is not None:
            waiter.alarm_setting.is_current = False
            waiter.alarm_setting = None
            if self._heap.note_stale():
                self._heap.compact()
        waiter.alarm_us = at_us
        if at_us is not None:
            waiter.alarm_setting = _Setting(waiter)
            self._heap.push(at_us, waiter.alarm_setting)

    def next(self) -> int | None:
        """When the first alarm rings."""
        return self._heap.first()

    def ring(self, now: int, budget: int) -> tuple[list[Effect], int]:
        """Ring what is due by `now`, `budget` alarms at most; return effects and what is left."""
        effects: list[Effect] = []
        while budget > 0:
            setting = self._heap.pop_due(now)
            if setting is None:
                break
            waiter = setting.waiter
            waiter.alarm_us = waiter.alarm_setting = None
            brought_about, next_us = waiter.ring(now)
            effects += brought_about
            if next_us is not None:
                next_us = max(next_us, now + 1)
                self.set(waiter, next_us)
            if self._recording.is_on:
                self._recording.add(AlarmRang(waiter.due, waiter.name, now, next_us))
            budget -= 1
        return effects, budget
