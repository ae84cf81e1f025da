"""Where a backlog takes messages from that it never leased.

A plain subscription reads the topic's log from a cursor, so that a publish costs nothing for it
and its backlog nothing but the log's. A subscription with a filter keeps the messages that passed
in a queue of its own: what the filter rejects is acknowledged at publish (DLV-40) and holds
nothing in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable
from itertools import islice
from operator import attrgetter

from emulator.engine.log.message_log import Message, MessageLog


class Source(ABC):
    """Messages in the order of their positions.

    One that `is_indexed` must be told of what is published. One that `is_in_order` never gives a
    message that was published before one that it gave.
    """

    is_indexed = False
    is_in_order = False

    def put(self, message: Message) -> None:
        """Take in one message that is for this subscription and is not settled."""
        raise AssertionError("a cursor in the log takes in nothing")

    @property
    @abstractmethod
    def count(self) -> int:
        """How many messages wait here."""

    @property
    @abstractmethod
    def position(self) -> int:
        """The position of the next message, or of the next one to be published."""

    @property
    @abstractmethod
    def end(self) -> int:
        """The position of the next message to be published."""

    @property
    @abstractmethod
    def log_position(self) -> int:
        """From here on the log, and not this source, has what was not leased yet."""

    @abstractmethod
    def queued(self) -> Iterable[Message]:
        """The messages that wait here and not in the log."""

    @abstractmethod
    def peek(self, limit: int, before: int) -> Iterable[Message]:
        """The next messages, `limit` at most and none from position `before` on."""

    @abstractmethod
    def take(self, count: int) -> None:
        """Let go of the next `count` messages, which were peeked at."""

    @property
    @abstractmethod
    def oldest_us(self) -> int | None:
        """No message here was published before this; None where there is none."""

    @abstractmethod
    def expire(self, cutoff_us: int) -> int:
        """Let go of messages published at `cutoff_us` or before; return how many (DLV-41)."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything that keeps the log; the rest goes by `reclaim`."""

    @abstractmethod
    def reclaim(self, budget: int) -> int:
        """Free up to `budget` messages after `close`; return how many."""


class LogSource(Source):
    """A cursor in the log."""

    is_in_order = True

    def __init__(self, log: MessageLog, position: int | None = None) -> None:
        self._log = log
        # SUB-15: from the end, so only what is published from now on, unless told otherwise.
        self._reader = log.attach(position)

    @property
    def count(self) -> int:
        return self._log.end - self._reader.position

    @property
    def position(self) -> int:
        return self._reader.position

    @property
    def end(self) -> int:
        return self._log.end

    @property
    def log_position(self) -> int:
        return self._reader.position

    def queued(self) -> Iterable[Message]:
        return ()

    def peek(self, limit: int, before: int) -> Iterable[Message]:
        start = self._reader.position
        stop = min(start + limit, before, self._log.end)
        return self._log.between(start, stop) if start < stop else ()

    def take(self, count: int) -> None:
        self._log.advance(self._reader, self._reader.position + count)

    @property
    def oldest_us(self) -> int | None:
        return self._log.time_at(self._reader.position)

    def expire(self, cutoff_us: int) -> int:
        start = self._reader.position
        count = max(self._log.position_at(cutoff_us + 1) - start, 0)
        if count:
            self.take(count)
        return count

    def close(self) -> None:
        self._log.detach(self._reader)

    def reclaim(self, budget: int) -> int:
        return self._log.reclaim(budget)


class QueueSource(Source):
    """A queue of messages that were picked out of the log.

    What a seek carries over may come in any order. For retention it is put in that of publishing.
    """

    is_indexed = True

    def __init__(self, log: MessageLog) -> None:
        self._log = log
        self._queue: deque[Message] = deque()
        # None while all are in order; else nothing that came out of order was published before.
        self._oldest_stray_us: int | None = None

    def put(self, message: Message) -> None:
        queue = self._queue
        if queue and message.position < queue[-1].position:
            stray_us = message.publish_time_us
            if self._oldest_stray_us is None or stray_us < self._oldest_stray_us:
                self._oldest_stray_us = stray_us
        queue.append(message)

    def _put_in_order(self) -> None:
        if self._oldest_stray_us is not None:
            self._queue = deque(sorted(self._queue, key=attrgetter("position")))
            self._oldest_stray_us = None

    @property
    def count(self) -> int:
        return len(self._queue)

    @property
    def position(self) -> int:
        return self._queue[0].position if self._queue else self._log.end

    @property
    def end(self) -> int:
        return self._log.end

    @property
    def log_position(self) -> int:
        return self._log.end

    def queued(self) -> Iterable[Message]:
        return self._queue

    def peek(self, limit: int, before: int) -> Iterable[Message]:
        for message in islice(self._queue, limit):
            if message.position >= before:
                return
            yield message

    def take(self, count: int) -> None:
        for _ in range(count):
            self._queue.popleft()

    @property
    def oldest_us(self) -> int | None:
        if not self._queue:
            return None
        first_us = self._queue[0].publish_time_us
        return first_us if self._oldest_stray_us is None else min(first_us, self._oldest_stray_us)

    def expire(self, cutoff_us: int) -> int:
        self._put_in_order()
        queue, count = self._queue, 0
        while queue and queue[0].publish_time_us <= cutoff_us:
            queue.popleft()
            count += 1
        return count

    def close(self) -> None:
        pass

    def reclaim(self, budget: int) -> int:
        count = min(budget, len(self._queue))
        self.take(count)
        return count + self._log.reclaim(budget - count)  # a feed may have read it


class ReplaySource(Source):
    """After a seek: first what was carried over, then the log from a position on."""

    def __init__(self, log: MessageLog, position: int) -> None:
        self._carried = QueueSource(log)
        self._rest = LogSource(log, position)

    def put(self, message: Message) -> None:
        self._carried.put(message)

    @property
    def _current(self) -> Source:
        return self._carried if self._carried.count else self._rest

    @property
    def count(self) -> int:
        return self._carried.count + self._rest.count

    @property
    def position(self) -> int:
        return self._current.position

    @property
    def end(self) -> int:
        return self._rest.end

    @property
    def log_position(self) -> int:
        return self._rest.log_position

    def queued(self) -> Iterable[Message]:
        return self._carried.queued()

    def peek(self, limit: int, before: int) -> Iterable[Message]:
        return self._current.peek(limit, before)

    def take(self, count: int) -> None:
        self._current.take(count)

    @property
    def oldest_us(self) -> int | None:
        times = (self._carried.oldest_us, self._rest.oldest_us)
        return min((time for time in times if time is not None), default=None)

    def expire(self, cutoff_us: int) -> int:
        return self._carried.expire(cutoff_us) + self._rest.expire(cutoff_us)

    def close(self) -> None:
        self._rest.close()

    def reclaim(self, budget: int) -> int:
        freed = self._carried.reclaim(budget)
        return freed + self._rest.reclaim(budget - freed)
