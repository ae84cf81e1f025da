"""Leases that end without an acknowledgement, and what becomes of their messages (RTY-*, DLQ-*)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from emulator.engine.delivery.dead_letter import Forwarder
from emulator.engine.delivery.delivery import (
    AVAILABLE,
    DEAD_LETTERED,
    DELAYED,
    LEASED,
    Delivery,
)
from emulator.engine.delivery.events import BackoffOver, Counted, DeadLettered, Reason, Returned
from emulator.engine.delivery.lanes import Lanes, position_of
from emulator.engine.delivery.leases import Lease, Leases
from emulator.engine.delivery.outcome import Forward
from emulator.engine.delivery.queue import UnkeyedQueue
from emulator.engine.delivery.shared import Shared


class Failures:
    """Counts the failures of one backlog's deliveries, and gives their messages back.

    `forwarder` says where those go whose attempts are used up.
    """

    __slots__ = (
        "_lanes",
        "_leases",
        "_queue",
        "_shared",
        "forwarder",
    )

    def __init__(
        self, shared: Shared, queue: UnkeyedQueue, leases: Leases, lanes: Lanes | None
    ) -> None:
        self.forwarder: Forwarder | None = None
        self._shared = shared
        self._queue = queue
        self._leases = leases
        self._lanes = lanes

    def fail(self, deliveries: Sequence[Delivery], reason: Reason, now: int) -> None:
        """The leases of `deliveries` end as failures: each is counted (DLV-03, DLV-06)."""
        unkeyed: defaultdict[int | None, list[Delivery]] = defaultdict(list)  # by end of backoff
        keyed: list[Delivery] = []
        if holders := frozenset(d.holder.id for d in deliveries if d.holder is not None):
            # First of all effects: they may be leaving, and others are served before them.
            self._shared.effects.append(self._shared.wake._replace(last=holders))
        is_nack = reason is Reason.NACK
        for delivery in deliveries:
            self._count(delivery)
            delivery.nacked_by = delivery.holder if is_nack else None
            if delivery.holder is not None:
                delivery.holder.has_nacked |= is_nack
            forward = self._forward(delivery)
            if forward is not None:
                self._dead_letter(delivery, forward)
            elif delivery.lane is not None:
                self._leases.end((delivery,), AVAILABLE)
                keyed.append(delivery)
            else:
                until_us = self._backoff_until(delivery, now)
                self._leases.end((delivery,), AVAILABLE if until_us is None else DELAYED)
                unkeyed[until_us].append(delivery)
        if self._shared.recording.is_on:
            self._record_counts(deliveries)
        for until_us, group in unkeyed.items():
            self._give_back(group, reason, until_us)
        if keyed and self._lanes is not None:
            self._lanes.give_back(keyed, reason, now)

    # --- attempts ---

    def _count(self, delivery: Delivery) -> None:
        policy = self._shared.rules.policy
        if not delivery.failures:
            delivery.policy, delivery.first_counted = policy, 0
        elif delivery.policy != policy:
            delivery.policy, delivery.first_counted = policy, delivery.failures
        delivery.failures += 1

    def counted(self, delivery: Delivery) -> int:
        """How many failures count for the dead-letter policy."""
        if not delivery.failures or delivery.policy != self._shared.rules.policy:
            return 0  # DLQ-11: failures from before the policy do not count
        return delivery.failures - delivery.first_counted

    def leases_of(self, taken: Sequence[Delivery]) -> list[Lease]:
        """New leases, as they leave the engine."""
        new = tuple.__new__  # what a NamedTuple does, without its detour; this is the hot path
        if not self._shared.rules.max_attempts:
            return [new(Lease, (d.ack_id, d.message, d.failures + 1)) for d in taken]
        return [Lease(d.ack_id, d.message, self.counted(d) + 1) for d in taken]

    # --- dead letters ---

    def _forward(self, delivery: Delivery) -> Forward | None:
        """Where a message goes whose attempts are used up; None if it stays (DLQ-02)."""
        limit = self._shared.rules.max_attempts
        if not limit or self.forwarder is None:
            return None
        attempts = self.counted(delivery)
        if attempts < limit:
            return None
        return self.forwarder.forward(delivery.message, attempts)

    def _dead_letter(self, delivery: Delivery, forward: Forward) -> None:
        shared, ack_id = self._shared, delivery.ack_id
        self._leases.end((delivery,), DEAD_LETTERED)
        shared.effects.append(forward)
        self._leases.forget(delivery)
        if shared.recording.is_on:
            position = delivery.message.position
            shared.recording.add(
                DeadLettered(
                    shared.subscription, ack_id, position, forward.message_id, forward.topic
                )
            )
        if delivery.lane is not None and self._lanes is not None:
            self._lanes.drop_leased(delivery.lane)  # ORD-08: the key goes on

    # --- back into the queue ---

    def _backoff_until(self, delivery: Delivery, now: int) -> int | None:
        """When the backoff of a failed delivery ends; None for at once (RTY-01, RTY-02)."""
        backoff = self._shared.rules.backoff
        delay_us = backoff.delay_us(delivery.failures) if backoff is not None else 0
        return now + delay_us if delay_us > 0 else None

    def _give_back(self, group: Sequence[Delivery], reason: Reason, until_us: int | None) -> None:
        """Let failed deliveries without a lane wait again, `until_us` for their backoff first."""
        requeued_at = 0
        if until_us is None:
            requeued_at = self._requeue(group)
        else:
            self._queue.delayed += len(group)
            self._leases.start_backoff(group, until_us)
        if self._shared.recording.is_on:
            self._record(group, reason, requeued_at, until_us)

    def _requeue(self, deliveries: Sequence[Delivery]) -> int:
        self._shared.effects.append(self._shared.wake)
        return self._queue.requeue(deliveries)

    def end_backoff(self, deliveries: Sequence[Delivery]) -> None:
        """The backoffs of `deliveries` are over: they wait behind what is available (DLV-08)."""
        requeued_at = self._queue.source.end
        unkeyed = [delivery for delivery in deliveries if delivery.lane is None]
        if unkeyed:
            self._queue.delayed -= len(unkeyed)
            self._leases.end_backoff(unkeyed, AVAILABLE)
            self._requeue(unkeyed)
        for delivery in deliveries:
            if delivery.lane is not None and self._lanes is not None:
                self._lanes.end_backoff(delivery.lane)
        if self._shared.recording.is_on:
            positions = tuple(map(position_of, deliveries))
            self._shared.recording.add(
                BackoffOver(self._shared.subscription, positions, requeued_at)
            )

    # --- leases that reached nobody ---

    def release(self, ack_ids: Sequence[str]) -> None:
        """Take back leases that never reached anybody.

        It is as if they had not been made: no failure is counted, and the messages are the next
        to go. Leases that ended meanwhile are left alone (PUL-06).
        """
        found = self._leases.find(ack_ids).values()
        returned = [d for d in found if d is not None and d.state is LEASED]
        if not returned:
            return
        unkeyed = [delivery for delivery in returned if delivery.lane is None]
        if unkeyed and self._shared.recording.is_on:
            self._record(unkeyed, Reason.RELEASED, 0, None)
        for delivery in reversed(unkeyed):
            self._leases.cancel(delivery)
        self._queue.put_first(unkeyed)
        if self._lanes is not None:
            self._lanes.release(returned)
        self._shared.effects.append(self._shared.wake)

    # --- what happened ---

    def _record_counts(self, deliveries: Sequence[Delivery]) -> None:
        shared = self._shared
        shared.recording.add(
            Counted(
                shared.subscription,
                tuple(map(position_of, deliveries)),
                tuple(delivery.failures for delivery in deliveries),
                tuple(delivery.first_counted for delivery in deliveries),
                shared.rules.policy,
            )
        )

    def _record(
        self, group: Sequence[Delivery], reason: Reason, requeued_at: int, until_us: int | None
    ) -> None:
        shared = self._shared
        ack_ids = tuple(delivery.ack_id for delivery in group)
        positions = tuple(map(position_of, group))
        shared.recording.add(
            Returned(shared.subscription, reason, ack_ids, positions, requeued_at, until_us)
        )
