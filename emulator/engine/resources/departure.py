"""The end of a stream: what its client never answered becomes available (STR-05, STR-14)."""

from __future__ import annotations

from emulator.engine.delivery import unanswered
from emulator.engine.delivery.backlog import Backlog
from emulator.engine.delivery.holder import Holder
from emulator.engine.delivery.outcome import Due, Effect
from emulator.engine.resources.alarms import HasAlarm

#: How many leases one ring takes back, so that no call takes long.
_SLICE = 2_000


class Departure(HasAlarm):
    """Takes back, when its alarm rings, what is then still unanswered. No failure is counted."""

    due = Due.DEPARTURE

    def __init__(self, holder: Holder, backlog: Backlog) -> None:
        self._holder = holder
        self._backlog = backlog

    @property
    def name(self) -> str:
        return self._holder.subscription

    def ring(self, now: int) -> tuple[list[Effect], int | None]:
        backlog = self._backlog
        if backlog.is_closed:
            return [], None
        found = unanswered.newest(self._holder, _SLICE)
        returned = unanswered.returnable(found)
        backlog.release([delivery.ack_id for delivery in returned])
        is_more = bool(returned) and len(found) == _SLICE
        return list(backlog.take_effects()), now if is_more else None

    def __repr__(self) -> str:
        return f"<Departure of {self._holder!r}>"
