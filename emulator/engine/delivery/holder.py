"""Who holds leases over a stretch of time, and how many it may hold at once (STR-07).

The window is counted here and not where the stream is served, because leases end by any route: an
acknowledgement over another connection, a deadline, a deletion.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emulator.engine.delivery.ordering import Lane

_UNLIMITED = sys.maxsize


class Holder:
    """One that a subscription delivers to: a stream, a push sender. A limit of 0 or less is none.

    Without `ack_deadline_us` it has the subscription's own. One that `is_passing` is a unary
    pull's: its leases fill no window, and it keeps no ordering key.

    `lanes` are the ordered keys of which it has messages and may have more (ORD-05).
    It `is_open` until the stream is over, and `is_blocked` when messages were there and the window
    had no room for the next one.
    """

    __slots__ = (
        "ack_deadline_us",
        "held_bytes",
        "held_messages",
        "id",
        "is_blocked",
        "is_open",
        "is_passing",
        "lanes",
        "max_bytes",
        "max_messages",
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
        self.lanes: dict[Lane, None] = {}

    @property
    def room_messages(self) -> int:
        return max(self.max_messages - self.held_messages, 0)

    @property
    def room_bytes(self) -> int:
        return max(self.max_bytes - self.held_bytes, 0)

    def __repr__(self) -> str:
        return f"<Holder of {self.held_messages} messages, {self.held_bytes} bytes>"
