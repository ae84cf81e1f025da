"""How long messages stay: unacked ones, acked ones, and a topic's (DLV-41, SEK-10..12)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

from emulator.engine.delivery.backlog import Backlog
from emulator.engine.delivery.history import History
from emulator.engine.delivery.outcome import Due, Effect, Fired
from emulator.engine.log.message_log import MessageLog
from emulator.engine.resources.alarms import Alarms, HasAlarm
from emulator.engine.resources.events import TopicExpired
from emulator.engine.resources.project import Project


class Retention(HasAlarm):
    """Has messages go when they are `retention_us` old."""

    @property
    @abstractmethod
    def retention_us(self) -> int:
        """In microseconds."""


class Retainer(Protocol):
    """A topic, as far as retention knows it: `asleep` has no alarm for want of a message."""

    log: MessageLog
    asleep: dict[Retention, Alarms]

    @property
    def name(self) -> str: ...


class Retaining(Protocol):
    """A subscription, as far as retention knows it."""

    backlog: Backlog
    history: History | None

    @property
    def name(self) -> str: ...

    @property
    def alarms(self) -> Alarms: ...

    @property
    def own_retention_us(self) -> int: ...

    @property
    def effective_retention_us(self) -> int: ...

    def free_log(self) -> None: ...

    def sleep(self) -> None: ...


class TopicRetention(Retention):
    """Keeps what a topic's log held in the last `retention_us`, whoever has acked it (SEK-10)."""

    due = Due.TOPIC_RETENTION

    def __init__(self, topic: Retainer, project: Project, retention_us: int) -> None:
        self._topic = topic
        self._project = project
        self._log = topic.log
        self._reader = topic.log.attach()
        self._retention_us = retention_us
        topic.asleep[self] = project.alarms

    @property
    def name(self) -> str:
        return self._topic.name

    @property
    def retention_us(self) -> int:
        return self._retention_us

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
            self._project.free(self._log)
            if self._project.recording.is_on:
                self._project.recording.add(TopicExpired(self._topic.name, position))
            effects.append(Fired(now, Due.TOPIC_RETENTION, self._topic.name, count))
        next_us = self.next_us
        if next_us is None:
            self._topic.asleep[self] = self._project.alarms
        return effects, next_us

    def change(self, retention_us: int, now: int) -> list[Effect]:
        """Keep for another time from now on; what is too old then goes at once (DLV-42)."""
        self._retention_us = retention_us
        effects, next_us = self.ring(now)
        self._project.alarms.set(self, next_us)
        return effects

    def close(self) -> None:
        """Keep nothing any more."""
        self._project.alarms.set(self, None)
        self._topic.asleep.pop(self, None)
        self._log.detach(self._reader)
        self._project.free(self._log)


class SubscriptionRetention(Retention):
    """Drops a subscription's messages, unacked and retained, when they are too old (DLV-41)."""

    due = Due.RETENTION

    def __init__(self, subscription: Retaining) -> None:
        self._subscription = subscription

    @property
    def name(self) -> str:
        return self._subscription.name

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
            effects.append(Fired(now, Due.RETENTION, subscription.name, count))
        if subscription.history is not None:
            subscription.history.expire(now - subscription.own_retention_us)
        next_us = self.next_us
        subscription.free_log()
        if next_us is None:
            subscription.sleep()
        return effects, next_us
