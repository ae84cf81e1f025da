"""What one subscription still has to deliver, and the leases on what it has delivered.

A message is in one place: beyond the reader's position in the log (AVAILABLE, never leased), in
`_deliveries` under its newest ack id (LEASED, or AVAILABLE again until the next lease), or
nowhere (ACKED, DROPPED). Deliveries that wait to go out again also stand in `_requeued`, behind
the messages that were waiting when their lease ended (DLV-08).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from emulator.engine import errors
from emulator.engine.ack_ids import AckIdMint
from emulator.engine.delivery import ACKED, AVAILABLE, DROPPED, LEASED, Delivery
from emulator.engine.holder import Holder
from emulator.engine.lease_heap import LeaseHeap
from emulator.engine.message_log import MessageLog
from emulator.engine.outcome import Available, Effect, Room

_SLACK = 64


class Backlog:
    """`wake` is the effect to report when messages become available here."""

    def __init__(
        self, log: MessageLog, mint: AckIdMint, leases: LeaseHeap, wake: Available
    ) -> None:
        self.log = log
        self.wake = wake
        self._mint = mint
        self._leases = leases
        self._reader = log.attach()  # SUB-15: only what is published from now on
        self._deliveries: dict[str, Delivery] = {}
        self._requeued: deque[Delivery] = deque()
        self._requeued_live = 0
        self._leased = 0
        self._effects: list[Effect] = []
        self.is_closed = False

    # --- what there is ---

    @property
    def leased(self) -> int:
        """Messages that are out with somebody."""
        return self._leased

    @property
    def available(self) -> int:
        """Messages that could be leased now."""
        return self.log.end - self._reader.position + self._requeued_live

    @property
    def undelivered(self) -> int:
        """Messages not acked, those out with somebody included (MET-01)."""
        return self.available + self._leased

    # --- leases ---

    def lease(
        self, limit: int, limit_bytes: int, deadline_us: int, holder: Holder | None = None
    ) -> list[Delivery]:
        """Lease up to `limit` messages of `limit_bytes` in all until `deadline_us`.

        A `holder` gets no more than its window has room for. One message is leased whatever its
        size to whoever holds nothing yet, so that none can block the subscription (STR-07).
        """
        is_strict = False
        if holder is not None:
            limit = min(limit, holder.room_messages)
            is_strict = holder.held_messages > 0 and holder.room_bytes < limit_bytes
            limit_bytes = min(limit_bytes, holder.room_bytes)
        taken = self._take(limit, limit_bytes, is_strict)
        if holder is not None:
            self._enter_window(holder, taken)
        self._start_leases(taken, deadline_us)
        return taken

    def _start_leases(self, taken: list[Delivery], deadline_us: int) -> None:
        issue, deliveries = self._mint.issue, self._deliveries
        for delivery in taken:
            if delivery.ack_id:
                del deliveries[delivery.ack_id]
            delivery.state = LEASED
            delivery.attempt += 1
            delivery.ack_id = ack_id = issue()
            deliveries[ack_id] = delivery
        self._leased += len(taken)
        self._leases.arm(self, tuple(taken), deadline_us)

    def _enter_window(self, holder: Holder, taken: list[Delivery]) -> None:
        for delivery in taken:
            delivery.holder = holder
            holder.held_bytes += len(delivery.message.encoded)
        holder.held_messages += len(taken)
        holder.is_blocked = not taken and self.available > 0

    def _leave_window(self, delivery: Delivery) -> None:
        holder = delivery.holder
        assert holder is not None
        delivery.holder = None
        holder.held_messages -= 1
        holder.held_bytes -= len(delivery.message.encoded)
        if holder.is_blocked:
            holder.is_blocked = False
            self._effects.append(Room(holder))

    def _take(self, limit: int, limit_bytes: int, is_strict: bool) -> list[Delivery]:
        """Take deliveries out of what is available; the first one may be too large if it may."""
        taken: list[Delivery] = []
        while len(taken) < limit:
            count = len(taken)
            limit_bytes = self._take_requeued(taken, limit, limit_bytes, is_strict)
            limit_bytes = self._take_fresh(taken, limit, limit_bytes, is_strict)
            if len(taken) == count:
                break
        return taken

    def _take_requeued(
        self, taken: list[Delivery], limit: int, limit_bytes: int, is_strict: bool
    ) -> int:
        """Move deliveries whose turn it is from `_requeued` to `taken`; return the bytes left."""
        requeued = self._requeued
        while requeued and requeued[0].behind <= self._reader.position and len(taken) < limit:
            delivery = requeued[0]
            if delivery.state is AVAILABLE:
                left = limit_bytes - len(delivery.message.encoded)
                if left < 0 and (taken or is_strict):
                    return 0
                limit_bytes = left
                self._requeued_live -= 1
                taken.append(delivery)
            requeued.popleft()
        return limit_bytes

    def _take_fresh(
        self, taken: list[Delivery], limit: int, limit_bytes: int, is_strict: bool
    ) -> int:
        """Add deliveries of messages never leased to `taken`; return the bytes left."""
        start = self._reader.position
        stop = min(start + limit - len(taken), self.log.end)
        if self._requeued:
            # Whoever waits to go out again waits behind the messages before `behind` only.
            stop = min(stop, max(self._requeued[0].behind, start))
        if start == stop:
            return limit_bytes
        for message in self.log.between(start, stop):
            left = limit_bytes - len(message.encoded)
            if left < 0 and (taken or is_strict):
                stop, limit_bytes = message.position, 0
                break
            limit_bytes = left
            taken.append(Delivery(message))
        self.log.advance(self._reader, stop)
        return limit_bytes

    def acknowledge(self, ack_ids: Iterable[str]) -> None:
        """Settle the deliveries that `ack_ids` name; stale ids change nothing (DLV-23, DLV-24)."""
        pop = self._deliveries.pop
        disarm = self._leases.disarm
        for ack_id in ack_ids:
            delivery = pop(ack_id, None)
            if delivery is None:
                continue
            if delivery.state is LEASED:
                disarm(delivery)
                self._leased -= 1
                if delivery.holder is not None:
                    self._leave_window(delivery)
            else:
                self._forget_requeued()
            delivery.move_to(ACKED)

    def modify(self, ack_ids: Iterable[str], deadline_us: int) -> None:
        """Let the running leases that `ack_ids` name end at `deadline_us` (DLV-21).

        A lease that has ended is not taken up again: its message waits for the next one (DLV-23).
        """
        self._leases.rearm(self, self._running(ack_ids), deadline_us)

    def nack(self, ack_ids: Iterable[str]) -> None:
        """End the running leases that `ack_ids` name (DLV-03)."""
        running = self._running(ack_ids)
        for delivery in running:
            self._leases.disarm(delivery)
        self.requeue(running)

    def requeue(self, deliveries: Sequence[Delivery]) -> None:
        """Make deliveries whose leases ended, disarmed already, available again behind the rest."""
        end = self.log.end
        for delivery in deliveries:
            delivery.behind = end
        self._requeued.extend(deliveries)
        self._became_available(deliveries)

    def _became_available(self, deliveries: Sequence[Delivery]) -> None:
        for delivery in deliveries:
            delivery.move_to(AVAILABLE)
            if delivery.holder is not None:
                self._leave_window(delivery)
        self._requeued_live += len(deliveries)
        self._leased -= len(deliveries)
        if deliveries:
            self._effects.append(self.wake)

    def release(self, leases: Sequence[tuple[Delivery, str]]) -> None:
        """Take back leases, given with their ack ids, that never reached anybody.

        It is as if they had not been made: no attempt is counted, and the messages are the next
        to go. Leases that ended meanwhile are left alone (PUL-06).
        """
        returned = [
            delivery
            for delivery, ack_id in leases
            if delivery.state is LEASED and delivery.ack_id == ack_id
        ]
        for delivery in reversed(returned):
            self._leases.disarm(delivery)
            del self._deliveries[delivery.ack_id]
            delivery.attempt -= 1
            delivery.ack_id = ""
            delivery.behind = 0
            self._requeued.appendleft(delivery)
        self._became_available(returned)

    def take_effects(self) -> tuple[Effect, ...]:
        """What the operations since the last call brought about."""
        if not self._effects:
            return ()
        effects, self._effects = tuple(dict.fromkeys(self._effects)), []
        return effects

    def check_ack_ids(self, ack_ids: Iterable[str]) -> None:
        """Raise ERR-12 if any id was never issued for this subscription (DLV-25, DLV-28)."""
        for ack_id in ack_ids:
            if ack_id not in self._deliveries and not self._mint.recognises(ack_id):
                raise errors.bad_ack_id(ack_id)

    def _running(self, ack_ids: Iterable[str]) -> list[Delivery]:
        get = self._deliveries.get
        # A dict, because the same id may come twice in one request.
        found = {ack_id: get(ack_id) for ack_id in ack_ids}
        return [d for d in found.values() if d is not None and d.state is LEASED]

    def _forget_requeued(self) -> None:
        """A requeued delivery was settled; it is passed over when its turn comes."""
        self._requeued_live -= 1
        if len(self._requeued) > 2 * self._requeued_live + _SLACK:
            self._requeued = deque(d for d in self._requeued if d.state is not ACKED)

    # --- the end ---

    def close(self) -> None:
        """Drop everything. What is left in memory goes by `reclaim`, in slices."""
        self.is_closed = True
        self.log.detach(self._reader)

    def reclaim(self, budget: int) -> int:
        """Free up to `budget` deliveries of a closed backlog; return how many."""
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
        return freed

    def _drop(self, delivery: Delivery) -> None:
        if delivery.batch is not None:
            self._leases.disarm(delivery)
        delivery.move_to(DROPPED)

    def __repr__(self) -> str:
        return f"<Backlog {self.available} available, {self._leased} leased>"
