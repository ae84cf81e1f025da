"""What one subscription still has to deliver, and the leases on what it has delivered.

A message is in one place: in the source (AVAILABLE, never leased), in `_deliveries` under its
newest ack id (LEASED, DELAYED, or AVAILABLE again until the next lease), or nowhere (ACKED,
DEAD_LETTERED, DROPPED). Deliveries that wait to go out again also stand in `_requeued`, behind the
messages that were waiting when their lease ended (DLV-08); delayed ones stand in the project's
heap of backoffs. Messages with a key on an ordered subscription are `ordering.OrderedBacklog`'s.
"""

from __future__ import annotations

import sys
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from emulator.api import pubsub
from emulator.engine.delivery import unanswered
from emulator.engine.delivery.ack_ids import AckIdMint
from emulator.engine.delivery.ages import Ages
from emulator.engine.delivery.deadline_heap import DeadlineHeap
from emulator.engine.delivery.delivery import (
    ACKED,
    AVAILABLE,
    DEAD_LETTERED,
    DELAYED,
    DROPPED,
    EXPIRED,
    LEASED,
    Delivery,
)
from emulator.engine.delivery.delivery_rules import DeliveryRules
from emulator.engine.delivery.exactly_once import AckedIds, AckReport
from emulator.engine.delivery.holder import Holder
from emulator.engine.delivery.outcome import Available, Effect, Room
from emulator.engine.delivery.sources import LogSource, QueueSource, ReplaySource, Source
from emulator.engine.delivery.taking import Taking
from emulator.engine.log.message_log import Message
from emulator.engine.values import errors
from emulator.engine.values.durations import SECOND_US

if TYPE_CHECKING:
    from emulator.engine.delivery.dead_letter import Forwarder
    from emulator.engine.delivery.ordering import Lane
    from emulator.engine.delivery.replay import Feed
    from emulator.engine.filters import Filter
    from emulator.engine.resources.retention import History

_SLACK = 64
_MANY = 1_024
#: How many messages of a seek one lease looks at, so that no call takes long.
FEED_BUDGET = 2_000
EVERYWHERE = sys.maxsize  # before this position lies every message
NEVER = sys.maxsize  # after any time there is


