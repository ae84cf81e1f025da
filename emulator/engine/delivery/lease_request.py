"""One attempt to lease: how much it may take, and what it has taken."""

from __future__ import annotations

from emulator.engine.delivery.delivery import Delivery
from emulator.engine.delivery.holder import Holder
from emulator.engine.log.message_log import Message


class LeaseRequest:
    """`limit` messages and `bytes_left` bytes, fewer where a holder's window has no room for them.

    The first message may be larger than that for whoever holds nothing yet (STR-07).
    """

    __slots__ = ("bytes_left", "holder", "is_strict", "is_too_large", "limit", "taken")

    def __init__(self, limit: int, limit_bytes: int, holder: Holder | None) -> None:
        self.holder = holder
        self.limit = limit
        self.bytes_left = limit_bytes
        self.taken: list[Delivery] = []
        self.is_strict = False
        self.is_too_large = False
        if holder is not None:
            self.limit = min(limit, holder.room_messages)
            self.bytes_left = min(limit_bytes, holder.room_bytes)
            self.is_strict = holder.held_messages > 0 and holder.room_bytes < limit_bytes

    @property
    def is_full(self) -> bool:
        """Whether no more will be taken."""
        return self.is_too_large or len(self.taken) >= self.limit

    def fits(self, message: Message) -> bool:
        """Account for `message` if there is room for it; return whether there was."""
        left = self.bytes_left - len(message.encoded)
        if left < 0 and (self.taken or self.is_strict):
            self.is_too_large = True
            return False
        self.bytes_left = left
        return True

    def __repr__(self) -> str:
        return f"<LeaseRequest {len(self.taken)} of {self.limit}, {self.bytes_left} bytes left>"
