"""Messages that are too old to be delivered (DLV-41)."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.engine.delivery.ages import NO_TIME_US, Ages
from emulator.engine.delivery.delivery import (
    AVAILABLE,
    DELAYED,
    EXPIRED,
    LEASED,
    Delivery,
    Lane,
)
from emulator.engine.delivery.lanes import Lanes
from emulator.engine.delivery.leases import Leases
from emulator.engine.delivery.queue import UnkeyedQueue
from emulator.engine.delivery.shared import Shared

#: Ages that are kept beside those of all that is not settled.
_MANY = 1_024


class Expiry:
    """Finds what is too old in one backlog, and drops it."""

    __slots__ = (
        "_lanes",
        "_leases",
        "_queue",
        "_shared",
    )

    def __init__(
        self, shared: Shared, queue: UnkeyedQueue, leases: Leases, lanes: Lanes | None
    ) -> None:
        self._shared = shared
        self._queue = queue
        self._leases = leases
        self._lanes = lanes

    @property
    def oldest_us(self) -> int:
        """No unacked message was published before this; `NO_TIME_US` without any."""
        times = [self._shared.oldest_leased_us]
        if self._queue.source.oldest_us is not None:
            times.append(self._queue.source.oldest_us)
        if self._lanes is not None:
            times.append(self._lanes.oldest_us)
        return min(times)

    def note_leased(self, taken: Sequence[Delivery]) -> None:
        """Messages were leased: from now on their ages have to be known apart."""
        shared = self._shared
        oldest_us = taken[0].message.publish_time_us
        if not self._queue.source.is_in_order:
            # A log gives them in the order of publishing, those that were leased before apart.
            oldest_us = min(delivery.message.publish_time_us for delivery in taken)
        shared.oldest_leased_us = min(shared.oldest_leased_us, oldest_us)
        if shared.ages is not None:
            for delivery in taken:
                shared.ages.add(delivery.message.publish_time_us, delivery)
            if len(shared.ages) > 2 * len(self._leases.by_ack_id) + _MANY:
                shared.ages = self._count_ages()

    def unsettled(self) -> list[Delivery]:
        """Everything that was leased once and is not settled, that in lanes as far as it is named
        by an ack id."""
        return [*self._leases.by_ack_id.values(), *self._queue.released()]

    def _count_ages(self) -> Ages[Delivery | Lane]:
        lanes = self._lanes
        delivered = self.unsettled()
        if lanes is not None:
            delivered = [d for d in delivered if d.lane is None or d.state is LEASED]
        ages: list[tuple[int, Delivery | Lane]] = [
            (delivery.message.publish_time_us, delivery) for delivery in delivered
        ]
        if lanes is not None:
            ages += lanes.by_age()
        return Ages(ages)

    def expire(self, cutoff_us: int) -> tuple[int, list[int]]:
        """Drop what was published at `cutoff_us` or before, a live lease notwithstanding.

        Return how many messages, and the positions of those that were leased once or in a lane.
        """
        shared = self._shared
        positions: list[int] = []
        has_pending = self._lanes is not None and self._lanes.pending
        if has_pending:
            # One structure has the ages of lanes and of deliveries.
            shared.oldest_leased_us = min(shared.oldest_leased_us, shared.oldest_pending_us)
        count = self._queue.source.expire(cutoff_us)
        if shared.oldest_leased_us <= cutoff_us:
            # Kept before they are gone through: dropping some can put the next ones of a lane in.
            ages = shared.ages = shared.ages if shared.ages is not None else self._count_ages()
            for item in ages.until(cutoff_us):
                positions += self._expire_one(item, cutoff_us)
            if not len(ages):
                shared.ages = None
            oldest_us = ages.oldest_us
            shared.oldest_leased_us = NO_TIME_US if oldest_us is None else oldest_us
        if self._lanes is not None:
            has_pending = self._lanes.pending
            shared.oldest_pending_us = shared.oldest_leased_us if has_pending else NO_TIME_US
        return count + len(positions), positions

    def _expire_one(self, item: Delivery | Lane, cutoff_us: int) -> list[int]:
        """Drop a delivery, or what waits in a lane; return the positions."""
        if isinstance(item, Lane):
            assert self._lanes is not None
            return self._lanes.expire(item, cutoff_us)
        lane, state = item.lane, item.state
        if lane is not None and state is not LEASED:
            return []  # it is among its lane's pending messages, or done with
        if state is LEASED:
            self._leases.end((item,), EXPIRED)
        elif state is DELAYED:
            self._leases.end_backoff((item,), EXPIRED)
            self._queue.delayed -= 1
        elif state is AVAILABLE:
            item.move_to(EXPIRED)
            self._queue.forget_one()
        else:
            return []
        self._leases.forget(item)
        if lane is not None:
            assert self._lanes is not None
            self._lanes.drop_leased(lane)
        return [item.message.position]
