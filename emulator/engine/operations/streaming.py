"""What the requests of a StreamingPull must be (STR-01..04)."""

from __future__ import annotations

from emulator.api import pubsub
from emulator.engine.values import errors, limits

#: What only the first request may set (STR-02).
_FIRST_ONLY = (
    "subscription",
    "max_outstanding_messages",
    "max_outstanding_bytes",
    "protocol_version",
)


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
