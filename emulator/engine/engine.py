"""The engine: the rules of Pub/Sub as a pure state machine.

Every operation takes `now`, in microseconds of UTC, and returns an `Outcome`: its value and the
effects that the caller has to pass on. Nothing here waits, reads a clock or draws a random
number, so the same operations in the same order have the same outcomes, byte for byte. `now` is
the time of the project of the resource an operation names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from emulator.api import pubsub
from emulator.engine import errors, limits, names, publishing, streaming
from emulator.engine.backlog import Backlog
from emulator.engine.delivery import Delivery
from emulator.engine.durations import SECOND_US
from emulator.engine.holder import Holder
from emulator.engine.outcome import Effect, Ended, Outcome
from emulator.engine.policies import Policies
from emulator.engine.subscription import Subscription
from emulator.engine.subscriptions import Subscriptions
from emulator.engine.topics import Topics
from emulator.engine.world import World

#: How many deliveries, or freed messages, one `tick` handles before it lets others have their turn.
TICK_BUDGET = 2_000


class Engine:
    """One emulated Pub/Sub; `nonce` must differ between any two whose ids could meet."""

    def __init__(self, *, nonce: bytes, allowed_projects: frozenset[str] | None = None) -> None:
        self._published = 0
        self._world = World(nonce, allowed_projects)
        self.topics = Topics(self._world)
        self.subscriptions = Subscriptions(self._world)
        self.policies = Policies(self._world)

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
        time_us = publishing.publish_time_us(now, topic.last_publish_time_us)
        messages, ids = publishing.finish(
            encoded,
            position=topic.log.end,
            number=self._published,
            time_us=time_us,
            ordering_key=request.messages[0].ordering_key,
        )
        self._published += len(messages)
        topic.last_publish_time_us = time_us
        topic.log.append(messages)
        return Outcome(ids, topic.wake)

    def lease(self, subscription: str, max_messages: int, *, now: int) -> Outcome[list[Delivery]]:
        """Lease what a Pull may return now, which can be nothing (PUL-01, PUL-02, DLV-20)."""
        found = self._consumable(subscription, max_messages)
        deliveries = found.backlog.lease(
            min(max_messages, limits.PULL_MESSAGES),
            limits.RESPONSE_BYTES,
            now + found.ack_deadline_us,
        )
        return Outcome(deliveries)

    def _consumable(self, name: str, max_messages: int) -> Subscription:
        found = self._world.subscriptions.get(name)
        if max_messages <= 0:
            self._world.check_subscription_name(name)
            raise errors.invalid_argument("max_messages")
        if found is None:
            found = self._world.subscription(name)
        found.check_consumable()
        return found

    def available(self, subscription: str) -> int:
        """How many messages of a subscription could be leased now; 0 where there is none."""
        found = self._world.subscriptions.get(subscription)
        return found.backlog.available if found is not None else 0

    # --- streams ---

    def open_stream(self, request: pubsub.StreamingPullRequest, *, now: int) -> Outcome[Holder]:
        """Begin a StreamingPull with its first request; return its holder (STR-01, STR-03)."""
        streaming.check_first(request)
        found = self._world.subscription(request.subscription)
        found.check_consumable()
        holder = Holder(
            request.subscription,
            request.stream_ack_deadline_seconds * SECOND_US,
            request.max_outstanding_messages,
            request.max_outstanding_bytes,
        )
        return Outcome(holder, self._settle_from_stream(found.backlog, request, now))

    def receive(
        self, holder: Holder, request: pubsub.StreamingPullRequest, *, now: int
    ) -> Outcome[None]:
        """Take a later request of a stream: acks, deadlines, or nothing at all (STR-02, STR-04)."""
        streaming.check_later(request)
        backlog = self._world.subscription(holder.subscription).backlog
        effects = self._settle_from_stream(backlog, request, now)
        if request.stream_ack_deadline_seconds:
            holder.ack_deadline_us = request.stream_ack_deadline_seconds * SECOND_US
        return Outcome(None, effects)

    def _settle_from_stream(
        self, backlog: Backlog, request: pubsub.StreamingPullRequest, now: int
    ) -> tuple[Effect, ...]:
        streaming.check_leases(request)
        backlog.check_ack_ids(request.ack_ids)
        backlog.check_ack_ids(request.modify_deadline_ack_ids)
        backlog.acknowledge(request.ack_ids)
        by_deadline: defaultdict[int, list[str]] = defaultdict(list)
        for ack_id, seconds in zip(
            request.modify_deadline_ack_ids, request.modify_deadline_seconds, strict=True
        ):
            by_deadline[seconds].append(ack_id)
        for seconds, ack_ids in by_deadline.items():
            self._modify(backlog, ack_ids, seconds, now)
        return backlog.take_effects()

    def subscription_properties(
        self, subscription: str
    ) -> pubsub.StreamingPullResponse.SubscriptionProperties:
        """What every response of a stream says about its subscription (STR-06)."""
        resource = self._world.subscription(subscription).resource
        return pubsub.StreamingPullResponse.SubscriptionProperties(
            exactly_once_delivery_enabled=resource.enable_exactly_once_delivery,
            message_ordering_enabled=resource.enable_message_ordering,
        )

    def lease_to(self, holder: Holder, limit: int, *, now: int) -> Outcome[list[Delivery]]:
        """Lease to a stream what its window has room for, `limit` messages at most (STR-07)."""
        backlog = self._world.subscription(holder.subscription).backlog
        deliveries = backlog.lease(
            min(limit, limits.PULL_MESSAGES),
            limits.RESPONSE_BYTES,
            now + holder.ack_deadline_us,
            holder,
        )
        return Outcome(deliveries)

    # --- leases ---

    def release(
        self, subscription: str, leases: Sequence[tuple[Delivery, str]], *, now: int
    ) -> Outcome[None]:
        """Take back leases that never reached their consumer (PUL-06)."""
        found = self._world.subscriptions.get(subscription)
        if found is None:
            return Outcome(None)
        found.backlog.release(leases)
        return Outcome(None, found.backlog.take_effects())

    def acknowledge(
        self, subscription: str, ack_ids: Sequence[str], *, now: int, size_bytes: int = 0
    ) -> Outcome[None]:
        """Acknowledge deliveries; stale ids are accepted and change nothing (DLV-23..25).

        `size_bytes` is the encoded request's, where it is limited (DLV-27).
        """
        self._check_ack_request(subscription, ack_ids, size_bytes)
        backlog = self._world.subscription(subscription).backlog
        backlog.check_ack_ids(ack_ids)
        backlog.acknowledge(ack_ids)
        return Outcome(None, backlog.take_effects())

    def modify_ack_deadline(
        self,
        subscription: str,
        ack_ids: Sequence[str],
        seconds: int,
        *,
        now: int,
        size_bytes: int = 0,
    ) -> Outcome[None]:
        """Let leases end `seconds` from now; 0 is a nack (DLV-03, DLV-21, DLV-22)."""
        self._check_ack_request(subscription, ack_ids, size_bytes)
        found = self._world.subscription(subscription)
        if not 0 <= seconds <= limits.ACK_DEADLINE_MAX_S:
            raise errors.bad_ack_deadline(seconds, 0, limits.ACK_DEADLINE_MAX_S)
        backlog = found.backlog
        backlog.check_ack_ids(ack_ids)
        self._modify(backlog, ack_ids, seconds, now)
        return Outcome(None, backlog.take_effects())

    def _modify(self, backlog: Backlog, ack_ids: Sequence[str], seconds: int, now: int) -> None:
        if seconds:
            backlog.modify(ack_ids, now + seconds * SECOND_US)
        else:
            backlog.nack(ack_ids)

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
        ended, left = found.leases.expire(now, budget)
        effects: dict[Effect, None] = {}  # each once, in order
        for backlog, deliveries in ended:
            if not backlog.is_closed:
                backlog.requeue(deliveries)
                effects.update(dict.fromkeys(backlog.take_effects()))
        found.do_chores(left)
        next_us = self.next_deadline(project)
        is_more_due = next_us is not None and next_us <= now
        return Outcome(is_more_due, tuple(effects))

    def next_deadline(self, project: str) -> int | None:
        """When `tick` has work for a project: 0 for at once, None for not before another call."""
        found = self._world.projects.get(project)
        if found is None:
            return None
        return 0 if found.chores else found.leases.next_deadline()

    def projects(self) -> list[str]:
        """The projects that have been used."""
        return list(self._world.projects)

    # --- all at once ---

    def reset(self, *, nonce: bytes) -> Outcome[None]:
        """Forget every topic and subscription; ids from before are stale (design: `nonce`)."""
        old = self._world
        self._world = World(nonce, old.allowed_projects)
        self.topics = Topics(self._world)
        self.subscriptions = Subscriptions(self._world)
        self.policies = Policies(self._world)
        ended = tuple(Ended(name, errors.not_found(name)) for name in old.subscriptions)
        for name, subscription in old.subscriptions.items():
            if subscription.backlog.is_closed:
                continue
            subscription.backlog.close()
            chores = (subscription.backlog, subscription.backlog.log)
            old.project(names.project_of(name)).chores.extend(chores)
        for project_id, project in old.projects.items():
            if project.chores:
                self._world.project(project_id).chores = project.chores
        return Outcome(None, ended)

    def __repr__(self) -> str:
        return f"<Engine {self._world!r}>"
