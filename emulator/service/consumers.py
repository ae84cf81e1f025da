"""Who waits for the messages of which subscription, and how they share (DLV-09, PUL-06, STR-07).

A consumer is a unary pull or a stream. It stands in line while it waits and could take a message;
messages are leased to it only then, so none is ever held for somebody who is busy, blocked or
gone. Whoever is served goes to the back of the line.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence

from emulator.engine.operations.holders import Leases
from emulator.engine.values import limits
from emulator.engine.values.errors import PubsubError


class Consumer(ABC):
    """Waits for messages of `subscription`; `waiting` is pending exactly while it does."""

    def __init__(self, subscription: str) -> None:
        self.subscription = subscription
        self.waiting: asyncio.Future[Leases | None] | None = None

    @property
    def is_waiting(self) -> bool:
        return self.waiting is not None and not self.waiting.done()

    @abstractmethod
    def lease(self, limit: int, among: int) -> Leases | None:
        """Lease up to `limit` messages, fewer where it has not the room; None to be passed over.

        It is one `among` so many that share what is available now.
        """

    def has_room(self) -> None:  # noqa: B027 - most have no window
        """Its window, too full for the next message before, has room."""

    @abstractmethod
    def stop(self) -> None:
        """The server stops."""

    def answer(self, leases: Leases | None) -> None:
        """Stop waiting with these messages, or with none."""
        if self.waiting is not None and self.is_waiting:
            self.waiting.set_result(leases)

    def end(self, error: PubsubError) -> None:
        """Stop waiting with an error."""
        if self.waiting is not None and self.is_waiting:
            self.waiting.set_exception(error)


class Consumers:
    """The lines of all subscriptions, and everybody who must hear of a subscription's end."""

    def __init__(self) -> None:
        self._lines: dict[str, dict[Consumer, None]] = {}
        self._present: dict[str, dict[Consumer, None]] = {}

    def enter(self, consumer: Consumer) -> None:
        """Have `consumer` hear of its subscription's end until it leaves."""
        self._present.setdefault(consumer.subscription, {})[consumer] = None

    def leave(self, consumer: Consumer) -> None:
        """Forget `consumer`."""
        self.step_out(consumer)
        _remove(self._present, consumer)

    def stand(self, consumer: Consumer) -> None:
        """Put a consumer that waits at the back of its line."""
        self._lines.setdefault(consumer.subscription, {})[consumer] = None

    def step_out(self, consumer: Consumer) -> None:
        """Take a consumer out of its line, if it stands there."""
        _remove(self._lines, consumer)

    def serve(self, subscription: str, last: Collection[Consumer] = ()) -> None:
        """Share out what is available among those in line, in turn.

        Those in `last` get what the others have no room for.
        """
        line = tuple(self._lines.get(subscription, ()))
        if last:
            others = [consumer for consumer in line if consumer not in last]
            if others and not self._share(others):
                return
            line = tuple(consumer for consumer in line if consumer in last)
        if line:
            self._share(line)

    def _share(self, line: Sequence[Consumer]) -> bool:
        """Share out among these; return whether anything may be left."""
        limit, among = limits.PULL_MESSAGES, len(line)
        for consumer in line:
            if not consumer.is_waiting:
                self.step_out(consumer)  # answered otherwise, or gone, and not yet aware of it
                continue
            taken = consumer.lease(limit, among)
            if taken is None:
                continue
            if taken.leases:
                self.step_out(consumer)
                consumer.answer(taken)
            elif taken.is_blocked:
                self.step_out(consumer)  # it comes back when its window has room
            if not taken.remaining:
                return False
            if among > 1:
                limit, among = -(-(len(taken.leases) + taken.remaining) // among), 1
        return True

    def end(self, subscription: str, error: PubsubError) -> None:
        """Tell everybody on `subscription` that it takes no more consumers."""
        for consumer in tuple(self._present.get(subscription, ())):
            consumer.end(error)

    def everybody(self) -> list[Consumer]:
        return [consumer for present in self._present.values() for consumer in present]

    def __len__(self) -> int:
        return sum(map(len, self._present.values()))

    def __repr__(self) -> str:
        return f"<Consumers {len(self)} present, {sum(map(len, self._lines.values()))} in line>"


def _remove(groups: dict[str, dict[Consumer, None]], consumer: Consumer) -> None:
    group = groups.get(consumer.subscription)
    if group is not None and consumer in group:
        del group[consumer]
        if not group:
            del groups[consumer.subscription]
