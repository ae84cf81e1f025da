"""Ordered delivery: one lane a key (ORD-01..08).

Messages of a key leave their lane in publish order. While any of them is out, more of the key may
go only to the same stream (ORD-05) and to no pull (ORD-04). When one fails, the lane goes back to
it: the leases of later messages of the key are cancelled, their ack ids are stale, and they come
again, those that were acked already too (ORD-02, ORD-03).

    delivered                            pending
    [acked? leased leased acked leased]  [available available …]
     ▲ never acked: those that lead are let go of

A lane without messages is gone.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from emulator.engine.delivery.ack_ids import AckIdMint
from emulator.engine.delivery.ages import Ages
from emulator.engine.delivery.backlog import EVERYWHERE, NEVER, Backlog
from emulator.engine.delivery.deadline_heap import DeadlineHeap
from emulator.engine.delivery.delivery import (
    ACKED,
    AVAILABLE,
    DEAD_LETTERED,
    DELAYED,
    EXPIRED,
    LEASED,
    Delivery,
)
from emulator.engine.delivery.holder import Holder
from emulator.engine.delivery.outcome import Available
from emulator.engine.delivery.sources import Source
from emulator.engine.delivery.taking import Taking
from emulator.engine.log.message_log import Message
from emulator.engine.values.durations import SECOND_US

if TYPE_CHECKING:
    from emulator.engine.filters import Filter

_SLACK = 64
#: How long a key that was nacked waits for the stream that nacked it before another may have it.
_KEPT_US = 10 * SECOND_US
#: How many lanes kept for others one lease passes over.
_MOST_PASSED = 100


class Lane:
    """The line of one ordering key.

    `leased` counts the LEASED among `delivered`. `holder` is the stream that has them, None for a
    pull. `is_delayed` says that the first of `pending` waits for its backoff to end. `behind` is
    as that of a delivery: messages without a key below that position of the log go before it.
    """

    __slots__ = (
        "behind",
        "delivered",
        "holder",
        "is_delayed",
        "is_ready",
        "kept_for",
        "kept_until_us",
        "key",
        "leased",
        "nacked_by",
        "pending",
    )

    behind: int  # set when it is ready
    kept_until_us: int  # set when it is kept

    def __init__(self, key: str) -> None:
        self.key = key
        self.delivered: deque[Delivery] = deque()
        self.pending: deque[Message | Delivery] = deque()
        self.leased = 0
        self.holder: Holder | None = None
        self.kept_for: Holder | None = None  # the stream that nacked a message of it
        self.nacked_by: Holder | None = None  # as that, also when it has the messages again
        self.is_delayed = False
        self.is_ready = False  # stands among the lanes that anybody may take from

    def is_kept_from(self, taking: Taking) -> bool:
        """Whether the stream that nacked it should have it again, and can (STR-15, ORD-05)."""
        kept_for = self.kept_for
        if kept_for is None or kept_for is taking.holder or not kept_for.is_open:
            return False
        return taking.now_us < self.kept_until_us and kept_for.room_messages > 0

    def __repr__(self) -> str:
        return f"<Lane {self.key!r}, {self.leased} leased, {len(self.pending)} pending>"


def _message(item: Message | Delivery) -> Message:
    return item.message if isinstance(item, Delivery) else item


class OrderedBacklog(Backlog):
    """A backlog that keeps the order of messages with a key.

    Its lanes' messages are counted in `_pending`, those of delayed lanes in `_held_back` too.
    """

    def __init__(
        self,
        source: Source,
        mint: AckIdMint,
        leases: DeadlineHeap,
        delays: DeadlineHeap,
        wake: Available,
        filter: Filter | None = None,
    ) -> None:
        super().__init__(source, mint, leases, delays, wake, filter)
        self._lanes: dict[str, Lane] = {}
        self._ready: deque[Lane] = deque()
        self._pending = 0
        self._held_back = 0
        self._is_turn_of_unkeyed = False
        self._oldest_pending_us = NEVER

    @property
    def available(self) -> int:
        return super().available + self._pending - self._held_back

    @property
    def delayed(self) -> int:
        return super().delayed + self._held_back

    @property
    def lanes(self) -> int:
        """How many keys have messages here."""
        return len(self._lanes)

    # --- what comes in ---

    def put(self, message: Message) -> None:
        key = message.ordering_key
        if not key:
            super().put(message)
            return
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(key)
        if not lane.pending:
            self._note_lane(lane, message)
        lane.pending.append(message)
        self._pending += 1
        self._held_back += lane.is_delayed
        self._offer(lane)

    def _offer(self, lane: Lane) -> None:
        """Let the pending messages of a lane be found by whoever may take them."""
        if lane.is_delayed or not lane.pending:
            return
        if lane.leased:
            if lane.holder is not None:
                lane.holder.lanes[lane] = None
        elif not lane.is_ready:
            lane.is_ready = True
            lane.behind = self.source.end
            self._ready.append(lane)

    # --- leases ---

    def _take(self, taking: Taking) -> None:
        if taking.holder is not None:
            self._take_from_own_lanes(taking, taking.holder)
        # Those that failed since the last publish are level; neither kind may starve the other.
        self._is_turn_of_unkeyed = not self._is_turn_of_unkeyed
        while not taking.is_full:
            lane = self._next_ready(taking)
            if lane is None:
                self._take_unkeyed(taking, EVERYWHERE)
                return
            # In about the order of publishing, though keys and messages without one are free.
            self._take_unkeyed(taking, lane.behind, self._is_turn_of_unkeyed)
            if not taking.is_full:
                self._take_from(lane, taking)
            if lane.leased:
                lane.is_ready = False  # when it fails, it is behind all that are ready now
                self._ready.popleft()

    def _next_ready(self, taking: Taking) -> Lane | None:
        """The first lane that this taking may take from; it stands at the head then."""
        ready = self._ready
        passed = 0
        while passed < min(len(ready), _MOST_PASSED):
            lane = ready[0]
            if not lane.pending or lane.is_delayed or lane.leased:
                lane.is_ready = False
                ready.popleft()
            elif lane.is_kept_from(taking):
                ready.rotate(-1)
                passed += 1
            else:
                return lane
        return None

    def _take_from_own_lanes(self, taking: Taking, holder: Holder) -> None:
        for lane in tuple(holder.lanes):
            if taking.is_full:
                return
            if lane.holder is holder and lane.leased and not lane.is_delayed:
                self._take_from(lane, taking)
            else:
                del holder.lanes[lane]

    def _take_from(self, lane: Lane, taking: Taking) -> None:
        taken, pending = taking.taken, lane.pending
        count = len(taken)
        while pending and not taking.is_full and taking.fits(_message(pending[0])):
            item = pending.popleft()
            delivery = item if isinstance(item, Delivery) else Delivery(item, lane)
            lane.delivered.append(delivery)
            taken.append(delivery)
        count = len(taken) - count
        self._pending -= count
        lane.leased += count
        if not count:
            return
        lane.holder, lane.kept_for = taking.holder, None
        if lane.holder is not None:
            if pending:
                lane.holder.lanes[lane] = None
            else:
                lane.holder.lanes.pop(lane, None)

    # --- acknowledgements ---

    def _may_settle(self, delivery: Delivery) -> bool:
        """A late ack counts only for the message that is next in its lane (ORD-03)."""
        lane = delivery.lane
        return lane is None or delivery.state is LEASED or lane.pending[0] is delivery

    def _settle(self, delivery: Delivery) -> None:
        lane = delivery.lane
        if lane is None:
            super()._settle(delivery)
            return
        delivery.ack_id = ""
        if delivery.state is LEASED:
            super()._settle(delivery)
            lane.leased -= 1
            self._move_on(lane)
        else:
            self._end_delay(lane)
            lane.pending.popleft()
            self._pending -= 1
            # It comes again if one before it, that is still out, fails (ORD-02).
            lane.delivered.append(delivery)
            delivery.move_to(ACKED)
            self._offer_again(lane)  # those behind it may have waited for its backoff

    def _move_on(self, lane: Lane) -> None:
        """Let go of what is done with at the head of a lane, and of the lane if that is all."""
        delivered = lane.delivered
        while delivered and delivered[0].state in _DONE:
            delivered.popleft()
        if lane.leased:
            return
        if lane.holder is not None:
            lane.holder.lanes.pop(lane, None)
            lane.holder = None
        if lane.pending:
            self._offer(lane)
            self._effects.append(self.wake)
        elif not delivered:
            del self._lanes[lane.key]
            self._tidy_ready()

    def _tidy_ready(self) -> None:
        """Late acks can empty lanes that nobody takes from; keep those no longer than the rest."""
        if len(self._ready) > 2 * len(self._lanes) + _SLACK:
            self._ready = deque(lane for lane in self._ready if self._lanes.get(lane.key) is lane)

    def _in_turn(self, ack_ids: Iterable[str]) -> Iterable[str]:
        """In the order of publishing, so that no request is out of order in itself (EOD-09)."""
        return sorted(ack_ids, key=self._position)

    def _position(self, ack_id: str) -> int:
        delivery = self._deliveries.get(ack_id)
        return delivery.message.position if delivery is not None else 0

    def _is_next_in_lane(self, delivery: Delivery) -> bool:
        return delivery.lane is None or delivery.lane.delivered[0] is delivery

    # --- failures ---

    def _dead_letter(self, delivery: Delivery) -> bool:
        is_gone = super()._dead_letter(delivery)
        if is_gone and delivery.lane is not None:
            delivery.lane.leased -= 1
            self._move_on(delivery.lane)  # ORD-08: the key goes on
        return is_gone

    def _give_back(self, failed: Sequence[Delivery], now: int, *, is_nack: bool) -> None:
        unkeyed = [delivery for delivery in failed if delivery.lane is None]
        if unkeyed:
            super()._give_back(unkeyed, now, is_nack=is_nack)
        for lane, deliveries in _by_lane(failed).items():
            for delivery in deliveries:
                delivery.move_to(AVAILABLE)
            lane.leased -= len(deliveries)
            if is_nack and lane.holder is not None:
                # Its consumer may be at the later messages still; another would overtake it.
                lane.kept_for, lane.kept_until_us = lane.holder, now + _KEPT_US
                lane.nacked_by = lane.holder
            first = min(deliveries, key=_position)
            self._rewind(lane, first)
            self._start_delay(lane, first, now)
            self._offer_again(lane)

    def _rewind(self, lane: Lane, first: Delivery) -> None:
        """Take a lane back to `first`: it and all that was delivered after it come again."""
        self._end_delay(lane)
        last = None
        while last is not first:
            last = lane.delivered.pop()
            self._recall(lane, last, is_first=last is first)

    def _recall(self, lane: Lane, delivery: Delivery, is_first: bool) -> None:
        if delivery.state in _DONE:
            if delivery.state is not ACKED or self.rules.is_exactly_once:
                return  # ORD-02: with exactly-once delivery, what was acked stays so
            delivery.move_to(AVAILABLE)
            if self.history is not None:
                self.history.unacked(delivery.message)
        elif delivery.state is LEASED:
            self._cancel(delivery)
            lane.leased -= 1
        elif not is_first:
            self._forget_ack_id(delivery)
        lane.pending.appendleft(delivery)
        self._pending += 1
        self._note_lane(lane, delivery.message)

    def _offer_again(self, lane: Lane) -> None:
        self._move_on(lane)
        self._offer(lane)
        self._effects.append(self.wake)

    def _start_delay(self, lane: Lane, first: Delivery, now: int) -> None:
        """Hold a lane back while the message at its head has its backoff (ORD-08)."""
        if self.rules.backoff is None:
            return
        delay_us = self.rules.backoff.delay_us(first.failures)
        if delay_us:
            first.move_to(DELAYED)
            lane.is_delayed = True
            self._held_back += len(lane.pending)
            self._delays.arm(self, (first,), now + delay_us)

    def _end_delay(self, lane: Lane) -> None:
        """Let a lane's head wait no longer, if it does."""
        if not lane.is_delayed:
            return
        head = lane.pending[0]
        assert isinstance(head, Delivery)
        if head.batch is not None:
            self._delays.disarm(head)
        head.move_to(AVAILABLE)
        lane.is_delayed = False
        self._held_back -= len(lane.pending)

    def end_backoff(self, deliveries: Sequence[Delivery]) -> None:
        unkeyed = [delivery for delivery in deliveries if delivery.lane is None]
        if unkeyed:
            super().end_backoff(unkeyed)
        for delivery in deliveries:
            if delivery.lane is not None:
                self._end_delay(delivery.lane)
                self._offer_again(delivery.lane)

    def _take_back(self, returned: Sequence[Delivery]) -> None:
        super()._take_back([delivery for delivery in returned if delivery.lane is None])
        for lane, deliveries in reversed(_by_lane(returned).items()):
            self._rewind(lane, min(deliveries, key=_position))
            self._offer_again(lane)
            if lane.is_ready:
                lane.behind = 0
                self._ready.rotate()  # from the last, as it is ready now, to the first

    # --- retention ---

    @property
    def oldest_us(self) -> int | None:
        oldest_us = super().oldest_us
        times = [self._oldest_pending_us] if self._pending else []
        times += [] if oldest_us is None else [oldest_us]
        return min(times, default=None)

    def _note_lane(self, lane: Lane, head: Message) -> None:
        """A lane's pending messages begin with `head`."""
        self._oldest_pending_us = min(self._oldest_pending_us, head.publish_time_us)
        if self._ages is not None:
            self._ages.add(head.publish_time_us, lane)

    def _expire_fed(self, cutoff_us: int) -> int:
        if self._pending:
            # One structure has the ages of lanes and of deliveries.
            self._oldest_leased_us = min(self._oldest_leased_us, self._oldest_pending_us)
        count = super()._expire_fed(cutoff_us)
        self._oldest_pending_us = self._oldest_leased_us if self._pending else NEVER
        return count

    def _count_ages(self) -> Ages[Delivery | Lane]:
        lanes = [lane for lane in self._lanes.values() if lane.pending]
        delivered = [d for d in self._all_deliveries() if d.lane is None or d.state is LEASED]
        ages: list[tuple[int, Delivery | Lane]] = [(_time(d.message), d) for d in delivered]
        ages += [(_time(_message(lane.pending[0])), lane) for lane in lanes]
        return Ages(ages)

    def _expire_one(self, item: Delivery | Lane, cutoff_us: int) -> int:
        if isinstance(item, Lane):
            return self._expire_pending(item, cutoff_us)
        if item.lane is None:
            return super()._expire_one(item, cutoff_us)
        if item.state is not LEASED:
            return 0  # it is among its lane's pending messages, or done with
        item.lane.leased -= 1
        self._expire_delivery(item)
        self._move_on(item.lane)
        return 1

    def _expire_pending(self, lane: Lane, cutoff_us: int) -> int:
        count = 0
        while lane.pending and _time(_message(lane.pending[0])) <= cutoff_us:
            self._end_delay(lane)
            item = lane.pending.popleft()
            self._pending -= 1
            count += 1
            if isinstance(item, Delivery):
                self._forget_ack_id(item)
                item.move_to(EXPIRED)
        if count and lane.key in self._lanes:
            self._offer_again(lane)
        if lane.pending:
            self._note_lane(lane, _message(lane.pending[0]))
        return count

    # --- replay ---

    def _unacked(self) -> Iterator[Message]:
        for lane in tuple(self._lanes.values()):
            for delivery in lane.delivered:
                if delivery.state is LEASED:
                    yield delivery.message
            yield from map(_message, tuple(lane.pending))
        for delivery in self._all_deliveries():
            if delivery.lane is None:
                yield delivery.message
        yield from self.source.queued()
        if self.feed is not None:
            yield from self.feed.rest()

    # --- the end ---

    def _free_own(self, budget: int) -> int:
        freed = super()._free_own(budget)
        while freed < budget and self._ready:
            self._ready.pop()
            freed += 1
        while freed < budget and self._lanes:
            _, lane = self._lanes.popitem()
            left = lane.pending or lane.delivered
            if left:
                left.popleft()
                self._lanes[lane.key] = lane
            freed += 1
        return freed


_DONE = (ACKED, DEAD_LETTERED, EXPIRED)


def _time(message: Message) -> int:
    return message.publish_time_us


def _position(delivery: Delivery) -> int:
    return delivery.message.position


def _by_lane(deliveries: Iterable[Delivery]) -> dict[Lane, list[Delivery]]:
    lanes: defaultdict[Lane, list[Delivery]] = defaultdict(list)
    for delivery in deliveries:
        if delivery.lane is not None:
            lanes[delivery.lane].append(delivery)
    return lanes
