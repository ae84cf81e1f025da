"""Which connections are open, and which one goes when descriptors run short."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from emulator.transport.descriptors import DescriptorBudget

logger = logging.getLogger(__name__)

SHORTAGE_OVER_SHARE = 0.5
"""A shortage is over, and the next one logged, once less than this share of the budget is used."""


class Guest(Protocol):
    """What others may do with an open connection."""

    @property
    def buffered_bytes(self) -> int:
        """Bytes in our hands on their way between the client and upstream."""

    def close(self) -> None:
        """Send what is buffered, then close."""

    def abort(self) -> None:
        """Cut the connection off at once."""


class Admission:
    """Keeps the list of open connections within a budget of descriptors.

    A connection that has not sent a byte yet is the first to go when there is no room for a new
    one, the longest silent first; where nobody is silent the newcomer is refused.
    """

    def __init__(self, descriptors: DescriptorBudget) -> None:
        self._descriptors = descriptors
        self._costs: dict[Guest, int] = {}
        self._silent: dict[Guest, None] = {}
        self._is_short = False
        self._empty = asyncio.Event()
        self._empty.set()

    def __len__(self) -> int:
        return len(self._costs)

    def __repr__(self) -> str:
        short = ", short of descriptors" if self._is_short else ""
        return f"<Admission {len(self)} open, {len(self._silent)} silent{short}>"

    def guests(self) -> list[Guest]:
        """Return the open connections."""
        return list(self._costs)

    def make_room(self, count: int) -> bool:
        """Tell whether `count` more descriptors may be used, evicting the silent if needed."""
        while not self._descriptors.has_room(count):
            self._note_shortage()
            if not self._silent:
                return False
            self._evict(next(iter(self._silent)))
        self._note_room()
        return True

    def relieve(self) -> None:
        """Evict the longest silent connection: the system has no descriptor left for anybody."""
        self._note_shortage()
        if self._silent:
            self._evict(next(iter(self._silent)))

    def enter(self, guest: Guest, count: int) -> None:
        """Note a new, silent connection of `count` descriptors, for which room was made."""
        self._descriptors.take(count)
        self._costs[guest] = count
        self._silent[guest] = None
        self._empty.clear()

    def spoke(self, guest: Guest) -> None:
        """Note that the connection has sent something: it is no longer evicted."""
        self._silent.pop(guest, None)

    def widen(self, guest: Guest, count: int) -> None:
        """Note that the connection uses `count` more descriptors, for which room was made."""
        self._descriptors.take(count)
        self._costs[guest] += count

    def leave(self, guest: Guest) -> None:
        """Note that the connection and all its descriptors are gone."""
        self._silent.pop(guest, None)
        self._descriptors.give_back(self._costs.pop(guest))
        if not self._costs:
            self._empty.set()

    async def wait_empty(self) -> None:
        """Wait until no connection is open."""
        await self._empty.wait()

    def _evict(self, guest: Guest) -> None:
        del self._silent[guest]
        # Given back before it is closed: the loop closes it before it opens anything newer.
        self._descriptors.give_back(self._costs[guest])
        self._costs[guest] = 0
        guest.abort()

    def _note_shortage(self) -> None:
        if self._is_short:
            return
        self._is_short = True
        limit = self._descriptors.limit
        logger.warning(
            "Too many connections: %d are open and the limit of open files%s allows no more; "
            "the longest silent ones are closed to serve new ones, else new ones are refused. "
            "Raise the limit with `ulimit -n` before the start.",
            len(self),
            "" if limit is None else f" ({limit})",
        )

    def _note_room(self) -> None:
        used, capacity = self._descriptors.in_use, self._descriptors.capacity
        if self._is_short and used < capacity * SHORTAGE_OVER_SHARE:
            self._is_short = False
