"""What is due first, with stale entries that are passed over and never many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

Entry = TypeVar("Entry")


class DueHeap(Generic[Entry]):
    """Entries by the time, in microseconds, at which they are due; by their coming in if level.

    `is_live` says whether an entry still counts. Whoever makes one stale says so by
    `note_stale`, and calls `compact` when that says so: when more than half of the entries, and
    `slack` more, are stale.
    """

    __slots__ = ("_entries", "_is_live", "_pushes", "_slack", "_stale")

    def __init__(self, is_live: Callable[[Entry], object], slack: int) -> None:
        self._is_live = is_live
        self._slack = slack
        self._entries: list[tuple[int, int, Entry]] = []
        self._pushes = 0
        self._stale = 0

    def __len__(self) -> int:
        """How many entries there are, stale ones included."""
        return len(self._entries)

    def __iter__(self) -> Iterator[tuple[int, int, Entry]]:
        return iter(self._entries)

    @property
    def stale(self) -> int:
        """How many entries count no more."""
        return self._stale

    def push(self, at_us: int, entry: Entry) -> None:
        """Add an entry that is due at `at_us`."""
        self._pushes += 1  # breaks ties in the order of the calls, so that outcomes repeat
        heappush(self._entries, (at_us, self._pushes, entry))

    def first(self) -> int | None:
        """When the first live entry is due; None without any."""
        entries = self._entries
        while entries:
            at_us, _, entry = entries[0]
            if self._is_live(entry):
                return at_us
            heappop(entries)
            self._stale -= 1
        return None

    def pop_due(self, now: int) -> Entry | None:
        """Take out the first live entry if it is due by `now`."""
        at_us = self.first()
        if at_us is None or at_us > now:
            return None
        return heappop(self._entries)[2]

    def note_stale(self) -> bool:
        """An entry that is here counts no more; return whether there are too many such."""
        self._stale += 1
        return self._stale * 2 > len(self._entries) + self._slack

    def compact(self) -> None:
        """Drop what is stale."""
        self._entries = [entry for entry in self._entries if self._is_live(entry[2])]
        heapify(self._entries)
        self._stale = 0
