"""The engine: the rules of Pub/Sub as a pure state machine.

Every operation takes `now`, in microseconds of UTC, and returns an `Outcome`: its value and the
effects that the caller has to pass on. Nothing here waits, reads a clock or draws a random
number, so the same operations in the same order have the same outcomes, byte for byte. `now` is
the time of the project of the resource an operation names.
"""

from __future__ import annotations

from collections.abc import Sequence

from emulator.api import pubsub
from emulator.engine.delivery.events import Appended, Forwarded, Recording
from emulator.engine.delivery.leases import Lease
from emulator.engine.delivery.outcome import Due, Effect, Ended, Fired, Forward, Outcome, once
from emulator.engine.log import publishing
from emulator.engine.log.message_log import Message
from emulator.engine.operations.holders import Holders
from emulator.engine.operations.iam_policies import Policies
from emulator.engine.operations.schemas import Schemas
from emulator.engine.operations.seeking import Seeking
from emulator.engine.operations.snapshots import Snapshots
from emulator.engine.operations.streaming import Streaming
from emulator.engine.operations.subscriptions import Subscriptions
from emulator.engine.operations.topics import Topics
from emulator.engine.resources.events import Reset
from emulator.engine.resources.topic import Topic
from emulator.engine.resources.world import World
from emulator.engine.values import errors, limits, names
from emulator.engine.values.errors import PubsubError

#: How many deliveries, or freed messages, one `tick` handles before it lets others have their turn.
TICK_BUDGET = 2_000


