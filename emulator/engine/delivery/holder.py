"""Who holds leases over a stretch of time, and how many it may hold at once (STR-07).

The window is counted here and not where the stream is served, because leases end by any route: an
acknowledgement over another connection, a deadline, a deletion.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol

_UNLIMITED = sys.maxsize
_SLACK = 64


class Sent(Protocol):
    """Leases that were made together for a holder; see `delivery.DeadlineBatch`."""

    live: int
    sent_us: int | None
    deliveries: Sequence[Any]

    def is_untouched(self, delivery: Any) -> bool: ...


class Holder:
    """One that a subscription delivers to: a stream, a push sender. A limit of 0 or less is none.

    Without `ack_deadline_us` it has the subscription's own. One that `is_passing` is a unary
    pull's: its leases fill no window, and it keeps no ordering key.

    It `is_open` until its client half-closes or the stream is over, and `is_blocked` when messages
    were there and the window had no room for the next one. `sent` has what was leased to it, what
    is settled left out now and then. `has_half_closed`, `has_nacked` and `sends_receipts` say what
    its client did (see `unanswered`).
    """

    __slots__ = (
        "_tidy_at",
        "ack_deadline_us",
        "has_half_closed",
        "has_nacked",
        "held_bytes",
        "held_messages",
        "id",
        "is_blocked",
        "is_open",
        "is_passing",
        "max_bytes",
        "max_messages",
        "sends_receipts",
        "sent",
        "subscription",
    )

    def __init__(
        self,
        id: int,
        subscription: str,
        ack_deadline_us: int | None,
        max_messages: int,
        max_bytes: int,
        *,
        is_passing: bool = False,
    ) -> None:
        self.id = id
        self.subscription = subscription
        self.ack_deadline_us = ack_deadline_us
        self.max_messages = max_messages if max_messages > 0 else _UNLIMITED
        self.max_bytes = max_bytes if max_bytes > 0 else _UNLIMITED
        self.held_messages = 0
        self.held_bytes = 0
        self.is_blocked = False
        self.is_open = True
        self.is_passing = is_passing
        self.has_half_closed = False
        self.has_nacked = False
        self.sends_receipts = False
        self.sent: list[Sent] = []
        self._tidy_at = _SLACK

    def note_sent(self, batch: Sent, now: int) -> None:
        """These leases are on their way to it."""
        batch.sent_us = now
        self.sent.append(batch)
        if len(self.sent) > self._tidy_at:
            self.sent = [batch for batch in self.sent if batch.live]
            self._tidy_at = 2 * len(self.sent) + _SLACK

    @property
    def room_messages(self) -> int:
        return max(self.max_messages - self.held_messages, 0)

    @property
    def room_bytes(self) -> int:
        return max(self.max_bytes - self.held_bytes, 0)

    def __repr__(self) -> str:
        return f"<Holder of {self.held_messages} messages, {self.held_bytes} bytes>"
