"""How long messages stay: unacked ones, acked ones, and a topic's (DLV-41, SEK-10..12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.engine.alarms import Alarms, Thing
from emulator.engine.message_log import Message, MessageLog
from emulator.engine.outcome import Effect, Fired

if TYPE_CHECKING:
    from emulator.engine.subscription import Subscription
    from emulator.engine.topic import Topic


class TopicRetention(Thing):
    """Keeps what a topic's log held in the last `retention_us`, whoever has acked it (SEK-10)."""

    def __init__(self, topic: Topic, alarms: Alarms, retention_us: int) -> None:
        self._topic = topic
        self._alarms = alarms
        self._log = topic.log
        self._reader = topic.log.attach()
        self.retention_us = retention_us
        topic.sleepers.append((self, alarms))

    @property
    def position(self) -> int:
        """From here on everything can come back."""
        return self._reader.position

    @property
    def next_us(self) -> int | None:
        """When the oldest message kept is too old; None without one."""
        oldest_us = self._log.time_at(self._reader.position)
        return None if oldest_us is None else oldest_us + self.retention_us

    def ring(self, now: int) -> tuple[list[Effect], int | None]:
        effects: list[Effect] = []
        position = self._log.position_at(now - self.retention_us + 1)
        count = position - self._reader.position
        if count > 0:
            self._log.advance(self._reader, position)
            effects.append(Fired(now, "topic retention", self._topic.name, count))
        next_us = self.next_us
        if next_us is None:
            self._topic.sleepers.append((self, self._alarms))
        return effects, next_us

    def change(self, retention_us: int, now: int) -> list[Effect]:
        """Keep for another time from now on; what is too old then goes at once (DLV-42)."""
        self.retention_us = retention_us
        effects, next_us = self.ring(now)
        self._alarms.set(self, next_us)
        return effects

    @property
    def is_open(self) -> bool:
        """Whether it still keeps anything, ever."""
        return self._topic.retention is self

    def close(self) -> None:
        """Keep nothing any more."""
        self._alarms.set(self, None)
        self._log.detach(self._reader)


class History:
    """The acked messages that one subscription retains (SEK-11).

    What was published since it began stays in the log; `older` are messages from before, acked
    since.
    """

    def __init__(self, log: MessageLog, position: int) -> None:
        self._log = log
        self._reader = log.attach(position)
        self.start = position
        self.older: list[Message] = []

    @property
    def position(self) -> int:
        """From here on everything can come back."""
        return self._reader.position

    def acked(self, message: Message) -> None:
        """Take note that `message` was acked."""
        if message.position < self.start:
            self.older.append(message)

    @property
    def oldest_us(self) -> int | None:
        times = [message.publish_time_us for message in self.older]
        oldest_us = self._log.time_at(self._reader.position)
        if oldest_us is not None:
            times.append(oldest_us)
        return min(times, default=None)

    def expire(self, cutoff_us: int) -> None:
        """Let go of what was published at `cutoff_us` or before."""
        position = self._log.position_at(cutoff_us + 1)
        if position > self._reader.position:
            self._log.advance(self._reader, position)
        if self.older:
            self.older = [m for m in self.older if m.publish_time_us > cutoff_us]

    def close(self) -> None:
        """Keep nothing any more."""
        self._log.detach(self._reader)


class SubscriptionRetention(Thing):
    """Drops a subscription's messages, unacked and retained, when they are too old (DLV-41)."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription

    @property
    def retention_us(self) -> int:
        return self._subscription.effective_retention_us

    @property
    def next_us(self) -> int | None:
        """When something may be too old; None with nothing there."""
        subscription = self._subscription
        times = []
        oldest_us = subscription.backlog.oldest_us
        if oldest_us is not None:
            times.append(oldest_us + subscription.effective_retention_us)
        if subscription.history is not None:
            retained_us = subscription.history.oldest_us
            if retained_us is not None:
                times.append(retained_us + subscription.own_retention_us)
        return min(times, default=None)

    @property
    def is_open(self) -> bool:
        """Whether there is still something to drop, ever."""
        return not self._subscription.backlog.is_closed

    def look(self, now: int) -> list[Effect]:
        """See, after a change, what is too old and when the next message will be (DLV-42)."""
        effects, next_us = self.ring(now)
        self._subscription.alarms.set(self, next_us)
        return effects

    def ring(self, now: int) -> tuple[list[Effect], int | None]:
        subscription = self._subscription
        backlog = subscription.backlog
        count = backlog.expire(now - subscription.effective_retention_us)
        effects = list(backlog.take_effects())
        if count:
            effects.append(Fired(now, "retention", subscription.name, count))
        if subscription.history is not None:
            subscription.history.expire(now - subscription.own_retention_us)
        next_us = self.next_us
        if next_us is None:
            subscription.topic.sleepers.append((self, subscription.alarms))
        return effects, next_us
