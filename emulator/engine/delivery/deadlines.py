"""When leases and backoffs end: one entry in a heap for all the leases that one call made.

Clients extend every lease, most of them many times, so that must cost nothing here: an extended
delivery stays where it is and is moved when its batch comes up. Only a shortened lease gets a new
entry. Entries whose leases are all gone, and leases that are gone from live entries, are bounded
by what is live (`_SLACK` aside).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Generic, TypeVar

from emulator.engine.delivery.delivery import DeadlineBatch, Delivery
from emulator.engine.delivery.due_heap import DueHeap

_SLACK = 1_024

Owner = TypeVar("Owner")


class Deadlines(Generic[Owner]):
    """The leases of one project, or its backoffs, by their deadlines; `Owner` is a backlog."""

    def __init__(self) -> None:
        self._heap: DueHeap[DeadlineBatch] = DueHeap(attrgetter("live"), _SLACK)
        self._listed = 0  # deliveries named in the batches, live or not
        self._live = 0

    def __len__(self) -> int:
        """How many entries and listed leases there are, stale ones included."""
        return max(len(self._heap), self._listed)

    @property
    def live(self) -> int:
        """How many leases are running."""
        return self._live

    def arm(self, owner: Owner, deliveries: Sequence[Delivery], deadline_us: int) -> None:
        """Let new leases, none of them armed yet, end at `deadline_us`."""
        if not deliveries:
            return
        batch = DeadlineBatch(owner, deliveries, deadline_us)
        for delivery in deliveries:
            delivery.deadline_us = deadline_us
            delivery.batch = batch
        self._live += batch.live
        self._push(batch)

    def rearm(self, owner: Owner, deliveries: Iterable[Delivery], deadline_us: int) -> None:
        """Let running leases end at `deadline_us` instead."""
        shortened = []
        for delivery in deliveries:
            assert delivery.batch is not None
            # Where it stays as it was, it is touched all the same (`is_untouched`).
            if deadline_us <= delivery.batch.deadline_us:
                shortened.append(delivery)
            else:
                delivery.deadline_us = deadline_us
        self.disarm(shortened)
        self.arm(owner, shortened, deadline_us)

    def disarm(self, deliveries: Sequence[Delivery]) -> None:
        """Forget running leases; those that came out of `expire` are forgotten already."""
        is_crowded = False
        for delivery in deliveries:
            batch = delivery.batch
            if batch is None:
                continue
            delivery.batch = None
            self._live -= 1
            batch.live -= 1
            if not batch.live:
                # Letting go of the list here frees the deliveries now, not at their deadline.
                self._listed -= len(batch.deliveries)
                batch.deliveries = ()
                is_crowded = self._heap.note_stale()
        if is_crowded or self._listed > 2 * self._live + _SLACK:
            self._compact()

    def next_deadline(self) -> int | None:
        """When `expire` has something to look at, in microseconds; None without leases."""
        return self._heap.first()

    def expire(self, now: int, budget: int) -> tuple[list[tuple[Owner, list[Delivery]]], int]:
        """Take out the leases that ended by `now`, looking at no more than about `budget`.

        Return them by backlog, and what is left of the budget (0: come again). What a backlog
        gets here must reach it as one: its leases have all ended already.
        """
        ended: defaultdict[Owner, list[Delivery]] = defaultdict(list)
        while budget > 0:
            batch = self._heap.pop_due(now)
            if batch is None:
                break
            self._listed -= len(batch.deliveries)
            looked_at, rest = batch.deliveries[:budget], batch.deliveries[budget:]
            budget -= len(looked_at)
            expired = self._sort_out(batch, looked_at, now)
            if expired:
                ended[batch.owner] += expired
            if batch.live:
                batch.deliveries = rest
                self._push(batch)
        return list(ended.items()), max(budget, 0)

    def _sort_out(
        self, batch: DeadlineBatch, deliveries: Sequence[Delivery], now: int
    ) -> list[Delivery]:
        """Take `deliveries` out of `batch`; return the expired, arm the extended ones anew."""
        expired = []
        extended: defaultdict[int, list[Delivery]] = defaultdict(list)
        for delivery in deliveries:
            if delivery.batch is not batch:
                continue
            delivery.batch = None
            batch.live -= 1
            self._live -= 1
            if delivery.deadline_us <= now:
                expired.append(delivery)
            else:
                extended[delivery.deadline_us].append(delivery)
        for deadline_us, group in extended.items():
            self.arm(batch.owner, group, deadline_us)
        return expired

    def _push(self, batch: DeadlineBatch) -> None:
        self._listed += len(batch.deliveries)
        self._heap.push(batch.deadline_us, batch)

    def _compact(self) -> None:
        self._heap.compact()
        self._listed = 0
        for _, _, batch in self._heap:
            batch.deliveries = [d for d in batch.deliveries if d.batch is batch]
            self._listed += len(batch.deliveries)

    def __repr__(self) -> str:
        return f"<Deadlines, {self._live} live in {len(self._heap)} entries>"
