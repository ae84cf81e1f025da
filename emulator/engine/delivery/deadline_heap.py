"""When leases end: one heap a project, with one entry for all the leases that one call made.

Clients extend every lease, most of them many times, so that must cost nothing here: an extended
delivery stays where it is and is moved when its batch comes up. Only a shortened lease gets a new
entry. Entries whose leases are all gone, and leases that are gone from live entries, are bounded
by what is live (`_SLACK` aside).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from emulator.engine.delivery.delivery import Delivery

if TYPE_CHECKING:
    from emulator.engine.delivery.backlog import Backlog

_SLACK = 1_024


class DeadlineBatch:
    """Deliveries of one backlog that come up together; `live` counts those that are still here.

    `sent_us` is when they were leased to a stream, None for all other batches.
    """

    __slots__ = ("backlog", "deadline_us", "deliveries", "live", "sent_us")

    def __init__(self, backlog: Backlog, deliveries: Sequence[Delivery], deadline_us: int) -> None:
        self.backlog = backlog
        self.deliveries = deliveries
        self.deadline_us = deadline_us
        self.live = len(deliveries)
        self.sent_us: int | None = None

    def is_untouched(self, delivery: Delivery) -> bool:
        """Whether nobody has ended or changed a lease of this batch since it was made."""
        return delivery.batch is self and delivery.deadline_us == self.deadline_us

    def __repr__(self) -> str:
        return f"<DeadlineBatch of {self.live} at {self.deadline_us}>"


class DeadlineHeap:
    """The leases of one project by their deadlines."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, DeadlineBatch]] = []
        self._pushes = 0
        self._dead_batches = 0
        self._listed = 0  # deliveries named in the batches, live or not
        self._live = 0

    def __len__(self) -> int:
        """How many entries and listed leases there are, stale ones included."""
        return max(len(self._heap), self._listed)

    @property
    def live(self) -> int:
        """How many leases are running."""
        return self._live

    def arm(self, backlog: Backlog, deliveries: Sequence[Delivery], deadline_us: int) -> None:
        """Let new leases, none of them armed yet, end at `deadline_us`."""
        if not deliveries:
            return
        batch = DeadlineBatch(backlog, deliveries, deadline_us)
        for delivery in deliveries:
            delivery.deadline_us = deadline_us
            delivery.batch = batch
        self._live += batch.live
        self._push(batch)

    def rearm(self, backlog: Backlog, deliveries: Iterable[Delivery], deadline_us: int) -> None:
        """Let running leases end at `deadline_us` instead."""
        shortened = []
        for delivery in deliveries:
            assert delivery.batch is not None
            # Where it stays as it was, it is touched all the same (`is_untouched`).
            if deadline_us <= delivery.batch.deadline_us:
                self.disarm(delivery)
                shortened.append(delivery)
            else:
                delivery.deadline_us = deadline_us
        self.arm(backlog, shortened, deadline_us)

    def disarm(self, delivery: Delivery) -> None:
        """Forget a running lease."""
        batch = delivery.batch
        assert batch is not None
        delivery.batch = None
        self._live -= 1
        batch.live -= 1
        if not batch.live:
            # Letting go of the list here frees the deliveries now instead of at their deadline.
            self._listed -= len(batch.deliveries)
            batch.deliveries = ()
            self._dead_batches += 1
        has_dead_leases = self._listed > 2 * self._live + _SLACK
        if has_dead_leases or self._dead_batches * 2 > len(self._heap) + _SLACK:
            self._compact()

    def next_deadline(self) -> int | None:
        """When `expire` has something to look at, in microseconds; None without leases."""
        heap = self._heap
        while heap:
            if heap[0][2].live:
                return heap[0][0]
            heappop(heap)
            self._dead_batches -= 1
        return None

    def expire(self, now: int, budget: int) -> tuple[list[tuple[Backlog, list[Delivery]]], int]:
        """Take out the leases that ended by `now`, looking at no more than about `budget`.

        Return them by backlog, and what is left of the budget (0: come again). What a backlog
        gets here must reach it as one: its leases have all ended already.
        """
        ended: defaultdict[Backlog, list[Delivery]] = defaultdict(list)
        while budget > 0:
            deadline_us = self.next_deadline()
            if deadline_us is None or deadline_us > now:
                break
            _, _, batch = heappop(self._heap)
            self._listed -= len(batch.deliveries)
            looked_at, rest = batch.deliveries[:budget], batch.deliveries[budget:]
            budget -= len(looked_at)
            expired = self._sort_out(batch, looked_at, now)
            if expired:
                ended[batch.backlog] += expired
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
            self.arm(batch.backlog, group, deadline_us)
        return expired

    def _push(self, batch: DeadlineBatch) -> None:
        self._pushes += 1  # breaks ties in the order of the calls, so that outcomes repeat
        self._listed += len(batch.deliveries)
        heappush(self._heap, (batch.deadline_us, self._pushes, batch))

    def _compact(self) -> None:
        self._heap = [entry for entry in self._heap if entry[2].live]
        heapify(self._heap)
        self._dead_batches = 0
        self._listed = 0
        for _, _, batch in self._heap:
            batch.deliveries = [d for d in batch.deliveries if d.batch is batch]
            self._listed += len(batch.deliveries)

    def __repr__(self) -> str:
        return f"<DeadlineHeap {self._live} live in {len(self._heap)} entries>"
