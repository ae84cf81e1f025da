"""What a seek brings back, in slices (SEK-01..09).

A seek gives its subscription a new backlog that is right from that moment on: its source starts at
the right position of the log. What else is to come - messages that were out, or waited to go out
again, and for a subscription that filters or orders all that lies in the log - comes through a
feed, a part at a time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Protocol

from emulator.api import pubsub
from emulator.engine.delivery.ages import NO_TIME_US
from emulator.engine.delivery.history import History
from emulator.engine.filters import Filter
from emulator.engine.log.message_log import Message, MessageLog, Reader


class Former(Protocol):
    """A backlog that a seek has replaced."""

    @property
    def feed(self) -> Feed | None:
        """What had been bringing it messages of an earlier seek."""
        ...

    def free_own(self, budget: int) -> int:
        """Free up to `budget` messages; return how many."""
        ...


class Receiver(Protocol):
    """The backlog that a feed brings messages to."""

    filter: Filter | None

    @property
    def history(self) -> History | None:
        """What it retains of acked messages, if it does."""
        ...

    def put(self, message: Message) -> None:
        """Take in one message that is not settled."""
        ...

    def note_acked(self, message: Message) -> None:
        """A message is acked by the seek, and retained."""
        ...


class Feed:
    """`carried` are messages of which `wants` chooses; those from `start` on are the log's to give.

    `count` is at most how many they are, `oldest_us` no later than any of them. `log` is given for
    a backlog that must be told of every message. `former` is the backlog that was there before; its
    memory is given back here.
    """

    def __init__(
        self,
        carried: Iterator[Message],
        count: int,
        wants: Callable[[Message], bool],
        *,
        start: int,
        oldest_us: int,
        log: MessageLog | None,
        former: Former,
    ) -> None:
        self._carried: Iterator[Message] | None = carried
        self._carried_left = count
        self._wants = wants
        self._start = start
        self._log = log
        self._reader: Reader | None = None if log is None else log.attach(start)
        self._oldest_us = oldest_us
        self.carried_seen = 0
        self.former: Former | None = former
        self.chained: int = 1 + (former.feed.chained if former.feed is not None else 0)

    @property
    def left(self) -> int:
        """At most how many messages are still to come."""
        left = self._carried_left
        if self._log is not None and self._reader is not None:
            left += self._log.end - self._reader.position
        return left

    @property
    def oldest_us(self) -> int:
        times = [self._oldest_us if self._carried_left else NO_TIME_US]
        if self._log is not None and self._reader is not None:
            first_us = self._log.time_at(self._reader.position)
            times += [] if first_us is None else [first_us]
        return min(times)

    @property
    def log_position(self) -> int | None:
        """From here on the log has what is still to come; None for nothing of it."""
        return None if self._reader is None else self._reader.position

    @property
    def reads_the_log(self) -> bool:
        """Whether it will come to what is published from now on."""
        return self._reader is not None

    @property
    def is_done(self) -> bool:
        return self._carried is None and self._reader is None and self.former is None

    def rest(self) -> Iterator[Message]:
        """What is still to come of the carried messages; this feed brings none of them any more."""
        carried = self._carried if self._carried is not None else iter(())
        return (m for m in carried if m.position < self._start and self._wants(m))

    def bring(self, receiver: Receiver, budget: int) -> int:
        """Look at up to `budget` messages; hand those that are wanted to `receiver`."""
        seen = self.bring_carried(receiver, budget)
        if self._carried is None and self._reader is not None and seen < budget:
            seen += self._bring_from_log(receiver, self._reader, budget - seen)
        if self._carried is None and self.former is not None and seen < budget:
            seen += self.free_formers(budget - seen)
        return seen

    def free_formers(self, budget: int) -> int:
        """Free up to `budget` messages of the backlog before and of those before it."""
        # Not by recursion: there may have been any number of seeks.
        freed = 0
        while freed < budget and self.former is not None:
            former = self.former
            freed += former.free_own(budget - freed)
            if freed < budget:
                self.former = former.feed.former if former.feed is not None else None
        return freed

    def bring_carried(self, receiver: Receiver, budget: int = sys.maxsize) -> int:
        """Look at up to `budget` of the carried messages."""
        if self._carried is None:
            return 0
        seen, history = 0, receiver.history
        for message in islice(self._carried, budget):
            seen += 1
            if message.position >= self._start:
                continue
            if self._wants(message):
                receiver.put(message)
                if history is not None:
                    history.unacked(message)
            elif history is not None and matches(receiver.filter, message):
                history.acked(message)
                receiver.note_acked(message)
        self.carried_seen += seen
        self._carried_left = max(self._carried_left - seen, 0)
        if seen < budget:
            self._carried, self._carried_left = None, 0
        return seen

    def _bring_from_log(self, receiver: Receiver, reader: Reader, budget: int) -> int:
        assert self._log is not None
        start = reader.position
        stop = min(start + budget, self._log.end)
        for message in self._log.between(start, stop):
            if matches(receiver.filter, message):
                receiver.put(message)
        self._log.advance(reader, stop)
        if stop == self._log.end:
            self.close()
        return stop - start

    def close(self) -> None:
        """Hold the log no more."""
        if self._log is not None and self._reader is not None:
            self._log.detach(self._reader)
            self._reader = None


def matches(filter: Filter | None, message: Message) -> bool:
    """Whether a stored message passes a filter, if there is one (FLT-04, SEK-16)."""
    if filter is None:
        return True
    content = pubsub.PubsubMessage.FromString(message.encoded)
    return filter.matches(content.attributes)
