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

from emulator.engine.message_log import Message, MessageLog


class Source(ABC):
    """Messages in the order of their positions."""

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

    @abstractmethod
    def peek(self, limit: int, before: int) -> Iterable[Message]:
        """The next messages, `limit` at most and none from position `before` on."""

    @abstractmethod
    def take(self, count: int) -> None:
        """Let go of the next `count` messages, which were peeked at."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything that keeps the log; the rest goes by `reclaim`."""

    @abstractmethod
    def reclaim(self, budget: int) -> int:
        """Free up to `budget` messages after `close`; return how many."""


class LogSource(Source):
    """A cursor in the log."""

    def __init__(self, log: MessageLog) -> None:
        self._log = log
        self._reader = log.attach()  # SUB-15: only what is published from now on

    @property
    def count(self) -> int:
        return self._log.end - self._reader.position

    @property
    def position(self) -> int:
        return self._reader.position

    @property
    def end(self) -> int:
        return self._log.end

    def peek(self, limit: int, before: int) -> Iterable[Message]:
        start = self._reader.position
        stop = min(start + limit, before, self._log.end)
        return self._log.between(start, stop) if start < stop else ()

    def take(self, count: int) -> None:
        self._log.advance(self._reader, self._reader.position + count)

    def close(self) -> None:
        self._log.detach(self._reader)

    def reclaim(self, budget: int) -> int:
        return self._log.reclaim(budget)


class QueueSource(Source):
    """A queue of messages that were picked out of the log."""

    def __init__(self, log: MessageLog) -> None:
        self._log = log
        self._queue: deque[Message] = deque()

    def put(self, message: Message) -> None:
        self._queue.append(message)

    @property
    def count(self) -> int:
        return len(self._queue)

    @property
    def position(self) -> int:
        return self._queue[0].position if self._queue else self._log.end

    @property
    def end(self) -> int:
        return self._log.end

    def peek(self, limit: int, before: int) -> Iterable[Message]:
        for message in islice(self._queue, limit):
            if message.position >= before:
                return
            yield message

    def take(self, count: int) -> None:
        for _ in range(count):
            self._queue.popleft()

    def close(self) -> None:
        pass

    def reclaim(self, budget: int) -> int:
        count = min(budget, len(self._queue))
        self.take(count)
        return count
