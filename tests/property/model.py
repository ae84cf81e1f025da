"""A deliberately naive engine: lists, searched from the front, and no thought of speed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

SECOND_US = 1_000_000


class ModelMessage:
    """One message in one subscription; it is leased while it has a deadline."""

    def __init__(self, message_id: str) -> None:
        self.message_id = message_id
        self.attempt = 0
        self.ack_id = ""
        self.deadline_us: int | None = None
        self.stream: int | None = None


class ModelSubscription:
    """`queue` is what waits, first out first; `leased` is what is out."""

    def __init__(self, name: str, topic: str, ack_deadline_s: int) -> None:
        self.name = name
        self.topic: str | None = topic  # None once that very topic is gone
        self.ack_deadline_s = ack_deadline_s
        self.queue: list[ModelMessage] = []
        self.leased: list[ModelMessage] = []

    def publish(self, message_ids: Iterable[str]) -> None:
        self.queue += map(ModelMessage, message_ids)

    def held_by(self, stream: int) -> int:
        return sum(message.stream == stream for message in self.leased)

    def lease(
        self, limit: int, ack_ids: Sequence[str], deadline_us: int, stream: int | None = None
    ) -> list[tuple[str, int]]:
        """Lease up to `limit`; return their message ids and attempts."""
        taken, self.queue = self.queue[:limit], self.queue[limit:]
        for message, ack_id in zip(taken, ack_ids, strict=False):
            message.attempt += 1
            message.ack_id = ack_id
            message.deadline_us = deadline_us
            message.stream = stream
        self.leased += taken
        return [(message.message_id, message.attempt) for message in taken]

    def acknowledge(self, ack_ids: Iterable[str]) -> None:
        for ack_id in ack_ids:
            self.queue = [m for m in self.queue if m.ack_id != ack_id]
            self.leased = [m for m in self.leased if m.ack_id != ack_id]

    def modify(self, ack_ids: Iterable[str], deadline_us: int) -> None:
        for message in self._running(ack_ids):
            message.deadline_us = deadline_us

    def end(self, ack_ids: Iterable[str]) -> None:
        """Leases end: by a nack, or by their deadline."""
        for message in self._running(ack_ids):
            self.leased.remove(message)
            message.deadline_us = message.stream = None
            self.queue.append(message)

    def release(self, ack_ids: Iterable[str]) -> None:
        returned = self._running(ack_ids)
        for message in returned:
            self.leased.remove(message)
            message.deadline_us = message.stream = None
            message.attempt -= 1
            message.ack_id = ""
        self.queue[:0] = returned

    def due(self, now: int) -> list[str]:
        return [m.ack_id for m in self.leased if m.deadline_us is not None and m.deadline_us <= now]

    def _running(self, ack_ids: Iterable[str]) -> list[ModelMessage]:
        found = [m for ack_id in ack_ids for m in self.leased if m.ack_id == ack_id]
        return list(dict.fromkeys(found))


class Model:
    def __init__(self) -> None:
        self.topics: set[str] = set()
        self.subscriptions: dict[str, ModelSubscription] = {}

    def attached(self, topic: str) -> list[ModelSubscription]:
        return [s for s in self.subscriptions.values() if s.topic == topic]

    def delete_topic(self, topic: str) -> None:
        self.topics.remove(topic)
        for subscription in self.attached(topic):
            subscription.topic = None

    def next_deadline(self, project: str) -> int | None:
        """When the first lease of a project ends."""
        deadlines = [
            message.deadline_us
            for subscription in self.subscriptions.values()
            if subscription.name.startswith(f"projects/{project}/")
            for message in subscription.leased
            if message.deadline_us is not None
        ]
        return min(deadlines, default=None)
