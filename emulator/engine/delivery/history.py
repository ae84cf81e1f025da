"""What one subscription retains of what was acked in it (SEK-11)."""

from __future__ import annotations

from emulator.engine.delivery.ages import Ages
from emulator.engine.log.message_log import Message, MessageLog


class History:
    """The acked messages that one subscription retains (SEK-11).

    What was published since it began, or brought back from before by a snapshot, stays in the log;
    `older` are messages from before that, acked since, by their positions.
    """

    def __init__(self, log: MessageLog, position: int) -> None:
        self._log = log
        self._reader = log.attach(position)
        self._start = position
        self.older: dict[int, Message] = {}
        self._ages: Ages[int] = Ages(())

    @property
    def position(self) -> int:
        """From here on everything can come back."""
        return self._reader.position

    def acked(self, message: Message) -> None:
        """Take note that `message` was acked."""
        if message.position < self._start:
            self.older[message.position] = message
            self._ages.add(message.publish_time_us, message.position)

    def unacked(self, message: Message) -> None:
        """Take note that `message` is acked no longer."""
        self.older.pop(message.position, None)

    def reach_back(self, position: int) -> None:
        """Retain also what was published from `position` on: none of it is acked now."""
        if position >= self._reader.position:
            return
        former, self._reader = self._reader, self._log.attach(position)
        self._log.detach(former)
        self._start = min(self._start, position)
        self.older = {each: message for each, message in self.older.items() if each < position}

    def take_older(self) -> dict[int, Message]:
        """Let go of the older messages, and return them."""
        older, self.older, self._ages = self.older, {}, Ages(())
        return older

    @property
    def oldest_us(self) -> int | None:
        """Nothing retained was published before this; None without anything."""
        times = (self._ages.oldest_us, self._log.time_at(self._reader.position))
        return min((time_us for time_us in times if time_us is not None), default=None)

    def expire(self, cutoff_us: int) -> None:
        """Let go of what was published at `cutoff_us` or before."""
        position = self._log.position_at(cutoff_us + 1)
        if position > self._reader.position:
            self._log.advance(self._reader, position)
        for older in self._ages.until(cutoff_us):
            self.older.pop(older, None)

    def close(self) -> None:
        """Keep nothing any more."""
        self._log.detach(self._reader)
