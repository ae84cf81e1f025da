"""The clock of one project of an in-process emulator."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from emulator.server import TimeControl

Call = Callable[[Callable[[TimeControl], Any]], Any]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Event(NamedTuple):
    """What happened as the clock was turned: `what` to `quantity` things of the resource `name`."""

    at: datetime
    what: str
    name: str
    quantity: int


class ProjectClock:
    """Other projects' time is not touched; nor are clients' own deadlines.

    clock = emulator.clock("my-project")
    clock.freeze()
    clock.advance(minutes=10)
    """

    def __init__(self, project: str, call: Call) -> None:
        self._project = project
        self._call = call

    def now(self) -> datetime:
        """The project's time, in UTC."""
        return _time(self._call(lambda control: control.now_us(self._project)))

    def freeze(self) -> None:
        """Let the project's time stand still."""
        self._call(lambda control: control.stop(self._project))

    def run(self) -> None:
        """Let the project's time run on from where it is."""
        self._call(lambda control: control.run(self._project))

    def advance(self, by: timedelta | None = None, **parts: float) -> list[Event]:
        """Put the time forward, by a timedelta or by its parts (`seconds=10`).

        Everything that is due on the way happens, each at its time; it is returned in order.
        Raises ValueError for a step back.
        """
        step = (by or timedelta()) + timedelta(**parts)
        by_us = step // timedelta(microseconds=1)
        return self._turn(lambda control: control.advance(self._project, by_us))

    def set(self, to: datetime) -> list[Event]:
        """Put the time forward to a moment, as `advance` does; one without a zone is in UTC."""
        aware = to if to.tzinfo is not None else to.replace(tzinfo=UTC)
        to_us = (aware - _EPOCH) // timedelta(microseconds=1)
        return self._turn(lambda control: control.put(self._project, to_us))

    def _turn(self, turn: Callable[[TimeControl], Awaitable[Any]]) -> list[Event]:
        return [Event(_time(at_us), *rest) for at_us, *rest in self._call(turn)]

    def __repr__(self) -> str:
        return f"<ProjectClock of {self._project}>"


def _time(time_us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=time_us)
