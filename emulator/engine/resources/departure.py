"""The end of a stream: what its client never answered becomes available (STR-05, STR-14)."""

from __future__ import annotations

from emulator.engine.delivery.backlog import Backlog
from emulator.engine.delivery.holder import Holder
from emulator.engine.delivery.outcome import Effect
from emulator.engine.delivery.unanswered import returnable
from emulator.engine.resources.alarms import Thing

#: How many leases one ring takes back, so that no call takes long.
_SLICE = 2_000


class Departure(Thing):
    """Takes back, when its alarm rings, what is then still unanswered. No failure is counted."""

    def __init__(self, holder: Holder, backlog: Backlog) -> None:
        self._holder = holder
        self._backlog = backlog

    def ring(self, now: int) -> tuple[list[Effect], int | None]:
        backlog = self._backlog
        if backlog.is_closed:
            return [], None
        leases = returnable(self._holder, _SLICE)
        backlog.release(leases)
        return list(backlog.take_effects()), now if len(leases) == _SLICE else None

    def __repr__(self) -> str:
        return f"<Departure of {self._holder!r}>"
