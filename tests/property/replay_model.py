"""A naive model of replay on purpose: messages have flags, and all are looked at each time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

SECOND_US = 1_000_000
SNAPSHOT_LIFE_US = 7 * 86_400 * SECOND_US
SNAPSHOT_LIFE_MIN_US = 3_600 * SECOND_US


@dataclass(eq=False)
class Published:
    position: int
    time_us: int
    key: str
    colour: str


@dataclass(eq=False)
class ModelTopic:
    """`retained` are the positions that the topic's own retention keeps."""

    retention_us: int | None = None
    messages: list[Published] = field(default_factory=list)
    retained: set[int] = field(default_factory=set)
    subscriptions: list[ModelReplay] = field(default_factory=list)
    is_deleted: bool = False

    @property
    def end(self) -> int:
        return len(self.messages)

    def publish(self, time_us: int, key: str, colours: Iterable[str]) -> None:
        for colour in colours:
            message = Published(self.end, time_us, key, colour)
            self.messages.append(message)
            if self.retention_us is not None:
                self.retained.add(message.position)
            for subscription in self.subscriptions:
                if subscription.takes(message):
                    subscription.unacked.add(message.position)

    def retain(self, retention_us: int | None) -> None:
        self.retention_us = retention_us
        if retention_us is None:
            self.retained.clear()

    def expire(self, now: int) -> None:
        if self.retention_us is not None:
            limit_us = now - self.retention_us
            self.retained = {p for p in self.retained if self.messages[p].time_us > limit_us}
        for subscription in self.subscriptions:
            subscription.expire(now)


@dataclass(eq=False)
class ModelSnapshot:
    """`unacked` are positions from before `end`; all from there on belong to it too."""

    topic: ModelTopic
    unacked: set[int]
    end: int
    expires_us: int


@dataclass(eq=False)
class ModelReplay:
    """`unacked`, `retained` (acked, and kept) and `leased` (position to ack id and deadline).

    `behind` are acked messages of an ordered key that come again if an earlier one fails.
    """

    topic: ModelTopic
    colour: str | None
    is_ordered: bool
    retention_us: int
    retains_acked: bool
    unacked: set[int] = field(default_factory=set)
    retained: set[int] = field(default_factory=set)
    leased: dict[int, tuple[str, int]] = field(default_factory=dict)
    newest_ids: dict[str, int] = field(default_factory=dict)
    behind: set[int] = field(default_factory=set)

    def takes(self, message: Published) -> bool:
        return self.colour is None or self.colour == message.colour

    @property
    def effective_us(self) -> int:
        return max(self.retention_us, self.topic.retention_us or 0)

    def _drop(self, positions: set[int]) -> None:
        self.unacked -= positions
        for position in positions:
            self.leased.pop(position, None)
        self.newest_ids = {i: p for i, p in self.newest_ids.items() if p not in positions}
        self._prune()

    def _prune(self) -> None:
        self.behind = {p for p in self.behind if any(q < p for q in self._leased_of(p))}

    def _key(self, position: int) -> str:
        return self.topic.messages[position].key

    def _leased_of(self, position: int) -> Iterator[int]:
        return (q for q in self.leased if self._key(q) == self._key(position))

    def expire(self, now: int) -> None:
        times = self.topic.messages
        old = {p for p in self.unacked if times[p].time_us <= now - self.effective_us}
        self._drop(old)
        self.retained = {p for p in self.retained if times[p].time_us > now - self.retention_us}

    def set_retains_acked(self, value: bool) -> None:
        self.retains_acked = value
        if not value:
            self.retained.clear()

    # --- leases ---

    def lease(self, position: int, ack_id: str, deadline_us: int) -> None:
        assert position in self.unacked
        assert position not in self.leased
        self.newest_ids = {i: p for i, p in self.newest_ids.items() if p != position}
        self.newest_ids[ack_id] = position
        self.leased[position] = (ack_id, deadline_us)

    def is_next(self, position: int) -> bool:
        """Whether no earlier unacked message of its key waits (ORD-01)."""
        key = self._key(position)
        waiting = (p for p in self.unacked if self._key(p) == key and p not in self.leased)
        return not self.is_ordered or not key or position == min(waiting)

    def acknowledge(self, ack_ids: Iterable[str]) -> None:
        for ack_id in ack_ids:
            position = self.newest_ids.get(ack_id)
            if position is None or position not in self.unacked:
                continue
            self._settle(position)

    def _settle(self, position: int) -> None:
        self._drop({position})
        if self.retains_acked:
            self.retained.add(position)
        if self.is_ordered and self._key(position):
            self.behind.add(position)
            self._prune()

    def fail(self, ack_ids: Iterable[str]) -> None:
        failed = {p for p, (ack_id, _) in self.leased.items() if ack_id in set(ack_ids)}
        for position in sorted(failed):
            self.leased.pop(position, None)
        if not self.is_ordered:
            return
        for position in failed:
            if self._key(position):
                self._rewind(position)
        self._prune()

    def _rewind(self, position: int) -> None:
        key = self._key(position)
        for later in [p for p in self.leased if p > position and self._key(p) == key]:
            del self.leased[later]
        again = {p for p in self.behind if p > position and self._key(p) == key}
        self.behind -= again
        self.retained -= again
        self.unacked |= again

    def due(self, now: int) -> list[str]:
        return [ack_id for ack_id, deadline_us in self.leased.values() if deadline_us <= now]

    # --- replay ---

    def seek_to_time(self, time_us: int) -> None:
        back = self.topic.retained if not self.topic.is_deleted else set()
        reachable = self.unacked | self.retained | {p for p in back if self._takes_at(p)}
        self._become({p for p in reachable if self.topic.messages[p].time_us >= time_us})

    def seek_to_snapshot(self, snapshot: ModelSnapshot) -> None:
        positions = snapshot.unacked | set(range(snapshot.end, self.topic.end))
        self._become({p for p in positions if self._takes_at(p)})

    def _takes_at(self, position: int) -> bool:
        return self.takes(self.topic.messages[position])

    def _become(self, unacked: set[int]) -> None:
        if self.retains_acked:
            self.retained |= self.unacked - unacked
        self.retained -= unacked
        self.unacked = unacked
        self.leased.clear()
        self.newest_ids.clear()
        self.behind.clear()

    def capture(self, now: int) -> ModelSnapshot | None:
        """A snapshot; None if it would live for less than an hour."""
        oldest_us = min((self.topic.messages[p].time_us for p in self.unacked), default=now)
        expires_us = now + SNAPSHOT_LIFE_US - max(now - oldest_us, 0)
        if expires_us - now < SNAPSHOT_LIFE_MIN_US:
            return None
        return ModelSnapshot(self.topic, set(self.unacked), self.topic.end, expires_us)