class Engine:
    """One emulated Pub/Sub; `nonce` must differ between any two whose ids could meet."""

    def __init__(
        self,
        *,
        nonce: bytes,
        allowed_projects: frozenset[str] | None = None,
        is_strict: bool = False,
    ) -> None:
        self._published = 0
        self.recording = Recording()
        self._enter(World(nonce, allowed_projects, is_strict, self.recording))

    def _enter(self, world: World) -> None:
        self._world = world
        self.topics = Topics(world)
        self.subscriptions = Subscriptions(world)
        self.holders = Holders(world)
        self.streaming = Streaming(world, self.holders)
        self.policies = Policies(world)
        self.snapshots = Snapshots(world)
        self.schemas = Schemas(world)
        self.seeking = Seeking(world)

    # --- messages ---

    def publish(
        self, request: pubsub.PublishRequest, encoded_request: bytes, *, now: int
    ) -> Outcome[list[str]]:
        """Publish all messages of a request, or none; return their ids (PUB-01, PUB-03)."""
        topic = self._world.topics.get(request.topic)
        if topic is None:
            names.check(request.topic, names.TOPICS)  # ERR-90: names come before sizes
        publishing.check_sizes(request, len(encoded_request))
        topic = topic or self._world.topic(request.topic)
        encoded = publishing.encoded_messages(request, encoded_request)
        if topic.schema is not None:
            is_indexed = bool(topic.audience.indexed)
            topic.schema.stamp(request.messages, encoded, is_indexed=is_indexed)  # PUB-50, PUB-51
        ids = self._append(topic, encoded, request.messages, now)
        return self._world.outcome(ids, topic.audience.wake)

    def forward(self, effect: Forward, *, now: int) -> Outcome[None]:
        """Publish a dead letter; `now` is the time of its topic's project (DLQ-05)."""
        topic = self._world.topics.get(effect.topic)
        if topic is None:
            return Outcome(None)
        content = effect.content
        [new_id] = self._append(topic, [content.SerializeToString()], [content], now)
        if self.recording.is_on:
            self.recording.add(
                Forwarded(effect.subscription, effect.message_id, topic.name, new_id)
            )
        return self._world.outcome(None, topic.audience.wake)

    def _append(
        self,
        topic: Topic,
        encoded: Sequence[bytes],
        contents: Sequence[pubsub.PubsubMessage],
        now: int,
    ) -> list[str]:
        """Give messages of one ordering key their ids and time, and take them into the log."""
        time_us = publishing.publish_time_us(now, topic.last_publish_time_us)
        messages, ids = publishing.finish(
            encoded,
            position=topic.log.end,
            number=self._published,
            time_us=time_us,
            ordering_key=contents[0].ordering_key,
        )
        if self.recording.is_on:
            self._record_append(topic, messages)
        self._published += len(messages)
        topic.last_publish_time_us = time_us
        topic.log.append(messages)
        if topic.asleep:
            topic.set_alarms(time_us)
        for backlog in topic.audience.indexed:
            backlog.index(messages, contents)
        return ids

    def _record_append(self, topic: Topic, messages: Sequence[Message]) -> None:
        first = messages[0]
        self.recording.add(
            Appended(
                topic.name,
                topic.generation,
                first.position,
                self._published,
                first.publish_time_us,
                first.ordering_key,
                tuple([message.encoded for message in messages]),
            )
        )

    def lease(self, subscription: str, max_messages: int, *, now: int) -> Outcome[list[Lease]]:
        """Lease what a Pull may return now, which can be nothing (PUL-01, PUL-02, DLV-20)."""
        outcome = self.holders.pull(subscription, max_messages, now=now)
        return Outcome(outcome.value.leases, outcome.effects, outcome.events)

    # --- leases ---

    def release(self, subscription: str, ack_ids: Sequence[str], *, now: int) -> Outcome[None]:
        """Take back leases that never reached their consumer (PUL-06)."""
        found = self._world.subscriptions.get(subscription)
        if found is None:
            return Outcome(None)
        found.backlog.release(ack_ids)
        return self._world.outcome(None, found.backlog.take_effects())

    def acknowledge(
        self, subscription: str, ack_ids: Sequence[str], *, now: int, size_bytes: int = 0
    ) -> Outcome[PubsubError | None]:
        """Acknowledge deliveries; stale ids are accepted and change nothing (DLV-23..25).

        With exactly-once delivery the value is the error that names the ids that failed; the
        others have been processed (EOD-03).
        `size_bytes` is the encoded request's, where it is limited (DLV-27).
        """
        self._check_ack_request(subscription, ack_ids, size_bytes)
        found = self._world.subscription(subscription)
        found.use(now)
        backlog = found.backlog
        backlog.check_ack_ids(ack_ids)
        report = backlog.acknowledge(ack_ids)
        failure = report.failure() if report is not None else None
        return self._world.outcome(failure, backlog.take_effects())

    def modify_ack_deadline(
        self,
        subscription: str,
        ack_ids: Sequence[str],
        seconds: int,
        *,
        now: int,
        size_bytes: int = 0,
    ) -> Outcome[PubsubError | None]:
        """Let leases end `seconds` from now; 0 is a nack (DLV-03, DLV-21, DLV-22).

        The value is as that of `acknowledge`.
        """
        self._check_ack_request(subscription, ack_ids, size_bytes)
        found = self._world.subscription(subscription)
        if not 0 <= seconds <= limits.ACK_DEADLINE_MAX_S:
            raise errors.bad_ack_deadline(seconds, 0, limits.ACK_DEADLINE_MAX_S)
        found.use(now)
        backlog = found.backlog
        backlog.check_ack_ids(ack_ids)
        report = backlog.set_deadline(ack_ids, seconds, now)
        failure = report.failure() if report is not None else None
        return self._world.outcome(failure, backlog.take_effects())

    def _check_ack_request(
        self, subscription: str, ack_ids: Sequence[str], size_bytes: int
    ) -> None:
        if ack_ids and size_bytes <= limits.ACK_REQUEST_BYTES:
            return
        self._world.check_subscription_name(subscription)  # ERR-90: names come first
        if not ack_ids:
            raise errors.no_ack_ids()
        raise errors.payload_too_large(limits.ACK_REQUEST_BYTES)

    # --- time ---

    def tick(self, project: str, *, now: int, budget: int = TICK_BUDGET) -> Outcome[bool]:
        """Do a project's due work, about `budget` deliveries of it; return whether more is due."""
        found = self._world.projects.get(project)
        if found is None:
            return Outcome(False)
        effects: list[Effect] = []
        ended, left = found.leases.expire(now, budget)
        for backlog, deliveries in ended:
            if not backlog.is_closed:
                backlog.end_leases(deliveries, now)
                effects += backlog.take_effects()
                name = backlog.wake.subscription
                effects.append(Fired(now, Due.ACK_DEADLINE, name, len(deliveries)))
        ended, left = found.backoffs.expire(now, left)
        for backlog, deliveries in ended:
            if not backlog.is_closed:
                backlog.end_backoff(deliveries)
                effects += backlog.take_effects()
                effects.append(Fired(now, Due.BACKOFF, backlog.wake.subscription, len(deliveries)))
        rung, left = found.alarms.ring(now, left)
        effects += rung
        effects += found.do_chores(left)
        next_us = self.next_deadline(project)
        is_more_due = next_us is not None and next_us <= now
        return self._world.outcome(is_more_due, once(effects))

    def next_deadline(self, project: str) -> int | None:
        """When `tick` has work for a project: 0 for at once, None for not before another call."""
        found = self._world.projects.get(project)
        if found is None:
            return None
        if found.chores:
            return 0
        deadlines = (
            found.leases.next_deadline(),
            found.backoffs.next_deadline(),
            found.alarms.next(),
        )
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def projects(self) -> list[str]:
        """The projects that have been used."""
        return list(self._world.projects)

    # --- all at once ---

    def reset(self, *, nonce: bytes, now: int) -> Outcome[None]:
        """Forget every topic and subscription; ids from before are stale (design: `nonce`)."""
        old = self._world
        self._enter(World(nonce, old.allowed_projects, old.is_strict, self.recording))
        ended = tuple(Ended(name, errors.not_found(name)) for name in old.subscriptions)
        for subscription in old.subscriptions.values():
            if not subscription.backlog.is_closed:
                subscription.drop()
        for name in tuple(old.snapshots):
            old.delete_snapshot(name, now)
        for topic in old.topics.values():
            if topic.retention is not None:
                topic.retention.close()
        for project_id, project in old.projects.items():
            logs = [
                topic.log
                for name, topic in old.topics.items()
                if names.project_of(name) == project_id
            ]
            project.chores.extend(log for log in logs if log.garbage)
            if project.chores:
                self._world.project(project_id).chores = project.chores
        if self.recording.is_on:
            self.recording.take()  # all that came before is gone with the rest
            self.recording.add(Reset(nonce))
        return self._world.outcome(None, ended)

    def __repr__(self) -> str:
        return f"<Engine {self._world!r}>"
