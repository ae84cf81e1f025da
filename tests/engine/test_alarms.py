"""Alarms: each waiter has one, the last that was set, and they ring in the order of their times."""

from __future__ import annotations

from emulator.engine.delivery.outcome import Due, Effect
from emulator.engine.resources.alarms import Alarms, HasAlarm


class Bell(HasAlarm):
    due = Due.RETENTION
    name = "bell"

    def __init__(self, rung: list[tuple[Bell, int]], again_us: int | None = None) -> None:
        self._rung = rung
        self._again_us = again_us

    def ring(self, now: int) -> tuple[list[Effect], int | None]:
        self._rung.append((self, now))
        return [], self._again_us


def test_a_time_that_was_set_before_counts_from_when_it_is_set_again() -> None:
    """Whether somebody asked for the next alarm in between or not."""
    for is_asked in (False, True):
        alarms, rung = Alarms(), list[tuple[Bell, int]]()
        first, second = Bell(rung), Bell(rung)
        alarms.set(first, 5)
        alarms.set(first, 9)
        alarms.set(second, 5)
        if is_asked:
            assert alarms.next() == 5
        alarms.set(first, 5)
        alarms.ring(5, 10)
        assert rung == [(second, 5), (first, 5)]
        assert alarms.next() is None


def test_what_rings_again_waits_for_another_time() -> None:
    alarms, rung = Alarms(), list[tuple[Bell, int]]()
    bell = Bell(rung, again_us=3)
    alarms.set(bell, 3)
    assert alarms.ring(7, 10) == ([], 9)
    assert (rung, alarms.next()) == ([(bell, 7)], 8)


def test_no_more_ring_than_the_budget_allows() -> None:
    alarms, rung = Alarms(), list[tuple[Bell, int]]()
    bells = [Bell(rung) for _ in range(5)]
    for bell in bells:
        alarms.set(bell, 1)
    assert alarms.ring(1, 3) == ([], 0)
    assert [bell for bell, _ in rung] == bells[:3]


def test_alarms_set_over_and_over_do_not_fill_the_heap() -> None:
    alarms = Alarms()
    bells = [Bell([]) for _ in range(10)]
    for number in range(10_000):
        alarms.set(bells[number % 10], 1_000_000 - number)
        assert len(alarms) <= 2 * 10 + 65
    for bell in bells:
        alarms.set(bell, None)
    assert alarms.next() is None
