"""Random commands against the engine, its naive model, and a second engine that must agree."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from emulator.api import pubsub
from emulator.engine.delivery import deadlines as heap_module
from emulator.engine.delivery import queue as queue_module
from emulator.engine.delivery.delivery import AVAILABLE, Delivery
from emulator.engine.delivery.holder import Holder
from emulator.engine.delivery.outcome import Room
from emulator.engine.engine import Engine
from emulator.engine.log.message_log import MessageLog
from emulator.engine.values.errors import PubsubError
from emulator.engine.values.limits import RETENTION_DEFAULT_S
from tests.property.invariants import (
    backlog_of,
    check_engine,
    check_window,
    delivered,
    messages_only,
)
from tests.property.model import SECOND_US, Model, ModelSubscription
from tests.spec import spec

PROJECTS = ["p", "q"]
TOPICS = ["projects/p/topics/one", "projects/p/topics/two", "projects/q/topics/one"]
SUBSCRIPTIONS = [
    "projects/p/subscriptions/abc",
    "projects/p/subscriptions/abd",
    "projects/q/subscriptions/abc",
]
DEADLINES_S = [10, 11, 600]
START_US = 1_700_000_000_000_000
RETENTION_US = RETENTION_DEFAULT_S * SECOND_US
topics = st.sampled_from(TOPICS)
subscriptions = st.sampled_from(SUBSCRIPTIONS)
#: Which of the ids issued so far: counted from the newest, so that most of them are live.
choices = st.lists(st.integers(0, 30), min_size=1, max_size=8)
budgets = st.sampled_from([1, 2, 3, 5, 1_000])

Call = Callable[[Engine], Any]


class Stream(NamedTuple):
    """An open stream: its number, its holder in either engine, and its limits."""

    number: int
    holders: tuple[Holder, Holder]
    deadline_s: int
    max_messages: int

    @property
    def subscription(self) -> str:
        return self.holders[0].subscription


def plain(value: object) -> object:
    """`value` in a form in which equal outcomes of two engines are equal."""
    if isinstance(value, Delivery):
        return value.ack_id, value.attempt, value.deadline_us, value.message.encoded
    if isinstance(value, PubsubError | Holder):
        return repr(value)
    if isinstance(value, Room):
        return "room", value.holder
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


class EngineMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.patches = ExitStack()
        # Small, so that compaction and slices come into play with few messages.
        self.patches.enter_context(patch.object(heap_module, "_SLACK", 3))
        self.patches.enter_context(patch.object(queue_module, "_SLACK", 2))
        self.patches.enter_context(patch.object(MessageLog, "FREED_AT_ONCE", 2))
        self.resets = 0
        self.engine, self.twin = (Engine(nonce=self.nonce()) for _ in range(2))
        self.model = Model()
        self.now = START_US
        self.message_ids: set[str] = set()
        self.ack_ids: set[str] = set()
        #: By subscription name, over all its lives: every lease with its ack id, oldest first.
        self.leases: dict[str, list[tuple[Delivery, str]]] = {name: [] for name in SUBSCRIPTIONS}
        self.twin_leases: dict[str, list[tuple[Delivery, str]]] = {n: [] for n in SUBSCRIPTIONS}
        self.streams: list[Stream] = []
        self.streams_opened = 0

    def teardown(self) -> None:
        self.patches.close()

    def nonce(self) -> bytes:
        return b"nonce %d" % self.resets

    def both(self, call: Call) -> Any:
        """Let both engines do `call`; return the first one's outcome, or its error."""
        first, second = self._try(self.engine, call), self._try(self.twin, call)
        assert plain(first) == plain(second)
        return first

    @staticmethod
    def _try(engine: Engine, call: Call) -> object:
        try:
            return call(engine)
        except PubsubError as error:
            return error

    def chosen(self, subscription: str, choice: list[int]) -> list[str]:
        """Ack ids that were issued for `subscription` some time, live or stale."""
        issued = self.leases[subscription]
        return [issued[-1 - n % len(issued)][1] for n in choice] if issued else []

    # --- administration ---

    @initialize()
    def something_to_begin_with(self) -> None:
        for topic in TOPICS[:2]:
            self.create_topic(topic)
        for subscription in SUBSCRIPTIONS:
            self.create_subscription(subscription, TOPICS[0], 10)

    @rule(topic=topics)
    def create_topic(self, topic: str) -> None:
        outcome = self.both(lambda e: e.topics.create(pubsub.Topic(name=topic), now=self.now))
        assert isinstance(outcome, PubsubError) == (topic in self.model.topics)
        self.model.topics.add(topic)

    @rule(topic=topics)
    def delete_topic(self, topic: str) -> None:
        outcome = self.both(lambda e: e.topics.delete(topic, now=self.now))
        assert isinstance(outcome, PubsubError) == (topic not in self.model.topics)
        if topic in self.model.topics:
            self.model.delete_topic(topic)

    @rule(name=subscriptions, topic=topics, deadline_s=st.sampled_from(DEADLINES_S))
    def create_subscription(self, name: str, topic: str, deadline_s: int) -> None:
        given = pubsub.Subscription(
            name=name, topic=topic, ack_deadline_seconds=deadline_s, expiration_policy={}
        )
        outcome = self.both(lambda e: e.subscriptions.create(given, now=self.now))
        is_refused = name in self.model.subscriptions or topic not in self.model.topics
        assert isinstance(outcome, PubsubError) == is_refused
        if not is_refused:
            self.model.subscriptions[name] = ModelSubscription(name, topic, deadline_s)

    @rule(name=subscriptions)
    def delete_subscription(self, name: str) -> None:
        outcome = self.both(lambda e: e.subscriptions.delete(name, now=self.now))
        assert isinstance(outcome, PubsubError) == (name not in self.model.subscriptions)
        self.model.subscriptions.pop(name, None)
        self.streams = [stream for stream in self.streams if stream.subscription != name]

    @rule(name=subscriptions, topic=topics)
    def delete_and_create_subscription(self, name: str, topic: str) -> None:
        self.delete_subscription(name)
        self.create_subscription(name, topic, 10)

    @precondition(lambda self: self.ack_ids)
    @rule(chance=st.integers(0, 9))
    def reset(self, chance: int) -> None:
        if chance:
            return  # seldom, so that there is something to reset
        self.resets += 1
        self.both(lambda e: e.reset(nonce=self.nonce(), now=self.now))
        self.model = Model()
        self.streams = []
        self.something_to_begin_with()

    # --- messages ---

    @rule(topic=topics, count=st.integers(1, 6), size=st.integers(1, 40))
    def publish(self, topic: str, count: int, size: int) -> None:
        request = pubsub.PublishRequest(topic=topic)
        for _ in range(count):
            request.messages.add(data=b"x" * size)
        encoded = request.SerializeToString()
        outcome = self.both(lambda e: e.publish(request, encoded, now=self.now))
        if topic not in self.model.topics:
            assert isinstance(outcome, PubsubError)
            return
        ids = outcome.value
        assert len(set(ids)) == count
        assert self.message_ids.isdisjoint(ids)
        self.message_ids.update(ids)
        woken = sorted(effect.subscription for effect in outcome.effects)
        attached = self.model.attached(topic)
        assert woken == sorted(subscription.name for subscription in attached)
        for subscription in attached:
            subscription.publish(ids)

    @rule(name=subscriptions, limit=st.integers(1, 8))
    def lease(self, name: str, limit: int) -> None:
        if name not in self.model.subscriptions:
            outcome = self.both(lambda e: delivered(e, name, e.lease(name, limit, now=self.now)))
            assert isinstance(outcome, PubsubError)
            return
        deadline_s = self.model.subscriptions[name].ack_deadline_s
        self.check_lease(
            name,
            limit,
            deadline_s,
            lambda e: delivered(e, name, e.lease(name, limit, now=self.now)),
        )

    def check_lease(
        self, name: str, limit: int, deadline_s: int, call: Call, stream: int | None = None
    ) -> None:
        """Let both engines lease up to `limit` messages, and the model too."""
        deliveries: list[Delivery] = []
        twins: list[Delivery] = []

        def remember(engine: Engine) -> Any:
            outcome = call(engine)
            (deliveries if engine is self.engine else twins).extend(outcome.value)
            return outcome

        self.both(remember)
        self.leases[name] += [(d, d.ack_id) for d in deliveries]
        self.twin_leases[name] += [(d, d.ack_id) for d in twins]
        ack_ids = [d.ack_id for d in deliveries]
        assert len(set(ack_ids)) == len(ack_ids)
        assert self.ack_ids.isdisjoint(ack_ids)
        self.ack_ids.update(ack_ids)
        deadline_us = self.now + deadline_s * SECOND_US
        expected = self.model.subscriptions[name].lease(limit, ack_ids, deadline_us, stream)
        assert [(self.message_id(d), d.attempt) for d in deliveries] == expected

    @rule(
        name=subscriptions,
        deadline_s=st.sampled_from(DEADLINES_S),
        max_messages=st.sampled_from([0, 1, 3]),
    )
    def open_stream(self, name: str, deadline_s: int, max_messages: int) -> None:
        request = pubsub.StreamingPullRequest(
            subscription=name,
            stream_ack_deadline_seconds=deadline_s,
            max_outstanding_messages=max_messages,
        )
        holders = []

        def call(engine: Engine) -> Any:
            outcome = engine.streaming.open(request, now=self.now)
            holders.append(engine._world.holders[outcome.value])
            return outcome

        outcome = self.both(call)
        assert isinstance(outcome, PubsubError) == (name not in self.model.subscriptions)
        if holders:
            first, second = holders
            self.streams_opened += 1
            stream = Stream(self.streams_opened, (first, second), deadline_s, max_messages)
            self.streams.append(stream)

    @precondition(lambda self: self.streams)
    @rule(which=st.integers(0, 9), limit=st.integers(1, 8))
    def lease_to_a_stream(self, which: int, limit: int) -> None:
        stream = self.streams[which % len(self.streams)]
        held = self.model.subscriptions[stream.subscription].held_by(stream.number)
        room = max(stream.max_messages - held, 0) if stream.max_messages else limit

        def call(engine: Engine) -> Any:
            holder = stream.holders[0 if engine is self.engine else 1]
            return delivered(
                engine,
                stream.subscription,
                messages_only(engine.holders.lease(holder.id, limit, now=self.now)),
            )

        name = stream.subscription
        self.check_lease(name, min(limit, room), stream.deadline_s, call, stream.number)

    @staticmethod
    def message_id(delivery: Delivery) -> str:
        return pubsub.PubsubMessage.FromString(delivery.message.encoded).message_id

    @rule(name=subscriptions, choice=choices, is_late=st.booleans())
    def acknowledge(self, name: str, choice: list[int], is_late: bool) -> None:
        ack_ids = self.chosen(name, [n * 3 if is_late else n for n in choice])
        outcome = self.both(lambda e: e.acknowledge(name, ack_ids, now=self.now))
        subscription = self.model.subscriptions.get(name)
        assert isinstance(outcome, PubsubError) == (not ack_ids or subscription is None)
        if subscription is not None:
            subscription.acknowledge(ack_ids)

    @rule(
        name=subscriptions,
        choice=choices,
        seconds=st.sampled_from([0, 0, 1, 5, 10, 60, 600]),
    )
    def modify(self, name: str, choice: list[int], seconds: int) -> None:
        ack_ids = self.chosen(name, choice)
        outcome = self.both(lambda e: e.modify_ack_deadline(name, ack_ids, seconds, now=self.now))
        subscription = self.model.subscriptions.get(name)
        assert isinstance(outcome, PubsubError) == (not ack_ids or subscription is None)
        if subscription is not None and seconds:
            subscription.modify(ack_ids, self.now + seconds * SECOND_US)
        elif subscription is not None:
            subscription.end(ack_ids)

    @rule(name=subscriptions, choice=choices, is_ack=st.booleans(), place=st.integers(0, 8))
    def settle_with_a_bad_id(self, name: str, choice: list[int], is_ack: bool, place: int) -> None:
        """One malformed id, and nothing at all happens."""
        ack_ids = self.chosen(name, choice)
        foreign = [i for other, ids in self.leases.items() if other != name for _, i in ids[-1:]]
        ack_ids.insert(place, (foreign or ["junk"])[0])
        if is_ack:
            outcome = self.both(lambda e: e.acknowledge(name, ack_ids, now=self.now))
        else:
            outcome = self.both(lambda e: e.modify_ack_deadline(name, ack_ids, 0, now=self.now))
        assert isinstance(outcome, PubsubError)

    @rule(name=subscriptions, count=st.integers(1, 6))
    def release(self, name: str, count: int) -> None:
        ack_ids = [ack_id for _, ack_id in self.leases[name][-count:]]

        def call(engine: Engine) -> object:
            leases = self.leases if engine is self.engine else self.twin_leases
            return engine.release(name, [i for _, i in leases[name][-count:]], now=self.now)

        self.both(call)
        if name in self.model.subscriptions:
            self.model.subscriptions[name].release(ack_ids)

    # --- time ---

    @rule(seconds=st.sampled_from([0.000_001, 1, 5, 9.999_999, 10, 11, 60, 601]))
    def pass_time(self, seconds: float) -> None:
        self.now += round(seconds * SECOND_US)

    @rule(project=st.sampled_from(PROJECTS), budget=budgets)
    def tick(self, project: str, budget: int) -> None:
        outcome = self.both(lambda e: e.tick(project, now=self.now, budget=budget))
        ended = self.adopt_ended_leases(project)
        assert ended <= budget
        next_us = self.engine.next_deadline(project)
        assert outcome.value == (next_us is not None and next_us <= self.now)
        if not outcome.value:
            due = self.model.next_deadline(project)
            assert due is None or due > self.now
            if due is None:
                # Only retention is left, and no run comes as far as that.
                assert next_us is None or next_us >= START_US + RETENTION_US
            else:
                assert next_us is not None
                assert next_us <= due

    @rule(project=st.sampled_from(PROJECTS))
    def tick_until_done(self, project: str) -> None:
        rounds = 0
        while self.both(lambda e: e.tick(project, now=self.now, budget=3)).value:
            rounds += 1
            assert rounds < 10_000
        self.adopt_ended_leases(project)
        due = self.model.next_deadline(project)
        assert due is None or due > self.now

    def adopt_ended_leases(self, project: str) -> int:
        """Let those due leases end in the model that ended in the engine; return how many.

        A small budget ends some of them; which ones is the engine's business.
        """
        count = 0
        for name, subscription in self.model.subscriptions.items():
            if not name.startswith(f"projects/{project}/"):
                continue
            due = set(subscription.due(self.now))
            waiting = [d.ack_id for d in backlog_of(self.engine, name).queue.redeliveries]
            state = {d.ack_id: d.state for d in backlog_of(self.engine, name).queue.redeliveries}
            ended = [i for i in waiting if i in due and state[i] is AVAILABLE]
            subscription.end(ended)
            count += len(ended)
        return count

    # --- what must hold after every command ---

    @invariant()
    def engines_are_whole(self) -> None:
        check_engine(self.engine)

    @invariant()
    def nothing_is_lost_or_double(self) -> None:
        assert set(self.engine._world.topics) == self.model.topics
        assert set(self.engine._world.subscriptions) == set(self.model.subscriptions)
        for name, subscription in self.model.subscriptions.items():
            backlog = backlog_of(self.engine, name)
            assert backlog.available == len(subscription.queue)
            assert backlog.leased == len(subscription.leased)
            assert backlog.undelivered == len(subscription.queue) + len(subscription.leased)
            for message in subscription.leased:
                delivery = backlog.leases.by_ack_id[message.ack_id]
                assert delivery.deadline_us == message.deadline_us
                assert delivery.attempt == message.attempt
                assert self.message_id(delivery) == message.message_id

    @invariant()
    def windows_are_exact(self) -> None:
        for stream in self.streams:
            held = self.model.subscriptions[stream.subscription].held_by(stream.number)
            assert stream.holders[0].held_messages == held
            check_window(stream.holders[0], backlog_of(self.engine, stream.subscription))

    @invariant()
    def memory_is_bounded_by_what_is_live(self) -> None:
        for name, subscription in self.model.subscriptions.items():
            held = len(backlog_of(self.engine, name).leases.by_ack_id)
            assert held <= len(subscription.queue) + len(subscription.leased)


EngineMachine.TestCase.settings = settings(max_examples=250, stateful_step_count=60)
TestEngineMachine = spec("DLV-01", "DLV-02", "DLV-05", "DLV-06", "DLV-23", "DLV-24")(
    spec("ACK-01", "GEN-01", "PUB-07", "STR-07")(EngineMachine.TestCase)
)
