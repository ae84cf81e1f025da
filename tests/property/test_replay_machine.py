"""Random seeks, snapshots, retentions and times against the naive model and a second engine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from emulator.api import pubsub
from emulator.engine.delivery import backlog as backlog_module
from emulator.engine.delivery import expiry as expiry_module
from emulator.engine.delivery import queue as queue_module
from emulator.engine.delivery.delivery import Delivery
from emulator.engine.engine import Engine
from emulator.engine.log.message_log import MessageLog
from emulator.engine.operations import seeking as seeking_module
from emulator.engine.resources import alarms as alarms_module
from emulator.engine.resources.subscription import Subscription
from emulator.engine.values import durations
from emulator.engine.values.errors import PubsubError
from tests.property.invariants import check_engine, delivered, unacked_positions
from tests.property.ledger import Ledger
from tests.property.replay_model import SECOND_US, ModelReplay, ModelSnapshot, ModelTopic
from tests.property.test_engine_machine import plain
from tests.spec import spec

TOPIC = "projects/p/topics/top"
NAMES = [f"projects/p/subscriptions/sub-{letter}" for letter in "abc"]
SNAPSHOTS = [f"projects/p/snapshots/shot-{letter}" for letter in "ab"]
START_US = 1_700_000_000_000_000
DAY_S = 86_400
FILTER = 'attributes.colour = "red"'

names = st.sampled_from(NAMES)
snapshots = st.sampled_from(SNAPSHOTS)
retentions_s = st.sampled_from([600, 3_600, 7 * DAY_S])
topic_retentions_s = st.sampled_from([None, 600, 3_600, 2 * DAY_S])
#: Which of the leases so far, counted from the newest, so that most of them run.
choices = st.lists(st.integers(0, 15), min_size=1, max_size=6)

Call = Callable[[Engine], Any]


class ReplayMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.patches = ExitStack()
        # Small, so that slices and clearing up come into play with few messages.
        for module, name, value in [
            (backlog_module, "FEED_BUDGET", 2),
            (expiry_module, "_MANY", 2),
            (queue_module, "_SLACK", 2),
            (alarms_module, "_SLACK", 2),
            (seeking_module, "_CHAINED", 3),
            (MessageLog, "FREED_AT_ONCE", 6),  # as many as one call has here
        ]:
            self.patches.enter_context(patch.object(module, name, value))
        self.engine, self.twin = (Engine(nonce=b"nonce") for _ in range(2))
        self.ledger = Ledger()  # of the first; nobody listens to the twin
        self.engine.recording.is_on = True
        self.now = START_US
        self.topic = ModelTopic()
        self.subscriptions: dict[str, ModelReplay] = {}
        self.snapshots: dict[str, ModelSnapshot] = {}
        self.ack_ids: dict[str, list[str]] = {name: [] for name in NAMES}

    def teardown(self) -> None:
        self.patches.close()

    def both(self, call: Call) -> Any:
        first: Any
        first, second = (self._try(engine, call) for engine in (self.engine, self.twin))
        if isinstance(first, PubsubError):
            self.ledger.apply(self.engine.recording.take())
        else:
            self.ledger.apply(first.events)
            first = first._replace(events=())
        assert plain(first) == plain(second)
        return first

    @staticmethod
    def _try(engine: Engine, call: Call) -> object:
        try:
            return call(engine)
        except PubsubError as error:
            return error

    def do(self, call: Call) -> Any:
        """Let both engines do what must not be refused, and what is due after it."""
        outcome = self.both(call)
        assert not isinstance(outcome, PubsubError), outcome
        self.ring()
        return outcome

    def ring(self) -> None:
        """Have all done whose time has come, but none of the chores."""
        while self._is_due():
            self.both(lambda e: e.tick("p", now=self.now, budget=1))
        for name, snapshot in list(self.snapshots.items()):
            if snapshot.expires_us <= self.now:
                del self.snapshots[name]
        topics = {id(s.topic): s.topic for s in self.subscriptions.values()}
        for topic in [self.topic, *topics.values()]:
            topic.expire(self.now)
        for subscription in self.subscriptions.values():
            subscription.fail(subscription.due(self.now))

    def _is_due(self) -> bool:
        project = self.engine._world.projects["p"]
        times = (project.leases.next_deadline(), project.alarms.next())
        return any(time_us is not None and time_us <= self.now for time_us in times)

    def inner(self, name: str) -> Subscription:
        return self.engine._world.subscriptions[name]

    # --- administration ---

    @initialize(retention_s=topic_retentions_s)
    def something_to_begin_with(self, retention_s: int | None) -> None:
        self.create_topic(retention_s)
        self.create(NAMES[0], is_filtered=False, is_ordered=False, retains=True, retention_s=3_600)

    def create_topic(self, retention_s: int | None) -> None:
        given = pubsub.Topic(name=TOPIC)
        self.topic = ModelTopic()
        if retention_s is not None:
            given.message_retention_duration.seconds = retention_s
            self.topic.retain(retention_s * SECOND_US)
        self.do(lambda e: e.topics.create(given, now=self.now))

    @rule(chance=st.integers(0, 7), retention_s=topic_retentions_s)
    def delete_topic(self, chance: int, retention_s: int | None) -> None:
        if chance:
            return  # seldom, so that there is something to replay
        self.topic.is_deleted = True
        self.topic.retain(None)
        self.do(lambda e: e.topics.delete(TOPIC, now=self.now))
        self.create_topic(retention_s)

    @rule(
        name=names,
        is_filtered=st.booleans(),
        is_ordered=st.booleans(),
        retains=st.booleans(),
        retention_s=retentions_s,
    )
    def create(
        self, name: str, is_filtered: bool, is_ordered: bool, retains: bool, retention_s: int
    ) -> None:
        given = pubsub.Subscription(
            name=name,
            topic=TOPIC,
            filter=FILTER if is_filtered else "",
            enable_message_ordering=is_ordered,
            retain_acked_messages=retains,
            expiration_policy={},
        )
        given.message_retention_duration.seconds = retention_s
        outcome = self.both(lambda e: e.subscriptions.create(given, now=self.now))
        assert isinstance(outcome, PubsubError) == (name in self.subscriptions)
        if name not in self.subscriptions:
            made = ModelReplay(
                self.topic,
                "red" if is_filtered else None,
                is_ordered,
                retention_s * SECOND_US,
                retains,
            )
            self.subscriptions[name] = made
            self.topic.subscriptions.append(made)

    @precondition(lambda self: len(self.subscriptions) > 1)
    @rule(name=names)
    def delete(self, name: str) -> None:
        gone = self.subscriptions.pop(name, None)
        if gone is not None:
            gone.topic.subscriptions.remove(gone)
            self.do(lambda e: e.subscriptions.delete(name, now=self.now))

    @rule(name=names, retains=st.booleans())
    def retain_acked(self, name: str, retains: bool) -> None:
        given = pubsub.Subscription(name=name, retain_acked_messages=retains)
        self.update(given, "retain_acked_messages")
        if name in self.subscriptions:
            self.subscriptions[name].set_retains_acked(retains)

    @rule(name=names, retention_s=retentions_s)
    def change_retention(self, name: str, retention_s: int) -> None:
        given = pubsub.Subscription(name=name)
        given.message_retention_duration.seconds = retention_s
        if name in self.subscriptions:
            self.subscriptions[name].retention_us = retention_s * SECOND_US
        self.update(given, "message_retention_duration")

    def update(self, given: pubsub.Subscription, path: str) -> None:
        if given.name in self.subscriptions:
            self.do(lambda e: e.subscriptions.update(given, [path], now=self.now))

    @rule(retention_s=topic_retentions_s)
    def change_topic_retention(self, retention_s: int | None) -> None:
        given = pubsub.Topic(name=TOPIC)
        if retention_s is not None:
            given.message_retention_duration.seconds = retention_s
        self.topic.retain(None if retention_s is None else retention_s * SECOND_US)
        path = "message_retention_duration"
        self.do(lambda e: e.topics.update(given, [path], now=self.now))

    # --- messages ---

    @rule(
        key=st.sampled_from(["", "", "k", "l"]),
        colours=st.lists(st.sampled_from(["red", "blue"]), min_size=1, max_size=4),
    )
    def publish(self, key: str, colours: list[str]) -> None:
        request = pubsub.PublishRequest(topic=TOPIC)
        for colour in colours:
            request.messages.add(attributes={"colour": colour}, ordering_key=key)
        encoded = request.SerializeToString()
        self.do(lambda e: e.publish(request, encoded, now=self.now))
        self.topic.publish(self.now - self.now % 1_000, key, colours)

    @rule(name=names, limit=st.integers(1, 6))
    def lease(self, name: str, limit: int) -> None:
        subscription = self.subscriptions.get(name)
        if subscription is None:
            return
        out_before = {subscription._key(p) for p in subscription.leased}
        deliveries: list[Delivery] = self.do(
            lambda e: delivered(e, name, e.lease(name, limit, now=self.now))
        ).value
        for delivery in deliveries:
            position = delivery.message.position
            if subscription.is_ordered and delivery.message.ordering_key:
                assert delivery.message.ordering_key not in out_before
            is_whole = self.inner(name).backlog.feed is None
            assert not is_whole or subscription.is_next(position)
            subscription.lease(position, delivery.ack_id, self.now + 10 * SECOND_US)
            self.ack_ids[name].append(delivery.ack_id)

    def chosen(self, name: str, choice: list[int]) -> list[str]:
        issued = self.ack_ids[name]
        ids = [issued[-1 - n % len(issued)] for n in choice] if issued else []
        subscription = self.subscriptions[name]
        if not subscription.is_ordered:
            return ids
        # What late acks do in lanes is another machine's matter.
        running = {ack_id for ack_id, _ in subscription.leased.values()}
        return [ack_id for ack_id in ids if ack_id in running]

    @rule(name=names, choice=choices)
    def acknowledge(self, name: str, choice: list[int]) -> None:
        if name in self.subscriptions and (ids := self.chosen(name, choice)):
            self.do(lambda e: e.acknowledge(name, ids, now=self.now))
            self.subscriptions[name].acknowledge(ids)

    @rule(name=names, choice=choices)
    def nack(self, name: str, choice: list[int]) -> None:
        if name in self.subscriptions and (ids := self.chosen(name, choice)):
            self.do(lambda e: e.modify_ack_deadline(name, ids, 0, now=self.now))
            self.subscriptions[name].fail(ids)

    # --- replay ---

    @rule(name=names, back_s=st.sampled_from([-DAY_S, 0, 1, 60, 601, 3_600, 2 * DAY_S, 10**9]))
    def seek_to_time(self, name: str, back_s: int) -> None:
        self._seek_to_time(name, self.now - back_s * SECOND_US)

    @precondition(lambda self: self.topic.messages)
    @rule(name=names, which=st.integers(0, 50))
    def seek_to_a_message(self, name: str, which: int) -> None:
        messages = self.topic.messages
        self._seek_to_time(name, messages[which % len(messages)].time_us)

    def _seek_to_time(self, name: str, time_us: int) -> None:
        if name in self.subscriptions:
            request = pubsub.SeekRequest(subscription=name, time=durations.to_timestamp(time_us))
            self.subscriptions[name].seek_to_time(time_us)
            self.do(lambda e: e.seeking.seek(request, now=self.now))

    @rule(name=snapshots, subscription=names)
    def create_snapshot(self, name: str, subscription: str) -> None:
        given = pubsub.CreateSnapshotRequest(name=name, subscription=subscription)
        source = self.subscriptions.get(subscription)
        made = source.capture(self.now) if source is not None else None
        outcome = self.both(lambda e: e.snapshots.create(given, now=self.now))
        is_refused = name in self.snapshots or made is None
        assert isinstance(outcome, PubsubError) == is_refused
        if made is not None and not is_refused:
            expire_us = durations.timestamp_us(outcome.value.expire_time)
            assert expire_us == made.expires_us - made.expires_us % 1_000
            self.snapshots[name] = made

    @rule(name=snapshots)
    def delete_snapshot(self, name: str) -> None:
        outcome = self.both(lambda e: e.snapshots.delete(name, now=self.now))
        assert isinstance(outcome, PubsubError) == (name not in self.snapshots)
        self.snapshots.pop(name, None)

    @rule(name=names, snapshot=snapshots)
    def seek_to_snapshot(self, name: str, snapshot: str) -> None:
        request = pubsub.SeekRequest(subscription=name, snapshot=snapshot)
        outcome = self.both(lambda e: e.seeking.seek(request, now=self.now))
        found, target = self.subscriptions.get(name), self.snapshots.get(snapshot)
        is_refused = found is None or target is None or found.topic is not target.topic
        assert isinstance(outcome, PubsubError) == is_refused
        if found is not None and target is not None and not is_refused:
            found.seek_to_snapshot(target)
            self.ring()

    # --- time ---

    @rule(seconds=st.sampled_from([0.001, 1, 10, 599, 600, 3_601, DAY_S, 3 * DAY_S, 6.96 * DAY_S]))
    def pass_time(self, seconds: float) -> None:
        self.now += round(seconds * SECOND_US)
        self.ring()

    @rule(budget=st.sampled_from([1, 2, 5]))
    def do_some_chores(self, budget: int) -> None:
        self.both(lambda e: e.tick("p", now=self.now, budget=budget))

    @rule()
    def become_idle(self) -> None:
        """All chores done: nothing is kept that nobody needs."""
        while self.both(lambda e: e.tick("p", now=self.now, budget=3)).value:
            pass
        for name, subscription in self.subscriptions.items():
            self.check_subscription(name, subscription)
        self.check_log()

    # --- what must hold ---

    @invariant()
    def backlogs_are_as_in_the_model(self) -> None:
        check_engine(self.engine)
        self.ledger.check(self.engine)
        for name, subscription in self.subscriptions.items():
            backlog = self.inner(name).backlog
            assert backlog.leased == len(subscription.leased)
            if backlog.feed is None:
                self.check_subscription(name, subscription)
            else:
                assert backlog.undelivered >= len(subscription.unacked)
            self.check_alarm(name, subscription)

    @invariant()
    def snapshots_are_as_in_the_model(self) -> None:
        assert set(self.engine._world.snapshots) == set(self.snapshots)

    def check_subscription(self, name: str, subscription: ModelReplay) -> None:
        found = self.inner(name)
        assert unacked_positions(found.backlog) == sorted(subscription.unacked)
        assert found.backlog.undelivered == len(subscription.unacked)
        if found.history is not None:
            assert set(found.history.older) <= subscription.retained
        oldest_us = found.backlog.oldest_us
        times = [subscription.topic.messages[p].time_us for p in subscription.unacked]
        if times:
            # No later than the oldest message, or it would outlive its time.
            assert oldest_us is not None
            assert oldest_us <= min(times)

    def check_alarm(self, name: str, subscription: ModelReplay) -> None:
        """It rings no later than the oldest message is too old."""
        times = [subscription.topic.messages[p].time_us for p in subscription.unacked]
        if times:
            alarm_us = self.inner(name).retention.alarm_us
            assert alarm_us is not None
            assert alarm_us <= min(times) + subscription.effective_us

    def check_log(self) -> None:
        log = self.engine._world.topics[TOPIC].log
        assert log.garbage == 0
        attached = [name for name, s in self.subscriptions.items() if s.topic is self.topic]
        needed = [s.end for s in self.snapshots.values() if s.topic is self.topic]
        needed += [min(self.topic.retained, default=log.end)]
        for name in attached:
            needed.append(self.inner(name).backlog.log_position)
            history = self.inner(name).history
            if history is not None:
                needed.append(history.position)
        assert log.floor >= min(needed) - self.slack_of_snapshots()
        messages = sum(entry is not None for entry in log._entries)
        assert messages == log.kept == log.end - log.floor

    def slack_of_snapshots(self) -> int:
        """A snapshot's unread messages are in the log: it begins where its source was."""
        held = [
            snapshot.end - min(snapshot.unacked)
            for snapshot in self.snapshots.values()
            if snapshot.topic is self.topic and snapshot.unacked
        ]
        return max(held, default=0)


ReplayMachine.TestCase.settings = settings(max_examples=500, stateful_step_count=50)
TestReplayMachine = spec("SEK-01", "SEK-03", "SEK-04", "SEK-06", "SEK-09", "SEK-10", "SEK-12")(
    spec("SEK-11", "SNP-01", "SNP-02", "SNP-06", "DLV-41", "DLV-42")(ReplayMachine.TestCase)
)
