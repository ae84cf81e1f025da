"""StreamingPull: what its requests say, and what its window has room for (STR-01..07)."""

from __future__ import annotations

from collections import defaultdict

from emulator.api import pubsub
from emulator.engine.delivery.backlog import Backlog
from emulator.engine.delivery.delivery import Delivery
from emulator.engine.delivery.exactly_once import AckReport
from emulator.engine.delivery.holder import Holder
from emulator.engine.delivery.outcome import Outcome
from emulator.engine.operations import streaming
from emulator.engine.resources.world import World
from emulator.engine.values import limits
from emulator.engine.values.durations import SECOND_US

Confirmation = pubsub.StreamingPullResponse


class Streams:
    def __init__(self, world: World) -> None:
        self._world = world

    def open(self, request: pubsub.StreamingPullRequest, *, now: int) -> Outcome[Holder]:
        """Begin a stream with its first request; return its holder (STR-01, STR-03)."""
        streaming.check_first(request)
        found = self._world.subscription(request.subscription)
        found.check_consumable()
        holder = Holder(
            request.subscription,
            request.stream_ack_deadline_seconds * SECOND_US,
            request.max_outstanding_messages,
            request.max_outstanding_bytes,
        )
        found.holders[holder] = None
        found.last_active_us = now
        return Outcome(holder)

    def close(self, holder: Holder) -> Outcome[None]:
        """A stream is over; its leases run on and fill no window (STR-05)."""
        holder.is_open = False
        found = self._world.subscriptions.get(holder.subscription)
        if found is None:
            return Outcome(None)
        found.holders.pop(holder, None)
        # Keys that were kept for it are anybody's now.
        return Outcome(None, (found.backlog.wake,))

    def receive(
        self, holder: Holder, request: pubsub.StreamingPullRequest, *, now: int, is_first: bool
    ) -> Outcome[Confirmation | None]:
        """Take what a request of a stream asks for: acks, deadlines, or nothing (STR-02, STR-04).

        Returns what is to be confirmed, with exactly-once delivery (EOD-07).
        """
        if not is_first:
            streaming.check_later(request)
        streaming.check_leases(request)
        found = self._world.subscription(holder.subscription)
        found.last_active_us = now
        backlog = found.backlog
        backlog.check_ack_ids(request.ack_ids)
        backlog.check_ack_ids(request.modify_deadline_ack_ids)
        if request.stream_ack_deadline_seconds:
            holder.ack_deadline_us = request.stream_ack_deadline_seconds * SECOND_US
        confirmation = Confirmation()
        if request.ack_ids:
            _confirm_acks(confirmation, backlog.acknowledge(request.ack_ids))
        if request.modify_deadline_ack_ids:
            _modify(backlog, request, now, confirmation)
        is_empty = not confirmation.ByteSize()
        return Outcome(None if is_empty else confirmation, backlog.take_effects())

    def lease(self, holder: Holder, limit: int, *, now: int) -> Outcome[list[Delivery]]:
        """Lease to a stream what its window has room for, `limit` messages at most (STR-07)."""
        found = self._world.subscription(holder.subscription)
        deliveries = found.backlog.lease(
            min(limit, limits.PULL_MESSAGES),
            limits.RESPONSE_BYTES,
            now + holder.ack_deadline_us,
            holder,
            now=now,
        )
        if deliveries:
            found.last_active_us = now  # SUB-22: a consumer that receives
        return Outcome(deliveries)

    def properties(self, subscription: str) -> pubsub.StreamingPullResponse.SubscriptionProperties:
        """What every response of a stream says about its subscription (STR-06)."""
        resource = self._world.subscription(subscription).resource
        return pubsub.StreamingPullResponse.SubscriptionProperties(
            exactly_once_delivery_enabled=resource.enable_exactly_once_delivery,
            message_ordering_enabled=resource.enable_message_ordering,
        )


def _modify(
    backlog: Backlog,
    request: pubsub.StreamingPullRequest,
    now: int,
    confirmation: Confirmation,
) -> None:
    by_deadline: defaultdict[int, list[str]] = defaultdict(list)
    for ack_id, seconds in zip(
        request.modify_deadline_ack_ids, request.modify_deadline_seconds, strict=True
    ):
        by_deadline[seconds].append(ack_id)
    for seconds, ack_ids in by_deadline.items():
        _confirm_deadlines(confirmation, backlog.set_deadline(ack_ids, seconds, now))


def _confirm_acks(confirmation: Confirmation, report: AckReport | None) -> None:
    if report is not None:
        confirmed = confirmation.acknowledge_confirmation
        confirmed.ack_ids.extend(report.succeeded)
        confirmed.invalid_ack_ids.extend(report.invalid)
        confirmed.unordered_ack_ids.extend(report.unordered)


def _confirm_deadlines(confirmation: Confirmation, report: AckReport | None) -> None:
    if report is not None:
        confirmed = confirmation.modify_ack_deadline_confirmation
        confirmed.ack_ids.extend(report.succeeded)
        confirmed.invalid_ack_ids.extend(report.invalid)
