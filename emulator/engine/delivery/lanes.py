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

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from emulator.engine.delivery.ages import NO_TIME_US
from emulator.engine.delivery.delivery import (
    ACKED,
    AVAILABLE,
    DEAD_LETTERED,
    DELAYED,
    EXPIRED,
    LEASED,
    Delivery,
    Lane,
)
from emulator.engine.delivery.events import Reason, Rewound
from emulator.engine.delivery.holder import Holder
from emulator.engine.delivery.lease_request import LeaseRequest
from emulator.engine.delivery.leases import Leases
from emulator.engine.delivery.queue import UnkeyedQueue
from emulator.engine.delivery.ready_lanes import ReadyLanes
from emulator.engine.delivery.shared import Shared
from emulator.engine.log.message_log import Message
from emulator.engine.values.durations import SECOND_US

#: How long a key that was nacked waits for the stream that nacked it before another may have it.
_KEPT_US = 10 * SECOND_US
_DONE = (ACKED, DEAD_LETTERED, EXPIRED)


class Lanes:
    """The lanes of one subscription, beside its queue of messages without a key.

    `pending` counts the messages that wait in lanes, `held_back` those of delayed lanes among them.
    `of_holder` are the lanes that a stream has messages of, and may have more (ORD-05).
    """

    def __init__(self, shared: Shared, queue: UnkeyedQueue, leases: Leases) -> None:
        self._shared = shared
        self._queue = queue
        self._leases = leases
        self.by_key: dict[str, Lane] = {}
        self.ready = ReadyLanes(shared.recording)
        self.of_holder: defaultdict[Holder, dict[Lane, None]] = defaultdict(dict)
        self.pending = 0
        self.held_back = 0
        self.is_turn_of_unkeyed = False

    @property
    def available(self) -> int:
        return self.pending - self.held_back

    # --- what comes in ---

    def put(self, message: Message) -> None:
        """Take in a message with a key."""
        key = message.ordering_key
        lane = self.by_key.get(key)
        if lane is None:
            lane = self.by_key[key] = Lane(key)
        if not lane.pending:
            self._note_age(lane, message)
        lane.pending.append(message)
        self.pending += 1
        self.held_back += lane.is_delayed
        self._offer(lane)

    def _offer(self, lane: Lane) -> None:
        """Let the pending messages of a lane be found by whoever may take them."""
        if lane.is_delayed or not lane.pending:
            return
        if lane.leased:
            if lane.holder is not None:
                self.of_holder[lane.holder][lane] = None
        else:
            self.ready.add(lane, self._queue.source.end)

    def _offer_again(self, lane: Lane) -> None:
        self._move_on(lane)
        self._offer(lane)
        self._shared.effects.append(self._shared.wake)

    # --- leases ---

    def take(self, request: LeaseRequest, now: int) -> None:
        """Take out of the lanes and out of the queue, in about the order of publishing."""
        if request.holder is not None:
            self._take_from_own(request, request.holder)
        # Those that failed since the last publish are level; neither kind may starve the other.
        self.is_turn_of_unkeyed = not self.is_turn_of_unkeyed
        while not request.is_full:
            lane = self.ready.first_for(request.holder, now)
            if lane is None:
                self._queue.take(request)
                return
            # In about the order of publishing, though keys and messages without one are free.
            self._queue.take(request, lane.ready_at, is_turn=self.is_turn_of_unkeyed)
            if not request.is_full:
                self._take_from(lane, request)
            if lane.leased:
                self.ready.leave(lane)  # when it fails, it is behind all that are ready now

    def _take_from_own(self, request: LeaseRequest, holder: Holder) -> None:
        for lane in tuple(self.of_holder.get(holder, ())):
            if request.is_full:
                return
            if lane.holder is holder and lane.leased and not lane.is_delayed:
                self._take_from(lane, request)
            else:
                self._leave_holder(lane, holder)

    def _leave_holder(self, lane: Lane, holder: Holder) -> None:
        """A stream has nothing of a lane, or can have no more of it."""
        lanes = self.of_holder.get(holder)
        if lanes is not None:
            lanes.pop(lane, None)
            if not lanes:
                del self.of_holder[holder]

    def _take_from(self, lane: Lane, request: LeaseRequest) -> None:
        taken, pending = request.taken, lane.pending
        count = len(taken)
        while pending and not request.is_full and request.fits(_message(pending[0])):
            item = pending.popleft()
            delivery = item if isinstance(item, Delivery) else Delivery(item, lane)
            lane.delivered.append(delivery)
            taken.append(delivery)
        count = len(taken) - count
        self.pending -= count
        lane.leased += count
        if not count:
            return
        holder = lane.holder = request.holder
        lane.kept_for = None
        if holder is not None:
            if pending:
                self.of_holder[holder][lane] = None
            else:
                self._leave_holder(lane, holder)

    # --- acknowledgements ---

    def may_settle(self, delivery: Delivery, lane: Lane) -> bool:
        """A late ack counts only for the message that is next in its lane (ORD-03)."""
        return delivery.state is LEASED or lane.pending[0] is delivery

    def settle(self, delivery: Delivery, lane: Lane) -> None:
        """A delivery, which no ack id names any more, is acked."""
        delivery.ack_id = ""
        if delivery.state is LEASED:
            self._leases.end((delivery,), ACKED)
            if self._shared.history is not None:
                self._shared.history.acked(delivery.message)
            lane.leased -= 1
            self._move_on(lane)
        else:
            self._end_delay(lane)
            lane.pending.popleft()
            self.pending -= 1
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
            self._leave_holder(lane, lane.holder)
            lane.holder = None
        if lane.pending:
            self._offer(lane)
            self._shared.effects.append(self._shared.wake)
        elif not delivered:
            del self.by_key[lane.key]
            self.ready.tidy(len(self.by_key), self._is_there)

    def _is_there(self, lane: Lane) -> bool:
        return self.by_key.get(lane.key) is lane

    # --- failures ---

    def drop_leased(self, lane: Lane) -> None:
        """The lease of one delivery ended for good; the key goes on (ORD-08)."""
        lane.leased -= 1
        self._move_on(lane)

    def give_back(self, failed: Sequence[Delivery], reason: Reason, now: int) -> None:
        """Take lanes back to the first of `failed`, AVAILABLE already, in each (ORD-02)."""
        for lane, deliveries in _by_lane(failed).items():
            lane.leased -= len(deliveries)
            if reason is Reason.NACK and lane.holder is not None:
                # Its consumer may be at the later messages still; another would overtake it.
                lane.kept_for = lane.nacked_by = lane.holder
                lane.kept_until_us = now + _KEPT_US
            first = min(deliveries, key=position_of)
            rewound = self._rewind(lane, first)
            until_us = self._start_delay(lane, first, now)
            self._offer_again(lane)
            if self._shared.recording.is_on:
                self._record(lane, reason, deliveries, rewound, until_us)

    def release(self, returned: Sequence[Delivery]) -> None:
        """Take lanes back to the first of `returned`, which reached nobody; they go first."""
        for lane, deliveries in reversed(_by_lane(returned).items()):
            rewound = self._rewind(lane, min(deliveries, key=position_of))
            self._offer_again(lane)
            self.ready.put_first(lane)
            if self._shared.recording.is_on:
                self._record(lane, Reason.RELEASED, (), rewound, None)

    def _record(
        self,
        lane: Lane,
        reason: Reason,
        failed: Iterable[Delivery],
        rewound: tuple[int, list[str], list[int]],
        until_us: int | None,
    ) -> None:
        first, canceled, unacked = rewound
        kept_for = lane.kept_for
        self._shared.recording.add(
            Rewound(
                self._shared.subscription,
                lane.key,
                reason,
                first,
                tuple(map(position_of, failed)),
                tuple(canceled),
                tuple(unacked),
                until_us,
                kept_for.id if kept_for is not None else None,
                lane.kept_until_us if kept_for is not None else None,
                lane.ready_at if lane.is_ready else None,
            )
        )

    def _rewind(self, lane: Lane, first: Delivery) -> tuple[int, list[str], list[int]]:
        """Take a lane back to `first`: it and all that was delivered after it come again.

        Return its position, the ack ids that name nothing any more, and the positions of what is
        acked no longer.
        """
        canceled: list[str] = []
        unacked: list[int] = []
        self._end_delay(lane)
        last = None
        while last is not first:
            last = lane.delivered.pop()
            ack_id, was_acked = last.ack_id, last.state is ACKED
            if self._recall(lane, last, is_first=last is first):
                canceled += [ack_id] if ack_id != last.ack_id else []
                unacked += [last.message.position] if was_acked else []
        return first.message.position, canceled, unacked

    def _recall(self, lane: Lane, delivery: Delivery, *, is_first: bool) -> bool:
        """Let a delivery be pending again; return whether it is."""
        shared = self._shared
        if delivery.state in _DONE:
            if delivery.state is not ACKED or shared.rules.is_exactly_once:
                return False  # ORD-02: with exactly-once delivery, what was acked stays so
            delivery.move_to(AVAILABLE)
            if shared.history is not None:
                shared.history.unacked(delivery.message)
        elif delivery.state is LEASED:
            self._leases.cancel(delivery)
            lane.leased -= 1
        elif not is_first:
            self._leases.forget(delivery)
        lane.pending.appendleft(delivery)
        self.pending += 1
        self._note_age(lane, delivery.message)
        return True

    def _start_delay(self, lane: Lane, first: Delivery, now: int) -> int | None:
        """Hold a lane back while the message at its head has its backoff (ORD-08).

        Return when that ends; None for at once.
        """
        backoff = self._shared.rules.backoff
        delay_us = backoff.delay_us(first.failures) if backoff is not None else 0
        if not delay_us:
            return None
        first.move_to(DELAYED)
        lane.is_delayed = True
        self.held_back += len(lane.pending)
        self._leases.start_backoff((first,), now + delay_us)
        return now + delay_us

    def _end_delay(self, lane: Lane) -> None:
        """Let a lane's head wait no longer, if it does."""
        if not lane.is_delayed:
            return
        head = lane.pending[0]
        assert isinstance(head, Delivery)
        self._leases.end_backoff((head,), AVAILABLE)
        lane.is_delayed = False
        self.held_back -= len(lane.pending)

    def end_backoff(self, lane: Lane) -> None:
        """The backoff of a lane is over."""
        self._end_delay(lane)
        self._offer_again(lane)

    # --- retention ---

    def _note_age(self, lane: Lane, head: Message) -> None:
        """A lane's pending messages begin with `head`."""
        shared = self._shared
        shared.oldest_pending_us = min(shared.oldest_pending_us, head.publish_time_us)
        if shared.ages is not None:
            shared.ages.add(head.publish_time_us, lane)

    @property
    def oldest_us(self) -> int:
        """No message that waits in a lane was published before this."""
        return self._shared.oldest_pending_us if self.pending else NO_TIME_US

    def by_age(self) -> list[tuple[int, Lane]]:
        """The lanes with messages that wait, by when the first of these was published."""
        waiting = [lane for lane in self.by_key.values() if lane.pending]
        return [(_message(lane.pending[0]).publish_time_us, lane) for lane in waiting]

    def expire(self, lane: Lane, cutoff_us: int) -> list[int]:
        """Drop what waits in a lane and is too old (DLV-41); return the positions."""
        positions = []
        while lane.pending and _message(lane.pending[0]).publish_time_us <= cutoff_us:
            self._end_delay(lane)
            item = lane.pending.popleft()
            self.pending -= 1
            positions.append(_message(item).position)
            if isinstance(item, Delivery):
                self._leases.forget(item)
                item.move_to(EXPIRED)
        if positions and lane.key in self.by_key:
            self._offer_again(lane)
        if lane.pending:
            self._note_age(lane, _message(lane.pending[0]))
        return positions

    # --- what there is ---

    def unacked(self) -> Iterator[Message]:
        """Everything in lanes that is not acked, that of a key in its order."""
        for lane in tuple(self.by_key.values()):
            for delivery in lane.delivered:
                if delivery.state is LEASED:
                    yield delivery.message
            yield from map(_message, tuple(lane.pending))

    def free(self, budget: int) -> int:
        """Free up to `budget` messages, and lanes, after the end; return how many."""
        freed = self.ready.free(budget)
        while freed < budget and self.by_key:
            _, lane = self.by_key.popitem()
            left = lane.pending or lane.delivered
            if left:
                left.popleft()
                self.by_key[lane.key] = lane
            freed += 1
        return freed

    def __repr__(self) -> str:
        return f"<Lanes, {len(self.by_key)} with {self.pending} pending>"


def _message(item: Message | Delivery) -> Message:
    return item.message if isinstance(item, Delivery) else item


def position_of(delivery: Delivery) -> int:
    """Where in the log its message is."""
    return delivery.message.position


def _by_lane(deliveries: Iterable[Delivery]) -> dict[Lane, list[Delivery]]:
    lanes: defaultdict[Lane, list[Delivery]] = defaultdict(list)
    for delivery in deliveries:
        if delivery.lane is not None:
            lanes[delivery.lane].append(delivery)
    return lanes
