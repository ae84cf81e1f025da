"""The message log of one topic: what was published, in order, shared by all who read it.

A *reader* stands for somebody who needs every message from a position on: a subscription that has
not come to them yet; later, a retention window or a snapshot. The log keeps the range from the
slowest reader to its end. Whoever needs a single message below that range (a delivery that is out
or waits to go out again) holds a reference to it, so a message's memory goes exactly when the
last of them lets go. Moving a reader any distance costs nothing; the entries it uncovers are
freed in slices by `reclaim`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


class Message:
    """One published message; immutable once made.

    `encoded` is the finished `google.pubsub.v1.PubsubMessage`, id and publish time included.
    """

    __slots__ = ("encoded", "ordering_key", "position", "publish_time_us")

    def __init__(
        self, position: int, publish_time_us: int, ordering_key: str, encoded: bytes
    ) -> None:
        self.position = position
        self.publish_time_us = publish_time_us
        self.ordering_key = ordering_key
        self.encoded = encoded

    def __repr__(self) -> str:
        return f"<Message at {self.position}, {len(self.encoded)} bytes>"


class Reader:
    """A position in a log; everything from there on is kept for it. Move it with
    `MessageLog.advance`."""

    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position

    def __repr__(self) -> str:
        return f"<Reader at {self.position}>"


class MessageLog:
    """Messages by position; positions count up from 0 and are never used again."""

    #: How many uncovered entries an append or an advance frees by itself: enough to keep up with
    #: readers who take a response at a time, little enough not to be felt.
    FREED_AT_ONCE = 2_048

    def __init__(self) -> None:
        self._entries: list[Message | None] = []
        self._base = 0  # position of _entries[0]
        self._freed = 0  # entries below this position are None
        self._floor = 0  # the lowest reader's position; `end` without readers
        self._at_floor = 0  # how many readers stand there
        self._readers: set[Reader] = set()

    @property
    def end(self) -> int:
        """The position that the next message will get."""
        return self._base + len(self._entries)

    @property
    def kept(self) -> int:
        """How many messages the log itself holds."""
        return self.end - self._freed

    @property
    def garbage(self) -> int:
        """How many entries nobody reads any more are still to be freed."""
        return self._floor - self._freed

    @property
    def floor(self) -> int:
        """The position of the oldest message that some reader needs."""
        return self._floor

    def time_at(self, position: int) -> int | None:
        """When the message at `position` was published; None at the end."""
        if position == self.end:
            return None
        [message] = self.between(position, position + 1)
        return message.publish_time_us

    def position_at(self, time_us: int) -> int:
        """The position of the first message kept that was published at `time_us` or later."""
        start = self._floor - self._base
        found = bisect_left(self._entries, time_us, lo=start, key=_publish_time_us)
        return found + self._base

    def append(self, messages: Sequence[Message]) -> None:
        """Add messages whose positions follow `end`."""
        self._entries.extend(messages)
        if not self._readers:
            self._floor = self.end
            self.reclaim(self.FREED_AT_ONCE)

    def between(self, start: int, stop: int) -> list[Message]:
        """The messages from `start` up to `stop`, all of which some reader covers."""
        assert self._floor <= start <= stop <= self.end
        return self._entries[start - self._base : stop - self._base]  # type: ignore[return-value]

    def attach(self, position: int | None = None) -> Reader:
        """Add a reader of everything from `position` on, which is kept, or from the end on."""
        reader = Reader(self.end if position is None else position)
        assert reader.position == self.end or reader.position >= self._floor
        if not self._readers or reader.position == self._floor:
            self._floor = reader.position
            self._at_floor += 1
        self._readers.add(reader)
        return reader

    def detach(self, reader: Reader) -> None:
        """Remove a reader; what only it needed is left to `reclaim`."""
        self._readers.remove(reader)
        if reader.position == self._floor:
            self._leave_floor()

    def advance(self, reader: Reader, position: int) -> None:
        """Move a reader forward: it needs nothing below `position` any more."""
        assert reader.position <= position <= self.end
        if position == reader.position:
            return
        was_lowest = reader.position == self._floor
        reader.position = position
        if was_lowest:
            self._leave_floor()
            self.reclaim(self.FREED_AT_ONCE)

    def _leave_floor(self) -> None:
        # Looking at all readers only when the last one leaves keeps ten thousand readers in step
        # cheap.
        self._at_floor -= 1
        if self._at_floor > 0:
            return
        positions = [reader.position for reader in self._readers]
        self._floor = min(positions, default=self.end)
        self._at_floor = positions.count(self._floor)

    def reclaim(self, budget: int) -> int:
        """Free up to `budget` entries that no reader needs; return how many."""
        count = min(self._floor - self._freed, budget)
        if count <= 0:
            return 0
        start = self._freed - self._base
        self._entries[start : start + count] = [None] * count
        self._freed += count
        dead = self._freed - self._base
        if dead * 2 >= len(self._entries):
            del self._entries[:dead]
            self._base = self._freed
        return count

    def __repr__(self) -> str:
        return f"<MessageLog {self._floor}..{self.end}, {len(self._readers)} readers>"


def _publish_time_us(entry: Message | None) -> int:
    assert entry is not None  # above the floor
    return entry.publish_time_us
