"""What one subscription still has to deliver, and the leases on what it has delivered.

A message is in one place: in the queue (AVAILABLE, without a lane), in a lane (with a key, in a
subscription that orders), or nowhere (ACKED, DEAD_LETTERED, DROPPED, EXPIRED). What was leased once
is also among the leases, under its newest ack id (LEASED, DELAYED, or AVAILABLE again until the
next lease).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from emulator.api import pubsub
from emulator.engine.delivery import unanswered
from emulator.engine.delivery.ack_ids import AckIdMint
from emulator.engine.delivery.ages import NO_TIME_US
from emulator.engine.delivery.dead_letter import Forwarder
from emulator.engine.delivery.deadlines import Deadlines
from emulator.engine.delivery.delivery import LEASED, Delivery
from emulator.engine.delivery.delivery_rules import DeliveryRules
from emulator.engine.delivery.events import (
    Expired,
    Extended,
    Reason,
    Recording,
)
from emulator.engine.delivery.exactly_once import AckReport
from emulator.engine.delivery.expiry import Expiry
from emulator.engine.delivery.failures import Failures
from emulator.engine.delivery.feed import Feed
from emulator.engine.delivery.history import History
from emulator.engine.delivery.holder import Holder
from emulator.engine.delivery.intake import Intake
from emulator.engine.delivery.lanes import Lanes
from emulator.engine.delivery.lease_request import LeaseRequest
from emulator.engine.delivery.leases import Lease, Leases, leased
from emulator.engine.delivery.outcome import Available, Effect
from emulator.engine.delivery.queue import UnkeyedQueue
from emulator.engine.delivery.settling import Settling
from emulator.engine.delivery.shared import Shared
from emulator.engine.delivery.sources import Source
from emulator.engine.filters import Filter
from emulator.engine.log.message_log import Message
from emulator.engine.values.durations import SECOND_US

#: How many messages of a seek one lease looks at, so that no call takes long.
FEED_BUDGET = 2_000


class Backlog:
    """`queue`, `lanes` and `leases` are its parts; without ordering there are no lanes.

    `deadlines` and `backoffs` are its project's heaps. With a `filter`, or lanes, the source is a
    queue, and `index` must be told of what is published. One that a seek `is_replaced` gives its
    messages to the next, which frees it when it has them.
    """

    def __init__(
        self,
        source: Source,
        mint: AckIdMint,
        deadlines: Deadlines[Backlog],
        backoffs: Deadlines[Backlog],
        wake: Available,
        recording: Recording,
        filter: Filter | None = None,
        *,
        is_ordered: bool = False,
    ) -> None:
        shared = Shared(wake, recording)
        self._shared = shared
        self.wake = wake
        self.filter = filter
        self.is_closed = False
        self.is_replaced = False
        self.queue = UnkeyedQueue(source)
        self.leases = Leases(self, mint, deadlines, backoffs, shared.effects)
        self.lanes = Lanes(shared, self.queue, self.leases) if is_ordered else None
        self._settling = Settling(shared, self.queue, self.leases, self.lanes)
        self._failures = Failures(shared, self.queue, self.leases, self.lanes)
        self._expiry = Expiry(shared, self.queue, self.leases, self.lanes)
        self._intake = Intake(shared, self.queue, self.lanes, filter)

    # --- what it goes by ---

    @property
    def rules(self) -> DeliveryRules:
        return self._shared.rules

    @property
    def history(self) -> History | None:
        """The acked messages that it retains, if it does."""
        return self._shared.history

    def go_by(self, rules: DeliveryRules, history: History | None) -> None:
        """Act on other rules, and retain acked messages there, from now on."""
        self._shared.rules, self._shared.history = rules, history

    def forward_by(self, forwarder: Forwarder) -> None:
        self._failures.forwarder = forwarder

    def take_over(self, former: Backlog) -> None:
        """Go on in place of `former`, whose leases have all ended (SEK-09)."""
        former.is_replaced = True
        self.go_by(former.rules, former.history)
        self._failures.forwarder = former._failures.forwarder
        former.close()

    # --- what there is ---

    @property
    def leased(self) -> int:
        """Messages that are out with somebody."""
        return self.leases.running

    @property
    def delayed(self) -> int:
        """Messages that wait for their backoff to end (RTY-02)."""
        held_back = self.lanes.held_back if self.lanes is not None else 0
        return self.queue.delayed + held_back

    @property
    def available(self) -> int:
        """Messages that could be leased now."""
        available = self.queue.available
        if self.lanes is not None:
            available += self.lanes.available
        if self.feed is not None:
            available += self.feed.left  # at most: what a seek has still to bring
        return available

    @property
    def undelivered(self) -> int:
        """Messages not acked, leased ones included (MET-01)."""
        return self.available + self.leased + self.delayed

    def take_effects(self) -> tuple[Effect, ...]:
        """What the operations since the last call brought about."""
        effects = self._shared.effects
        if not effects:
            return ()
        taken = tuple(dict.fromkeys(effects))
        effects.clear()
        return taken

    # --- what comes in ---

    @property
    def is_indexed(self) -> bool:
        """Whether `index` must be told of what is published."""
        return self.queue.source.is_indexed

    def index(self, messages: Sequence[Message], contents: Sequence[pubsub.PubsubMessage]) -> None:
        """Take in what was published; `contents` are the messages as sent (DLV-40)."""
        self._intake.index(messages, contents)

    @property
    def feed(self) -> Feed | None:
        """What brings the messages of a seek, until they are all here."""
        return self._intake.feed

    def feed_from(self, feed: Feed) -> None:
        """Have a new backlog get what a seek brings back."""
        self._intake.feed = feed

    def feed_some(self, budget: int) -> int:
        """Bring up to `budget` messages that a seek made available; return how many it saw."""
        return self._intake.feed_some(budget)

    def feed_carried(self) -> None:
        """Bring what a seek carries over, and leave what is in the log."""
        self._intake.feed_carried()

    def feed_all(self) -> None:
        """Bring all that a seek made available."""
        while self.feed is not None:
            self.feed_some(NO_TIME_US)

    # --- leases ---

    def lease(
        self,
        limit: int,
        limit_bytes: int,
        deadline_us: int,
        holder: Holder | None = None,
        *,
        now: int,
    ) -> list[Lease]:
        """Lease up to `limit` messages of `limit_bytes` in all until `deadline_us`.

        A `holder` gets no more than its window has room for. One message is leased whatever its
        size to whoever holds nothing yet, so that none can block the subscription (STR-07).
        """
        request = LeaseRequest(limit, limit_bytes, holder)
        self._take(request, now)
        if self.feed is not None:
            # What is still to come may be for nobody: look at a part of it, then let others go.
            self.feed_some(FEED_BUDGET)
            self._take(request, now)
        taken = request.taken
        was_blocked = holder is not None and holder.is_blocked
        self.leases.start(taken, deadline_us, holder)
        if holder is not None:
            holder.is_blocked = not taken and request.is_full and self.available > 0
            if taken and (batch := taken[0].batch) is not None:
                holder.note_sent(batch, now)
        if taken:
            self._expiry.note_leased(taken)
        leases = self._failures.leases_of(taken)
        if self._shared.recording.is_on:
            self._record_leases(leases, deadline_us, holder, was_blocked, now)
        return leases

    def _take(self, request: LeaseRequest, now: int) -> None:
        if self.lanes is None:
            self.queue.take(request)
        else:
            self.lanes.take(request, now)

    def _record_leases(
        self,
        leases: Sequence[Lease],
        deadline_us: int,
        holder: Holder | None,
        was_blocked: bool,
        now: int,
    ) -> None:
        shared, lanes = self._shared, self.lanes
        is_blocked = holder is not None and holder.is_blocked
        if not leases and lanes is None and is_blocked == was_blocked:
            return
        moves = lanes.ready.take_moves() if lanes is not None else ()
        is_turn = lanes is not None and lanes.is_turn_of_unkeyed
        event = leased(shared.subscription, leases, holder, now, deadline_us, moves, is_turn)
        shared.recording.add(event)

    # --- acknowledgements ---

    def check_ack_ids(self, ack_ids: Iterable[str]) -> None:
        """Raise ERR-12 if any id was never issued for this subscription (DLV-25, DLV-28).

        With exactly-once delivery such an id is one failure of its request's (EOD-03).
        """
        if not self.rules.is_exactly_once:
            self.leases.check_ack_ids(ack_ids)

    def acknowledge(self, ack_ids: Iterable[str]) -> AckReport | None:
        """Settle the deliveries that `ack_ids` name; see `Settling.acknowledge`."""
        if self.is_closed:
            return None  # what was dropped cannot be settled any more
        return self._settling.acknowledge(ack_ids)

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
        prompt = unanswered.note_receipts(running, now)
        self.leases.extend(running, deadline_us)
        if running and self._shared.recording.is_on:
            named = tuple(delivery.ack_id for delivery in running)
            event = Extended(self._shared.subscription, named, deadline_us, prompt)
            self._shared.recording.add(event)
        return report

    def nack(self, ack_ids: Iterable[str], now: int) -> AckReport | None:
        """End the running leases that `ack_ids` name (DLV-03)."""
        running, report = self._running(ack_ids)
        if running:
            self._failures.fail(running, Reason.NACK, now)
        return report

    def _running(self, ack_ids: Iterable[str]) -> tuple[list[Delivery], AckReport | None]:
        if self.is_closed:
            return [], None
        found = self.leases.find(ack_ids)
        running = [d for d in found.values() if d is not None and d.state is LEASED]
        if not self.rules.is_exactly_once:
            return running, None
        report = AckReport()
        for ack_id, delivery in found.items():
            is_running = delivery is not None and delivery.state is LEASED
            (report.succeeded if is_running else report.invalid).append(ack_id)
        return running, report

    def end_leases(self, deliveries: Sequence[Delivery], now: int) -> None:
        """The deadlines of `deliveries` have passed (DLV-06)."""
        self._failures.fail(deliveries, Reason.DEADLINE, now)

    def end_backoff(self, deliveries: Sequence[Delivery]) -> None:
        """The backoffs of `deliveries` are over (RTY-02)."""
        self._failures.end_backoff(deliveries)

    def release(self, ack_ids: Sequence[str]) -> None:
        """Take back leases that never reached anybody; see `Failures.release`."""
        if not self.is_closed:
            self._failures.release(ack_ids)

    # --- retention ---

    @property
    def oldest_us(self) -> int | None:
        """No unacked message was published before this; None without any (or a guess too early)."""
        oldest_us = self._expiry.oldest_us
        if self.feed is not None:
            oldest_us = min(oldest_us, self.feed.oldest_us)
        return None if oldest_us == NO_TIME_US else oldest_us

    def expire(self, cutoff_us: int) -> int:
        """Drop what was published at `cutoff_us` or before; return how many messages (DLV-41).

        A live lease does not protect them.
        """
        while self.feed is not None and self.feed.oldest_us <= cutoff_us:
            self.feed_some(FEED_BUDGET)
        count, positions = self._expiry.expire(cutoff_us)
        shared = self._shared
        if shared.recording.is_on:
            shared.recording.add(
                Expired(shared.subscription, cutoff_us, tuple(positions), self.log_position)
            )
        return count

    # --- replay ---

    @property
    def log_position(self) -> int:
        """From here on the log has what was not leased yet."""
        positions = [self.queue.source.log_position]
        if self.feed is not None and self.feed.log_position is not None:
            positions.append(self.feed.log_position)
        return min(positions)

    def unacked(self) -> tuple[Iterator[Message], int]:
        """The messages not acked that the log does not have at `log_position` or later.

        Those of a key come in their order. With them comes at most how many they are.
        """
        in_log = self.queue.source.end - self.log_position
        return self._unacked(), self.undelivered - in_log

    def _unacked(self) -> Iterator[Message]:
        if self.lanes is not None:
            yield from self.lanes.unacked()
        for delivery in self._expiry.unsettled():
            if delivery.lane is None:
                yield delivery.message
        yield from self.queue.source.queued()
        if self.feed is not None:
            yield from self.feed.rest()

    # --- the end ---

    def close(self) -> None:
        """Drop everything. What is left in memory goes by `reclaim`, in slices."""
        self.is_closed = True
        self.queue.source.close()
        if self.feed is not None:
            self.feed.close()

    def reclaim(self, budget: int) -> int:
        """Do up to `budget` messages' worth of what can wait; return how much."""
        if not self.is_closed:
            return self.feed_some(budget)
        return 0 if self.is_replaced else self.free(budget)

    def free(self, budget: int) -> int:
        """Free up to `budget` messages of a closed backlog; return how many."""
        freed = self.free_own(budget)
        if freed < budget and self.feed is not None:
            freed += self.feed.free_formers(budget - freed)
        return freed

    def free_own(self, budget: int) -> int:
        """As `free`, without what a seek's feed has still to free."""
        freed = self.leases.free(budget)
        freed += self.queue.free(budget - freed)
        freed += self.queue.source.reclaim(budget - freed)
        if self.lanes is not None:
            freed += self.lanes.free(budget - freed)
        return freed

    def __repr__(self) -> str:
        return f"<Backlog {self.available} available, {self.leased} leased>"