class Backlog:
    """`wake` is the effect to report when messages become available here.

    `leases` and `delays` are its project's heaps. With a `filter` the source is a queue, and
    `index` must be told of what is published. With `has_heir` the backlog that a seek made takes
    over its messages, and frees it when it has them.
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
        self.source = source
        self.wake = wake
        self.filter = filter
        self.rules = DeliveryRules()
        self.forwarder: Forwarder | None = None
        self.is_closed = False
        self.has_heir = False
        self._mint = mint
        self._leases = leases
        self._delays = delays
        self._deliveries: dict[str, Delivery] = {}
        self._requeued: deque[Delivery] = deque()
        self._requeued_live = 0
        self._leased = 0
        self._delayed = 0
        self._acked_ids = AckedIds()
        self._effects: list[Effect] = []
        self.history: History | None = None
        self.feed: Feed | None = None
        self._ages: Ages[Delivery | Lane] | None = None
        # No message that was leased once, and is not settled, is older than this.
        self._oldest_leased_us = NEVER

    # --- what there is ---

    @property
    def leased(self) -> int:
        """Messages that are out with somebody."""
        return self._leased

    @property
    def delayed(self) -> int:
        """Messages that wait for their backoff to end (RTY-02)."""
        return self._delayed

    @property
    def available(self) -> int:
        """Messages that could be leased now."""
        return self.source.count + self._requeued_live + self._unfed

    @property
    def undelivered(self) -> int:
        """Messages not acked, those out with somebody included (MET-01)."""
        return self.available + self._leased + self.delayed

    @property
    def _unfed(self) -> int:
        """At most how many messages a seek has still to bring."""
        return self.feed.left if self.feed is not None else 0

    def take_effects(self) -> tuple[Effect, ...]:
        """What the operations since the last call brought about."""
        if not self._effects:
            return ()
        effects, self._effects = tuple(dict.fromkeys(self._effects)), []
        return effects

    # --- what comes in ---

    @property
    def is_indexed(self) -> bool:
        """Whether `index` must be told of what is published."""
        return isinstance(self.source, QueueSource)

    def index(self, messages: Sequence[Message], contents: Sequence[pubsub.PubsubMessage]) -> None:
        """Take in what was published; `contents` are the messages as sent (DLV-40)."""
        if self.feed is not None and self.feed.reads_the_log:
            return  # it comes to them in their turn
        matches = self.filter.matches if self.filter is not None else None
        for message, content in zip(messages, contents, strict=True):
            if matches is None or matches(content.attributes):
                self.put(message)

    def put(self, message: Message) -> None:
        """Take in one message that is for this subscription and is not settled."""
        assert isinstance(self.source, QueueSource | ReplaySource)
        self.source.put(message)

    def feed_some(self, budget: int) -> int:
        """Bring up to `budget` messages that a seek made available; return how many it saw."""
        if self.feed is None:
            return 0
        seen = self.feed.bring(self, budget)
        if self.feed.is_done:
            self.feed = None
        if seen:
            self._effects.append(self.wake)
        return seen

    def feed_all(self) -> None:
        """Bring all that a seek made available."""
        while self.feed is not None:
            self.feed_some(NEVER)

    # --- leases ---

    def lease(
        self,
        limit: int,
        limit_bytes: int,
        deadline_us: int,
        holder: Holder | None = None,
        *,
        now: int,
    ) -> list[Delivery]:
        """Lease up to `limit` messages of `limit_bytes` in all until `deadline_us`.

        A `holder` gets no more than its window has room for. One message is leased whatever its
        size to whoever holds nothing yet, so that none can block the subscription (STR-07).
        """
        taking = Taking(limit, limit_bytes, holder, now)
        self._take(taking)
        if self.feed is not None:
            # What is still to come may be for nobody: look at a part of it, then let others go.
            self.feed_some(FEED_BUDGET)
            self._take(taking)
        taken = taking.taken
        if holder is not None:
            self._enter_window(holder, taken)
            holder.is_blocked = not taken and taking.is_full and self.available > 0
        self._start_leases(taken, deadline_us)
        if holder is not None and taken and (batch := taken[0].batch) is not None:
            holder.note_sent(batch, now)
        return taken

    def _start_leases(self, taken: list[Delivery], deadline_us: int) -> None:
        issue, deliveries = self._mint.issue, self._deliveries
        for delivery in taken:
            if delivery.ack_id:
                del deliveries[delivery.ack_id]
            delivery.state = LEASED
            delivery.ack_id = ack_id = issue()
            deliveries[ack_id] = delivery
        self._leased += len(taken)
        self._leases.arm(self, tuple(taken), deadline_us)
        if taken:
            self._note_ages(taken)

    def _enter_window(self, holder: Holder, taken: list[Delivery]) -> None:
        for delivery in taken:
            delivery.holder = holder
            holder.held_bytes += len(delivery.message.encoded)
        holder.held_messages += len(taken)

    def _leave_window(self, delivery: Delivery) -> None:
        holder = delivery.holder
        assert holder is not None
        delivery.holder = None
        holder.held_messages -= 1
        holder.held_bytes -= len(delivery.message.encoded)
        if holder.is_blocked:
            holder.is_blocked = False
            self._effects.append(Room(holder.id))

    def _note_ages(self, taken: Sequence[Delivery]) -> None:
        oldest_us = taken[0].message.publish_time_us
        if not isinstance(self.source, LogSource):
            # A log gives them in the order of publishing, those that were leased before apart.
            oldest_us = min(delivery.message.publish_time_us for delivery in taken)
        self._oldest_leased_us = min(self._oldest_leased_us, oldest_us)
        if self._ages is not None:
            for delivery in taken:
                self._ages.add(delivery.message.publish_time_us, delivery)
            if len(self._ages) > 2 * len(self._deliveries) + _MANY:
                self._ages = self._count_ages()

    def _take(self, taking: Taking) -> None:
        """Take out of what is available."""
        self._take_unkeyed(taking, EVERYWHERE)

    def _take_unkeyed(self, taking: Taking, before: int, is_turn: bool = True) -> None:
        """Take messages without a lane that come before those published from `before` on.

        `is_turn` says whether redeliveries that are level with `before` do so too.
        """
        while not taking.is_full:
            count = len(taking.taken)
            if self._requeued:
                self._take_requeued(taking, before if is_turn else before - 1)
            self._take_fresh(taking, before)
            if len(taking.taken) == count:
                return

    def _take_requeued(self, taking: Taking, until: int) -> None:
        """Take redeliveries that are behind no message from position `until` on."""
        requeued = self._requeued
        until = min(until, self.source.position)
        while requeued and requeued[0].behind <= until and not taking.is_full:
            delivery = requeued[0]
            if delivery.state is AVAILABLE:
                if not taking.fits(delivery.message):
                    return
                taking.taken.append(delivery)
                self._requeued_live -= 1
            requeued.popleft()

    def _take_fresh(self, taking: Taking, before: int) -> None:
        if self._requeued:
            # Whoever waits to go out again waits behind the messages before `behind` only.
            before = min(before, self._requeued[0].behind)
        taken, left, is_strict = taking.taken, taking.bytes_left, taking.is_strict
        count = len(taken)
        for message in self.source.peek(taking.limit - count, before):
            left -= len(message.encoded)  # as `fits` does; this is the hot path
            if left < 0 and (taken or is_strict):
                taking.is_too_large = True
                break
            taken.append(Delivery(message))
        taking.bytes_left = left
        if len(taken) > count:
            self.source.take(len(taken) - count)

    # --- acknowledgements ---

    def check_ack_ids(self, ack_ids: Iterable[str]) -> None:
        """Raise ERR-12 if any id was never issued for this subscription (DLV-25, DLV-28).

        With exactly-once delivery such an id is one failure of its request's (EOD-03).
        """
        if self.rules.is_exactly_once:
            return
        for ack_id in ack_ids:
            if ack_id not in self._deliveries and not self._mint.recognises(ack_id):
                raise errors.bad_ack_id(ack_id)

    def acknowledge(self, ack_ids: Iterable[str]) -> AckReport | None:
        """Settle the deliveries that `ack_ids` name; stale ids change nothing (DLV-23, DLV-24).

        With exactly-once delivery the report says which ids failed.
        """
        if self.is_closed:
            return None  # what was dropped cannot be settled any more
        if self.rules.is_exactly_once:
            return self._acknowledge_exactly(ack_ids)
        deliveries, disarm, history = self._deliveries, self._leases.disarm, self.history
        for ack_id in ack_ids:
            delivery = deliveries.pop(ack_id, None)
            if delivery is None:
                continue
            if delivery.state is LEASED and delivery.lane is None:
                disarm(delivery)  # as `_settle` does; this is the hot path
                self._leased -= 1
                if delivery.holder is not None:
                    self._leave_window(delivery)
                delivery.state = ACKED
                if history is not None:
                    history.acked(delivery.message)
            elif self._may_settle(delivery):
                self._settle(delivery)
            else:
                deliveries[ack_id] = delivery
        return None

    def _acknowledge_exactly(self, ack_ids: Iterable[str]) -> AckReport:
        report = AckReport()
        for ack_id in self._in_turn(ack_ids):
            delivery = self._deliveries.get(ack_id)
            if delivery is None or delivery.state is not LEASED:
                known = ack_id in self._acked_ids
                (report.succeeded if known else report.invalid).append(ack_id)
            elif not self._is_next_in_lane(delivery):
                report.unordered.append(ack_id)
            else:
                del self._deliveries[ack_id]
                self._settle(delivery)
                self._acked_ids.add(ack_id)
                report.succeeded.append(ack_id)
        return report

    def _settle(self, delivery: Delivery) -> None:
        """A delivery, out of `_deliveries` already, is acked."""
        state = delivery.state
        if state is LEASED:
            self._leases.disarm(delivery)
            self._leased -= 1
            if delivery.holder is not None:
                self._leave_window(delivery)
        elif state is DELAYED:
            self._delays.disarm(delivery)
            self._delayed -= 1
        else:
            self._forget_requeued()
        delivery.move_to(ACKED)
        if self.history is not None:
            self.history.acked(delivery.message)

    def _may_settle(self, delivery: Delivery) -> bool:
        return True

    def _in_turn(self, ack_ids: Iterable[str]) -> Iterable[str]:
        """The order in which to settle the ids of one request."""
        return ack_ids

    def _is_next_in_lane(self, delivery: Delivery) -> bool:
        return True

    def _forget_requeued(self) -> None:
        """A requeued delivery was settled; it is passed over when its turn comes."""
        self._requeued_live -= 1
        if len(self._requeued) > 2 * self._requeued_live + _SLACK:
            # The one just settled is not marked yet; it goes the next time.
            self._requeued = deque(d for d in self._requeued if d.state is AVAILABLE)

    # --- deadlines ---

    def set_deadline(self, ack_ids: Iterable[str], seconds: int, now: int) -> AckReport | None:
        """Let running leases end `seconds` from `now`, or at once and as failures (DLV-03)."""
        if seconds:
            return self.modify(ack_ids, now + seconds * SECOND_US, now)
        return self.nack(ack_ids, now)

    def modify(self, ack_ids: Iterable[str], deadline_us: int, now: int) -> AckReport | None:
        """Let the running leases that `ack_ids` name end at `deadline_us` (DLV-21).

        A lease that has ended is not taken up again: its message waits for the next one (DLV-23).
        """
        running, report = self._running(ack_ids)
        unanswered.note_receipts(running, now)
        self._leases.rearm(self, running, deadline_us)
        return report

    def nack(self, ack_ids: Iterable[str], now: int) -> AckReport | None:
        """End the running leases that `ack_ids` name (DLV-03)."""
        running, report = self._running(ack_ids)
        for delivery in running:
            self._leases.disarm(delivery)
        self.fail(running, now, is_nack=True)
        return report

    def _running(self, ack_ids: Iterable[str]) -> tuple[list[Delivery], AckReport | None]:
        if self.is_closed:
            return [], None
        get = self._deliveries.get
        # A dict, because the same id may come twice in one request.
        found = {ack_id: get(ack_id) for ack_id in ack_ids}
        running = [d for d in found.values() if d is not None and d.state is LEASED]
        if not self.rules.is_exactly_once:
            return running, None
        report = AckReport()
        for ack_id, delivery in found.items():
            is_running = delivery is not None and delivery.state is LEASED
            (report.succeeded if is_running else report.invalid).append(ack_id)
        return running, report

    # --- failures ---

    def fail(self, deliveries: Sequence[Delivery], now: int, *, is_nack: bool = False) -> None:
        """The leases of `deliveries`, disarmed already, ended without an acknowledgement."""
        self._leased -= len(deliveries)
        if holders := frozenset(d.holder.id for d in deliveries if d.holder is not None):
            # First of all effects: they may be leaving, and others are served before them.
            self._effects.append(self.wake._replace(last=holders))
        kept = []
        for delivery in deliveries:
            self._count_failure(delivery)
            delivery.nacked_by = delivery.holder if is_nack else None
            if delivery.holder is not None:
                delivery.holder.has_nacked |= is_nack
                self._leave_window(delivery)
            if not self._dead_letter(delivery):
                kept.append(delivery)
        if kept:
            self._give_back(kept, now, is_nack=is_nack)

    def _count_failure(self, delivery: Delivery) -> None:
        policy = self.rules.policy
        if not delivery.failures:
            delivery.policy, delivery.first_counted = policy, 0
        elif delivery.policy != policy:
            delivery.policy, delivery.first_counted = policy, delivery.failures
        delivery.failures += 1

    def delivery_attempt(self, delivery: Delivery) -> int:
        """What `delivery_attempt` says of a lease: 0 without a dead-letter policy (DLQ-01)."""
        if not self.rules.max_attempts:
            return 0
        return self._counted(delivery) + 1

    def _counted(self, delivery: Delivery) -> int:
        if not delivery.failures or delivery.policy != self.rules.policy:
            return 0  # DLQ-11: failures from before the policy do not count
        return delivery.failures - delivery.first_counted

    def _dead_letter(self, delivery: Delivery) -> bool:
        """Forward a message whose attempts are used up; return whether it is gone (DLQ-02)."""
        limit = self.rules.max_attempts
        if not limit or self.forwarder is None:
            return False
        attempts = self._counted(delivery)
        if attempts < limit:
            return False
        forward = self.forwarder.forward(delivery.message, attempts)
        if forward is None:
            return False
        self._effects.append(forward)
        del self._deliveries[delivery.ack_id]
        delivery.ack_id = ""
        delivery.move_to(DEAD_LETTERED)
        return True

    def _give_back(self, failed: Sequence[Delivery], now: int, *, is_nack: bool) -> None:
        """Make failed deliveries available again, at once or after their backoff (RTY-01, 02)."""
        backoff = self.rules.backoff
        if backoff is None:
            self._requeue(failed)
            return
        by_deadline: defaultdict[int, list[Delivery]] = defaultdict(list)
        for delivery in failed:
            by_deadline[now + backoff.delay_us(delivery.failures)].append(delivery)
        for deadline_us, group in by_deadline.items():
            if deadline_us <= now:
                self._requeue(group)
            else:
                self._delay(group, deadline_us)

    def _delay(self, deliveries: Sequence[Delivery], deadline_us: int) -> None:
        for delivery in deliveries:
            delivery.move_to(DELAYED)
        self._delayed += len(deliveries)
        self._delays.arm(self, deliveries, deadline_us)

    def end_backoff(self, deliveries: Sequence[Delivery]) -> None:
        """The backoffs of `deliveries`, disarmed already, are over."""
        self._delayed -= len(deliveries)
        self._requeue(deliveries)

    def _requeue(self, deliveries: Sequence[Delivery]) -> None:
        """Make deliveries available behind whatever is available already (DLV-08)."""
        end = self.source.end
        for delivery in deliveries:
            delivery.move_to(AVAILABLE)
            delivery.behind = end
        self._requeued.extend(deliveries)
        self._requeued_live += len(deliveries)
        self._effects.append(self.wake)

    def release(self, leases: Sequence[tuple[Delivery, str]]) -> None:
        """Take back leases, given with their ack ids, that never reached anybody.

        It is as if they had not been made: no failure is counted, and the messages are the next
        to go. Leases that ended meanwhile are left alone (PUL-06).
        """
        returned = [
            delivery
            for delivery, ack_id in leases
            if delivery.state is LEASED and self._deliveries.get(ack_id) is delivery
        ]
        if returned and not self.is_closed:
            self._take_back(returned)
            self._effects.append(self.wake)

    def _take_back(self, returned: Sequence[Delivery]) -> None:
        for delivery in reversed(returned):
            self._cancel(delivery)
            delivery.behind = 0
            self._requeued.appendleft(delivery)
        self._requeued_live += len(returned)

    def _cancel(self, delivery: Delivery) -> None:
        """End a running lease without a failure; its ack id is stale from now on."""
        self._leases.disarm(delivery)
        self._leased -= 1
        if delivery.holder is not None:
            self._leave_window(delivery)
        self._forget_ack_id(delivery)
        delivery.move_to(AVAILABLE)

    def _forget_ack_id(self, delivery: Delivery) -> None:
        if delivery.ack_id:
            del self._deliveries[delivery.ack_id]
            delivery.ack_id = ""

    # --- retention ---

    @property
    def oldest_us(self) -> int | None:
        """No unacked message was published before this; None without any (or a guess too early)."""
        times = [self._oldest_leased_us]
        if self.source.oldest_us is not None:
            times.append(self.source.oldest_us)
        if self.feed is not None:
            times.append(self.feed.oldest_us)
        oldest_us = min(times)
        return None if oldest_us == NEVER else oldest_us

    def expire(self, cutoff_us: int) -> int:
        """Drop what was published at `cutoff_us` or before; return how many messages (DLV-41).

        A live lease does not protect them.
        """
        while self.feed is not None and self.feed.oldest_us <= cutoff_us:
            self.feed_some(FEED_BUDGET)
        return self._expire_fed(cutoff_us)

    def _expire_fed(self, cutoff_us: int) -> int:
        """Drop what is too old, the feed having brought all that may be."""
        count = self.source.expire(cutoff_us)
        if self._oldest_leased_us <= cutoff_us:
            # Kept before they are gone through: dropping some can put the next ones of a lane in.
            ages = self._ages = self._ages if self._ages is not None else self._count_ages()
            for item in ages.until(cutoff_us):
                count += self._expire_one(item, cutoff_us)
            if not len(ages):
                self._ages = None
            self._oldest_leased_us = NEVER if ages.oldest_us is None else ages.oldest_us
        return count

    def _count_ages(self) -> Ages[Delivery | Lane]:
        return Ages((item.message.publish_time_us, item) for item in self._all_deliveries())

    def _all_deliveries(self) -> list[Delivery]:
        """Everything that was leased once and is not settled."""
        released = [d for d in self._requeued if d.state is AVAILABLE and not d.ack_id]
        return [*self._deliveries.values(), *released]

    def _expire_one(self, item: Delivery | Lane, cutoff_us: int) -> int:
        assert isinstance(item, Delivery)
        return self._expire_delivery(item)

    def _expire_delivery(self, delivery: Delivery) -> int:
        if delivery.state is LEASED:
            self._leases.disarm(delivery)
            self._leased -= 1
            if delivery.holder is not None:
                self._leave_window(delivery)
        elif delivery.state is DELAYED:
            self._delays.disarm(delivery)
            self._delayed -= 1
        elif delivery.state is AVAILABLE:
            self._forget_requeued()
        else:
            return 0
        self._forget_ack_id(delivery)
        delivery.move_to(EXPIRED)
        return 1

    # --- replay ---

    @property
    def log_position(self) -> int:
        """From here on the log has what was not leased yet."""
        positions = [self.source.log_position]
        if self.feed is not None and self.feed.log_position is not None:
            positions.append(self.feed.log_position)
        return min(positions)

    def unacked(self) -> tuple[Iterator[Message], int]:
        """The messages not acked that the log does not have at `log_position` or later.

        Those of a key come in their order. With them comes at most how many they are.
        """
        in_log = self.source.end - self.log_position
        return self._unacked(), self.undelivered - in_log

    def _unacked(self) -> Iterator[Message]:
        for delivery in self._all_deliveries():
            yield delivery.message
        yield from self.source.queued()
        if self.feed is not None:
            yield from self.feed.rest()

    # --- the end ---

    def close(self) -> None:
        """Drop everything. What is left in memory goes by `reclaim`, in slices."""
        self.is_closed = True
        self.source.close()
        if self.feed is not None:
            self.feed.close()

    def reclaim(self, budget: int) -> int:
        """Do up to `budget` messages' worth of what can wait; return how much."""
        if not self.is_closed:
            return self.feed_some(budget)
        return 0 if self.has_heir else self.free(budget)

    def free(self, budget: int) -> int:
        """Free up to `budget` messages of a closed backlog; return how many."""
        freed = self._free_own(budget)
        while freed < budget and self.feed is not None and self.feed.former is not None:
            # Not by recursion: there may have been any number of seeks.
            former = self.feed.former
            done = former._free_own(budget - freed)
            freed += done
            if freed < budget:
                self.feed.former = former.feed.former if former.feed is not None else None
        return freed

    def _free_own(self, budget: int) -> int:
        freed = 0
        while freed < budget and self._deliveries:
            _, delivery = self._deliveries.popitem()
            self._drop(delivery)
            freed += 1
        while freed < budget and self._requeued:
            delivery = self._requeued.popleft()
            if delivery.state is AVAILABLE:
                delivery.move_to(DROPPED)
            freed += 1
        return freed + self.source.reclaim(budget - freed)

    def _drop(self, delivery: Delivery) -> None:
        if delivery.batch is not None:
            heap = self._leases if delivery.state is LEASED else self._delays
            heap.disarm(delivery)
        delivery.move_to(DROPPED)

    def __repr__(self) -> str:
        return f"<Backlog {self.available} available, {self._leased} leased>"
