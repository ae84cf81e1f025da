"""What a seek brings back, in slices (SEK-01..09).

A seek gives its subscription a new backlog that is right from that moment on: its source starts at
the right position of the log. What else is to come - messages that were out, or waited to go out
again, and for a subscription that filters or orders all that lies in the log - comes through a
feed, a part at a time, before anything newer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from emulator.api import pubsub
from emulator.engine.backlog import NEVER, Backlog
from emulator.engine.message_log import Message, MessageLog, Reader


class Feed:
    """`carried` are messages from before the source's start, of which `wants` chooses.

    `left` is at most how many are still to come, `oldest_us` no later than any of them. `log` and
    `position` are given for a backlog that must be told of every message. `former` is the backlog
    that was there before; its memory is given back here.
    """

    def __init__(
        self,
        carried: Iterator[Message],
        count: int,
        wants: Callable[[Message], bool],
        *,
        oldest_us: int,
        log: MessageLog,
        position: int | None,
        former: Backlog | None,
    ) -> None:
        self._carried: Iterator[Message] | None = carried
        self._carried_left = count
        self._wants = wants
        self._log = log
        self._reader: Reader | None = None if position is None else log.attach(position)
        self._former = former
        self._oldest_us = oldest_us

    @property
    def left(self) -> int:
        in_log = self._log.end - self._reader.position if self._reader is not None else 0
        return self._carried_left + in_log

    @property
    def oldest_us(self) -> int:
        return self._oldest_us if self.left else NEVER

    @property
    def log_position(self) -> int:
        """From here on the log has what is still to come."""
        return self._log.end if self._reader is None else self._reader.position

    def rest(self) -> Iterator[Message]:
        """What is still to come of the carried messages; this feed brings none of them any more."""
        carried = self._carried if self._carried is not None else iter(())
        return filter(self._wants, carried)

    @property
    def is_done(self) -> bool:
        return self._carried is None and self._reader is None and self._former is None

    def bring(self, backlog: Backlog, budget: int) -> int:
        """Look at up to `budget` messages; hand those that are wanted to `backlog`."""
        seen = self._bring_carried(backlog, budget) if self._carried is not None else 0
        if self._carried is None and self._reader is not None and seen < budget:
            seen += self._bring_from_log(backlog, self._reader, budget - seen)
        if self._carried is None and seen < budget:
            seen += self.reclaim(budget - seen)
        return seen

    def reclaim(self, budget: int) -> int:
        """Free up to `budget` messages of the former backlog; return how many."""
        if self._former is None:
            return 0
        freed = self._former.reclaim(budget)
        if freed < budget:
            self._former = None
        return freed

    def _bring_carried(self, backlog: Backlog, budget: int) -> int:
        assert self._carried is not None
        seen = 0
        for message in islice(self._carried, budget):
            seen += 1
            if self._wants(message):
                backlog.put(message)
            elif backlog.history is not None:
                backlog.history.acked(message)
        self._carried_left = max(self._carried_left - seen, 0)
        if seen < budget:
            self._carried, self._carried_left = None, 0
        return seen

    def _bring_from_log(self, backlog: Backlog, reader: Reader, budget: int) -> int:
        start = reader.position
        stop = min(start + budget, self._log.end)
        for message in self._log.between(start, stop):
            if matches(backlog, message):
                backlog.put(message)
        self._log.advance(reader, stop)
        if stop == self._log.end:
            self._log.detach(reader)
            self._reader = None
        return stop - start

    @property
    def reads_the_log(self) -> bool:
        """Whether it will come to what is published from now on."""
        return self._reader is not None

    def close(self) -> None:
        """Bring nothing more."""
        if self._reader is not None:
            self._log.detach(self._reader)
            self._reader = None


def matches(backlog: Backlog, message: Message) -> bool:
    """Whether a stored message passes the filter of a backlog (FLT-04, SEK-16)."""
    if backlog.filter is None:
        return True
    content = pubsub.PubsubMessage.FromString(message.encoded)
    return backlog.filter.matches(content.attributes)
