"""A subscription at work: its resource, its backlog, and what it retains (SUB-*, SEK-*)."""

from __future__ import annotations

from typing import Protocol

from emulator.api import pubsub
from emulator.engine.delivery import delivery_rules
from emulator.engine.delivery.ack_ids import AckIdMint
from emulator.engine.delivery.backlog import Backlog
from emulator.engine.delivery.events import Dropped, Recording, Used
from emulator.engine.delivery.history import History
from emulator.engine.delivery.holder import Holder
from emulator.engine.delivery.outcome import Available, Effect, Room
from emulator.engine.delivery.sources import LogSource, QueueSource, ReplaySource, Source
from emulator.engine.filters import Filter
from emulator.engine.log.message_log import Message, MessageLog
from emulator.engine.resources.alarms import Alarms
from emulator.engine.resources.inactivity import Inactivity
from emulator.engine.resources.project import Project
from emulator.engine.resources.retention import Retention, SubscriptionRetention, TopicRetention
from emulator.engine.resources.subscription_resource import delivery_types
from emulator.engine.values import durations, errors


class Home(Protocol):
    """The topic of a subscription, as far as that knows it."""

    log: MessageLog
    retention: TopicRetention | None
    asleep: dict[Retention, Alarms]

    def detach(self, subscription: Subscription) -> None:
        """Deliver to `subscription` no more."""
        ...

    def note_subscriptions(self) -> None:
        """Who has to be told what of a publish is to be found out anew."""
        ...


class Subscription:
    """`topic` is the one it was made on, also after that is gone. `holders` are its streams."""

    __slots__ = (
        "_mint",
        "_passes",
        "_project",
        "_recording",
        "_wake",
        "backlog",
        "generation",
        "history",
        "holders",
        "inactivity",
        "last_active_us",
        "resource",
        "retention",
        "topic",
    )

    inactivity: Inactivity

    def __init__(
        self,
        resource: pubsub.Subscription,
        topic: Home,
        project: Project,
        mint: AckIdMint,
        passes: Filter | None,
        recording: Recording,
        generation: int,
    ) -> None:
        self.resource = resource
        self.topic = topic
        self.holders: dict[Holder, None] = {}
        self.last_active_us = 0
        self.history: History | None = None
        self._project = project
        self._mint = mint
        self._passes = passes
        self._recording = recording
        self.generation = generation
        self._wake = Available(resource.name)
        self.backlog = self.new_backlog()
        self.retention = SubscriptionRetention(self)
        self.apply()

    @property
    def name(self) -> str:
        return self.resource.name

    def use(self, now: int) -> None:
        """It is used: it will not have been idle for long (SUB-22)."""
        self.last_active_us = now
        if self._recording.is_on:
            self._recording.add(Used(self.name, now))

    @property
    def log(self) -> MessageLog:
        return self.topic.log

    @property
    def is_pull(self) -> bool:
        """Whether consumers fetch from it, rather than the service sending (SUB-03)."""
        return not delivery_types(self.resource)

    def check_consumable(self) -> None:
        """Raise FAILED_PRECONDITION if nobody can fetch from it (PUL-04, STR-03)."""
        if self.resource.detached:
            raise errors.detached_subscription()
        if not self.is_pull:
            raise errors.unsupported_subscription_type()

    @property
    def alarms(self) -> Alarms:
        """Those of its project."""
        return self._project.alarms

    @property
    def ack_deadline_us(self) -> int:
        return self.resource.ack_deadline_seconds * durations.SECOND_US

    # --- backlogs ---

    def new_backlog(self, start: int | None = None) -> Backlog:
        """A backlog from `start` of the log on, or of what is published from now on."""
        is_ordered = self.resource.enable_message_ordering
        return Backlog(
            self._new_source(start, is_indexed=is_ordered or self._passes is not None),
            self._mint,
            self._project.leases,
            self._project.backoffs,
            self._wake,
            self._recording,
            self._passes,
            is_ordered=is_ordered,
        )

    def _new_source(self, start: int | None, *, is_indexed: bool) -> Source:
        if is_indexed:
            return QueueSource(self.log)
        return LogSource(self.log) if start is None else ReplaySource(self.log, start)

    def replace_backlog(self, backlog: Backlog) -> tuple[Effect, ...]:
        """Go on with another backlog; every lease has ended (SEK-09)."""
        former, self.backlog = self.backlog, backlog
        backlog.take_over(former)
        self.topic.note_subscriptions()
        self._project.chores.append(backlog)
        return (self._wake, *self._empty_windows())

    def _empty_windows(self) -> list[Effect]:
        effects: list[Effect] = []
        for holder in self.holders:
            holder.held_messages = holder.held_bytes = 0
            if holder.is_blocked:
                holder.is_blocked = False
                effects.append(Room(holder.id))
        return effects

    def drop(self) -> None:
        """Take it off its topic and let its backlog, and what it retains, go."""
        self.topic.detach(self)
        self._project.alarms.set(self.retention, None)
        self._project.alarms.set(self.inactivity, None)
        self.topic.asleep.pop(self.retention, None)
        self._project.chores.append(self.backlog)
        self.backlog.close()
        self._stop_retaining()
        if self._recording.is_on:
            self._recording.add(Dropped(self.name))

    def capture(self) -> tuple[int, tuple[Message, ...]]:
        """What a snapshot takes: a position in the log, and unacked messages from before it."""
        if self.backlog.is_closed:
            return self.log.end, ()  # detached
        self.backlog.feed_all()
        unacked, _ = self.backlog.unacked()
        return self.backlog.log_position, tuple(unacked)

    # --- retention ---

    @property
    def own_retention_us(self) -> int:
        return durations.to_us(self.resource.message_retention_duration)

    @property
    def effective_retention_us(self) -> int:
        """How long unacked messages stay: the topic's retention counts if it is longer (DLV-41)."""
        topic_us = durations.to_us(self.resource.topic_message_retention_duration)
        return max(self.own_retention_us, topic_us)

    @property
    def retained_from(self) -> int | None:
        """From here on the log has messages that can come back, acked or not; None for none."""
        kept = [self.topic.retention, self.history]
        return min((each.position for each in kept if each is not None), default=None)

    def apply(self) -> None:
        """Act on what the resource says now."""
        resource, backlog = self.resource, self.backlog
        rules = delivery_rules.of(resource, backlog.rules)
        backlog.go_by(rules, self.history)
        if backlog.is_closed:
            return
        if not resource.retain_acked_messages:
            self._stop_retaining()
        elif self.history is None:
            # SEK-11: what is acked from now on, and not what a seek is still to drop.
            backlog.feed_carried()
            self.history = History(self.log, backlog.log_position)
        backlog.go_by(rules, self.history)

    def _stop_retaining(self) -> None:
        if self.history is not None:
            self.history.close()
            self.history = None
            self.free_log()

    def free_log(self) -> None:
        """Have what is no longer needed of the log freed."""
        self._project.free(self.log)

    def schedule(self) -> None:
        """Set the alarm for the next message that will be too old."""
        next_us = self.retention.next_us
        self._project.alarms.set(self.retention, next_us)
        if next_us is None:
            self.sleep()

    def sleep(self) -> None:
        """There is no message that could be too old: the next publish sets the alarm."""
        self.topic.asleep[self.retention] = self._project.alarms

    def __repr__(self) -> str:
        return f"<Subscription {self.name}, {self.backlog!r}>"
