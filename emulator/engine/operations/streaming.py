"""StreamingPull: what its requests must be, and what they ask for (STR-01..07)."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from emulator.api import pubsub
from emulator.engine.delivery.backlog import Backlog
from emulator.engine.delivery.events import HolderDeadline
from emulator.engine.delivery.exactly_once import AckReport
from emulator.engine.delivery.holder import Holder
from emulator.engine.delivery.outcome import Outcome
from emulator.engine.operations.holders import Holders, Properties, Window, properties_of
from emulator.engine.resources.world import World
from emulator.engine.values import errors, limits
from emulator.engine.values.durations import SECOND_US

Confirmation = pubsub.StreamingPullResponse

#: What only the first request may set (STR-02).
_FIRST_ONLY = (
    "subscription",
    "max_outstanding_messages",
    "max_outstanding_bytes",
    "protocol_version",
)


class Receipt(NamedTuple):
    """What a request of a stream came to: what is to be confirmed, if anything (EOD-07)."""

    confirmation: Confirmation | None
    properties: Properties


class Streaming:
    """StreamingPull's requests; their streams are holders."""

    def __init__(self, world: World, holders: Holders) -> None:
        self._world = world
        self._holders = holders

    def open(self, request: pubsub.StreamingPullRequest, *, now: int) -> Outcome[int]:
        """Begin a stream with its first request; return its holder's id (STR-01, STR-03)."""
        check_first(request)
        self._world.subscription(request.subscription).check_consumable()
        window = Window(
            request.max_outstanding_messages,
            request.max_outstanding_bytes,
            request.stream_ack_deadline_seconds * SECOND_US,
        )
        return self._holders.open(request.subscription, window, now=now)

    def receive(
        self, holder_id: int, request: pubsub.StreamingPullRequest, *, now: int, is_first: bool
    ) -> Outcome[Receipt]:
        """Take what a request of a stream asks for: acks, deadlines, or nothing (STR-02, 04)."""
        if not is_first:
            check_later(request)
        check_leases(request)
        holder = self._world.holder(holder_id)
        found = self._world.subscription(holder.subscription)
        found.use(now)
        backlog = found.backlog
        backlog.check_ack_ids(request.ack_ids)
        backlog.check_ack_ids(request.modify_deadline_ack_ids)
        if request.stream_ack_deadline_seconds:
            self._set_deadline(holder, request.stream_ack_deadline_seconds * SECOND_US)
        confirmation = Confirmation()
        if request.ack_ids:
            _confirm_acks(confirmation, backlog.acknowledge(request.ack_ids))
        if request.modify_deadline_ack_ids:
            _modify(backlog, request, now, confirmation)
        is_empty = not confirmation.ByteSize()
        receipt = Receipt(None if is_empty else confirmation, properties_of(found))
        return self._world.outcome(receipt, backlog.take_effects())

    def _set_deadline(self, holder: Holder, ack_deadline_us: int) -> None:
        holder.ack_deadline_us = ack_deadline_us
        if self._world.recording.is_on:
            self._world.recording.add(HolderDeadline(holder.id, ack_deadline_us))


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


def check_first(request: pubsub.StreamingPullRequest) -> None:
    """Raise INVALID_ARGUMENT for a first request that opens no stream (STR-03)."""
    if not request.subscription:
        raise errors.invalid_argument("subscription must be set in the first request of a stream")
    _check_deadline(request.stream_ack_deadline_seconds)


def check_later(request: pubsub.StreamingPullRequest) -> None:
    """Raise INVALID_ARGUMENT for what a later request may not say (STR-02)."""
    for field in _FIRST_ONLY:
        if getattr(request, field):
            raise errors.invalid_argument(
                f"{field} may only be set in the first request of a stream"
            )
    if request.stream_ack_deadline_seconds:
        _check_deadline(request.stream_ack_deadline_seconds)


def check_leases(request: pubsub.StreamingPullRequest) -> None:
    """Raise INVALID_ARGUMENT for deadlines that do not fit their ids, or no lease (STR-04)."""
    seconds = request.modify_deadline_seconds
    if len(seconds) != len(request.modify_deadline_ack_ids):
        raise errors.unequal_modify_lists()
    for value in seconds:
        if not 0 <= value <= limits.ACK_DEADLINE_MAX_S:
            raise errors.bad_ack_deadline(value, 0, limits.ACK_DEADLINE_MAX_S)


def _check_deadline(seconds: int) -> None:
    low, high = limits.ACK_DEADLINE_MIN_S, limits.ACK_DEADLINE_MAX_S
    if not low <= seconds <= high:
        raise errors.bad_ack_deadline(seconds, low, high)
