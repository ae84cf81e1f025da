"""Random commands on subscriptions with every guarantee, against a naive model and a twin."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import count
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
from emulator.api.rpc import ErrorInfo
from emulator.engine.delivery import deadlines as heap_module
from emulator.engine.delivery import queue as queue_module
from emulator.engine.delivery import ready_lanes as ready_module
from emulator.engine.delivery.backlog import Backlog
from emulator.engine.delivery.delivery import Delivery, DeliveryState
from emulator.engine.delivery.holder import Holder
from emulator.engine.delivery.outcome import Forward, Outcome, Room
from emulator.engine.engine import Engine
from emulator.engine.log.message_log import MessageLog
from emulator.engine.values.errors import PubsubError
from emulator.engine.values.names import project_of
from tests.property import guarantees_model as model_module
from tests.property.guarantees_model import (
    DELAYED,
    INVALID,
    LEASED,
    SECOND_US,
    UNORDERED,
    Model,
    ModelSubscription,
    Window,
)
from tests.property.invariants import (
    attempts_of,
    backlog_of,
    check_engine,
    check_window,
    delivered,
    messages_only,
)
from tests.property.ledger import Ledger
from tests.spec import spec

PROJECTS = ["p", "q"]
TOP, DEAD, LAST = "projects/p/topics/top", "projects/q/topics/dead", "projects/p/topics/last"
TOPICS = [TOP, DEAD, LAST]
SUBSCRIPTIONS = ONE, TWO, THREE, MORGUE = [
    "projects/p/subscriptions/one",
    "projects/p/subscriptions/two",
    "projects/q/subscriptions/three",
    "projects/q/subscriptions/morgue",
]
FILTERS: dict[str, Callable[[Any], bool]] = {
    "": lambda attributes: True,
    'attributes.n = "1"': lambda attributes: attributes.get("n") == "1",
    "NOT attributes:n": lambda attributes: "n" not in attributes,
}
#: Minimum and maximum in seconds.
BACKOFFS = [None, (2, 8), (0, 600), (1, 600)]

subscriptions = st.sampled_from([ONE, ONE, TWO, TWO, THREE, MORGUE])
#: Which of the ids issued so far: counted from the newest, so that most of them are live.
choices = st.lists(st.integers(0, 20), min_size=1, max_size=6)

Call = Callable[[Engine, int], Any]  # the engine, and which of the twins it is


class Stream(NamedTuple):
    holders: tuple[Holder, Holder]
    deadline_s: int
    window: Window

    @property
    def subscription(self) -> str:
        return self.holders[0].subscription


def plain(value: object) -> object:
    """`value` in a form in which equal outcomes of two engines are equal."""
    if isinstance(value, Delivery):
        return value.ack_id, value.attempt, value.deadline_us, value.message.encoded
    if isinstance(value, PubsubError):
        return repr(value), [detail.value for detail in value.details]
    if isinstance(value, Holder):
        return repr(value)
    if isinstance(value, Room):
        return "room", value.holder
    if isinstance(value, Forward):
        return value.topic, value.content.SerializeToString(deterministic=True)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def failures_of(error: PubsubError | None) -> dict[str, str]:
    if error is None:
        return {}
    info = ErrorInfo()
    assert error.details[0].Unpack(info)
    assert info.metadata, "a failure without a failing id"
    return dict(info.metadata)


class GuaranteesMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.patches = ExitStack()
        # Small, so that compaction and slices come into play with few messages.
        self.patches.enter_context(patch.object(heap_module, "_SLACK", 3))
        self.patches.enter_context(patch.object(queue_module, "_SLACK", 2))
        self.patches.enter_context(patch.object(ready_module, "_SLACK", 2))
        self.patches.enter_context(patch.object(MessageLog, "FREED_AT_ONCE", 2))
        self.twins = [Engine(nonce=b"nonce") for _ in range(2)]
        self.ledger = Ledger()  # of the first; nobody listens to the second
        self.twins[0].recording.is_on = True
        self.model = Model()
        self.now = 1_700_000_000_000_000
        self.numbers = count(1)
        self.ack_ids: set[str] = set()
        #: By subscription name, over all its lives: leases with their ack ids, of either twin.
        self.leases: dict[str, list[list[tuple[Delivery, str]]]] = {
            name: [[], []] for name in SUBSCRIPTIONS
        }
        self.deliveries: dict[str, Delivery] = {}  # by ack id
        self.streams: list[Stream] = []

    @property
    def engine(self) -> Engine:
        return self.twins[0]

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                self.everything_can_be_drained()
        finally:
            self.patches.close()

    def both(self, call: Call) -> Any:
        """Let both engines do `call`; return both outcomes, or the error of both."""
        first, second = (self._try(engine, n, call) for n, engine in enumerate(self.twins))
        first = self.recorded(first)
        assert plain(first) == plain(second)
        return first if isinstance(first, PubsubError) else (first, second)

    def recorded(self, outcome: Any) -> Any:
        """`outcome` of the first twin, as the second would give it."""
        if isinstance(outcome, PubsubError):
            self.ledger.apply(self.twins[0].recording.take())
            return outcome
        self.ledger.apply(outcome.events)
        return outcome._replace(events=())

    @staticmethod
    def _try(engine: Engine, number: int, call: Call) -> Any:
        try:
            return call(engine, number)
        except PubsubError as error:
            return error

    def opened(self, *ids: int) -> tuple[Holder, Holder]:
        first, second = (e._world.holders[i] for e, i in zip(self.twins, ids, strict=True))
        return first, second

    def value(self, outcomes: tuple[Outcome[Any], Outcome[Any]], dead: Sequence[Any] = ()) -> Any:
        """Check the dead letters of an operation, publish them, and return its value."""
        expected = list(dead)
        forwards = [
            [effect for effect in outcome.effects if isinstance(effect, Forward)]
            for outcome in outcomes
        ]
        for first, second in zip(*forwards, strict=True):
            expected.remove((first.topic, first.content))
            outcomes_of_forward = [
                engine.forward(effect, now=self.now)
                for engine, effect in zip(self.twins, (first, second), strict=True)
            ]
            self.ledger.apply(outcomes_of_forward[0].events)
            effects = [outcome.effects for outcome in outcomes_of_forward]
            assert effects[0] == effects[1]
            assert sorted(effect.subscription for effect in effects[0]) == sorted(
                subscription.name for subscription in self.model.attached(first.topic)
            )
            self.model.publish(first.topic, [first.content], self.now)
        assert expected == [], "a dead letter that was not forwarded"
        return outcomes[0].value

    def chosen(self, name: str, choice: list[int], with_junk: bool = False) -> list[str]:
        """Ack ids that were issued for a subscription some time, live or stale."""
        issued = self.leases[name][0]
        found = [issued[-1 - n % len(issued)][1] for n in choice] if issued else []
        return [*found, "junk"] if with_junk else found

    def usable(self, name: str) -> ModelSubscription | None:
        found = self.model.subscriptions.get(name)
        return None if found is None or found.is_detached else found

    # --- administration ---

    @initialize(is_exact=st.booleans(), backoff=st.sampled_from(BACKOFFS))
    def something_to_begin_with(self, is_exact: bool, backoff: tuple[int, int] | None) -> None:
        for topic in TOPICS:
            self.create_topic(topic)
        self.create(ONE, TOP, is_ordered=True, is_exact=is_exact)
        self.create(TWO, TOP, is_ordered=False, is_exact=is_exact, text='attributes.n = "1"')
        self.create(THREE, TOP, is_ordered=True, is_exact=False, text="NOT attributes:n")
        self.create(MORGUE, DEAD, is_ordered=True, is_exact=False)
        for name in (ONE, TWO, THREE):
            self.set_dead_letter_policy(name, DEAD, 5)
        self.set_dead_letter_policy(MORGUE, LAST, 5)
        self.set_retry_policy(ONE, backoff)
        for max_messages in (0, 2):
            self.open_a_stream(ONE, 10, max_messages, 0)
        for key in ("k", "", "k"):
            self.publish_to_top(key, "", 2, 1)

    def create_topic(self, topic: str) -> None:
        assert topic not in self.model.topics
        self.both(lambda e, _: e.topics.create(pubsub.Topic(name=topic), now=self.now))
        self.model.topics[topic] = 0

    def delete_and_create_topic(self, topic: str) -> None:
        self.both(lambda e, _: e.topics.delete(topic, now=self.now))
        self.model.delete_topic(topic)
        self.create_topic(topic)

    def create(
        self, name: str, topic: str, *, is_ordered: bool, is_exact: bool, text: str = ""
    ) -> None:
        given = pubsub.Subscription(
            name=name,
            topic=topic,
            ack_deadline_seconds=10,
            expiration_policy={},
            enable_message_ordering=is_ordered,
            enable_exactly_once_delivery=is_exact,
            filter=text,
        )
        self.both(lambda e, _: e.subscriptions.create(given, now=self.now))
        self.model.subscriptions[name] = ModelSubscription(
            name,
            topic,
            10,
            is_ordered=is_ordered,
            is_exactly_once=is_exact,
            passes=FILTERS[text],
        )

    @rule(
        topic=st.sampled_from([DEAD, DEAD, LAST, TOP]),
        name=subscriptions,
        is_ordered=st.booleans(),
        is_exact=st.booleans(),
        text=st.sampled_from(list(FILTERS)),
        chance=st.integers(0, 19),
    )
    def upset(
        self, topic: str, name: str, is_ordered: bool, is_exact: bool, text: str, chance: int
    ) -> None:
        """Delete something and make it anew; seldom, so that there is something to lose."""
        if chance == 0:
            self.delete_and_create_topic(topic)
        elif chance == 1:
            self.forget_streams(name)
            self.both(lambda e, _: e.subscriptions.detach(name, now=self.now))
            self.model.subscriptions[name].is_detached = True
            self.model.subscriptions[name].topic = None
        elif chance <= 3:
            self.forget_streams(name)
            self.both(lambda e, _: e.subscriptions.delete(name, now=self.now))
            topic = DEAD if name == MORGUE else TOP
            self.create(name, topic, is_ordered=is_ordered, is_exact=is_exact, text=text)
            self.set_dead_letter_policy(name, DEAD, 5)

    def forget_streams(self, name: str) -> None:
        self.streams = [stream for stream in self.streams if stream.subscription != name]

    def update(self, name: str, path: str, **fields: Any) -> None:
        given = pubsub.Subscription(name=name, **fields)
        outcomes = self.both(lambda e, _: e.subscriptions.update(given, [path], now=self.now))
        assert not isinstance(outcomes, PubsubError)

    @rule(
        name=subscriptions,
        change=st.sampled_from(["retry policy", "dead-letter policy", "flag"]),
        backoff=st.sampled_from(BACKOFFS),
        topic=st.sampled_from([DEAD, DEAD, LAST]),
        max_attempts=st.sampled_from([0, 5, 6]),
        is_exact=st.booleans(),
    )
    def change_rules(
        self,
        name: str,
        change: str,
        backoff: tuple[int, int] | None,
        topic: str,
        max_attempts: int,
        is_exact: bool,
    ) -> None:
        if change == "retry policy":
            self.set_retry_policy(name, backoff)
        elif change == "dead-letter policy":
            self.set_dead_letter_policy(name, topic, max_attempts)
        else:
            self.set_exactly_once(name, is_exact)

    def set_retry_policy(self, name: str, backoff: tuple[int, int] | None) -> None:
        if backoff is None:
            self.update(name, "retry_policy")
        else:
            minimum, maximum = ({"seconds": seconds} for seconds in backoff)
            policy = {"minimum_backoff": minimum, "maximum_backoff": maximum}
            self.update(name, "retry_policy", retry_policy=policy)
        self.model.subscriptions[name].backoff_s = backoff

    def set_dead_letter_policy(self, name: str, topic: str, max_attempts: int) -> None:
        if name == MORGUE:
            topic = LAST  # no circles
        policy = {"dead_letter_topic": topic, "max_delivery_attempts": max_attempts}
        fields = {"dead_letter_policy": policy} if max_attempts else {}
        self.update(name, "dead_letter_policy", **fields)
        self.model.subscriptions[name].set_policy(topic, max_attempts)

    def set_exactly_once(self, name: str, is_exact: bool) -> None:
        self.update(name, "enable_exactly_once_delivery", enable_exactly_once_delivery=is_exact)
        self.model.subscriptions[name].is_exactly_once = is_exact

    # --- messages ---

    @rule(
        key=st.sampled_from(["", "k", "k", "l"]),
        n=st.sampled_from(["", "1", "2"]),
        amount=st.integers(1, 5),
        size=st.sampled_from([1, 30]),
    )
    def publish(self, key: str, n: str, amount: int, size: int) -> None:
        self.publish_to_top(key, n, amount, size)

    @rule(n=st.sampled_from(["", "1"]), amount=st.integers(2, 5))
    def publish_with_a_key(self, n: str, amount: int) -> None:
        self.publish_to_top("k", n, amount, 1)

    def publish_to_top(self, key: str, n: str, amount: int, size: int) -> None:
        request = pubsub.PublishRequest(topic=TOP)
        for number in range(amount):
            text = f"{next(self.numbers)} {'x' * size * number}"
            attributes = {"n": n} if n else {}
            request.messages.add(data=text.encode(), ordering_key=key, attributes=attributes)
        encoded = request.SerializeToString()
        outcomes = self.both(lambda e, _: e.publish(request, encoded, now=self.now))
        assert self.value(outcomes) == self.model.publish(TOP, request.messages, self.now)

    @rule(name=subscriptions, limit=st.integers(1, 8))
    def lease(self, name: str, limit: int) -> None:
        self.pull(name, limit)

    def pull(self, name: str, limit: int) -> list[str]:
        """Lease to a pull; return the ack ids."""
        found = self.usable(name)
        outcomes = self.both(lambda e, _: delivered(e, name, e.lease(name, limit, now=self.now)))
        if found is None:
            assert isinstance(outcomes, PubsubError)
            return []
        deadline_s, holder = found.ack_deadline_s, object()
        return self.check_lease(found, limit, deadline_s, Window(holder), outcomes)

    def check_lease(
        self,
        found: ModelSubscription,
        limit: int,
        deadline_s: int,
        window: Window,
        outcomes: tuple[Outcome[list[Delivery]], Outcome[list[Delivery]]],
    ) -> list[str]:
        deliveries = self.value(outcomes)
        for outcome, leases in zip(outcomes, self.leases[found.name], strict=True):
            leases += [(d, d.ack_id) for d in outcome.value]
        ack_ids = [d.ack_id for d in deliveries]
        assert len(set(ack_ids)) == len(ack_ids)
        assert self.ack_ids.isdisjoint(ack_ids)
        self.ack_ids.update(ack_ids)
        self.deliveries.update(zip(ack_ids, deliveries, strict=True))
        contents = [pubsub.PubsubMessage.FromString(d.message.encoded) for d in deliveries]
        taken = [(c.message_id, i) for c, i in zip(contents, ack_ids, strict=True)]
        deadline_us = self.now + deadline_s * SECOND_US
        found.now = self.now
        messages = found.lease(taken, limit, deadline_us, window)
        assert [m.content for m in messages] == contents
        attempts = attempts_of(self.engine, found.name, deliveries)
        if found.max_attempts:
            assert attempts == [m.counted + 1 for m in messages]
        else:
            assert attempts is None
        return ack_ids

    # --- streams ---

    @rule(
        name=subscriptions,
        deadline_s=st.sampled_from([10, 11, 600]),
        max_messages=st.sampled_from([0, 1, 3]),
        max_bytes=st.sampled_from([0, 0, 100, 250]),
    )
    def open_stream(self, name: str, deadline_s: int, max_messages: int, max_bytes: int) -> None:
        self.open_a_stream(name, deadline_s, max_messages, max_bytes)

    def open_a_stream(self, name: str, deadline_s: int, max_messages: int, max_bytes: int) -> None:
        if self.usable(name) is None:
            return
        request = pubsub.StreamingPullRequest(
            subscription=name,
            stream_ack_deadline_seconds=deadline_s,
            max_outstanding_messages=max_messages,
            max_outstanding_bytes=max_bytes,
        )
        first, second = self.both(lambda e, _: e.streaming.open(request, now=self.now))
        window = Window(object(), max_messages, max_bytes)
        self.model.subscriptions[name].streams[window.holder] = window
        self.streams.append(Stream(self.opened(first.value, second.value), deadline_s, window))

    @precondition(lambda self: self.streams)
    @rule(which=st.integers(0, 9), limit=st.sampled_from([1, 2, 3, 1_000]))
    def lease_to_a_stream(self, which: int, limit: int) -> None:
        stream = self.streams[which % len(self.streams)]
        found = self.model.subscriptions[stream.subscription]
        outcomes = self.both(
            lambda e, n: delivered(
                e,
                stream.subscription,
                messages_only(e.holders.lease(stream.holders[n].id, limit, now=self.now)),
            )
        )
        self.check_lease(found, limit, stream.deadline_s, stream.window, outcomes)

    @precondition(lambda self: self.streams)
    @rule(
        which=st.integers(0, 9),
        acks=st.lists(st.integers(0, 20), max_size=4),
        modacks=st.lists(
            st.tuples(st.integers(0, 20), st.sampled_from([0, 5, 30])),
            max_size=4,
            unique_by=lambda pair: pair[0],
        ),
    )
    def say_on_a_stream(self, which: int, acks: list[int], modacks: list[tuple[int, int]]) -> None:
        stream = self.streams[which % len(self.streams)]
        name = stream.subscription
        found = self.model.subscriptions[name]
        deadlines = dict(
            zip(self.chosen(name, [n for n, _ in modacks]), [s for _, s in modacks], strict=False)
        )
        ack_ids = self.chosen(name, acks)
        request = pubsub.StreamingPullRequest(
            ack_ids=ack_ids,
            modify_deadline_ack_ids=list(deadlines),
            modify_deadline_seconds=deadlines.values(),
        )
        outcomes = self.both(
            lambda e, n: e.streaming.receive(
                stream.holders[n].id, request, now=self.now, is_first=False
            )
        )
        bad_acks, dead = found.acknowledge(ack_ids), []
        bad_modacks: dict[str, str] = {}
        for seconds in dict.fromkeys(deadlines.values()):
            group = [i for i, s in deadlines.items() if s == seconds]
            if seconds:
                bad_modacks |= found.modify(group, self.now + seconds * SECOND_US)
            else:
                failed, letters = found.nack(group, self.now)
                bad_modacks |= failed
                dead += [(found.target, letter) for letter in letters]
        confirmation = self.value(outcomes, dead).confirmation
        if not found.is_exactly_once or not (ack_ids or deadlines):
            assert confirmation is None
            return
        confirmed = confirmation.acknowledge_confirmation
        assert set(confirmed.ack_ids) == set(ack_ids) - set(bad_acks)
        for code, listed in (
            (INVALID, confirmed.invalid_ack_ids),
            (UNORDERED, confirmed.unordered_ack_ids),
        ):
            assert set(listed) == {ack_id for ack_id, c in bad_acks.items() if c == code}
        confirmed = confirmation.modify_ack_deadline_confirmation
        assert set(confirmed.ack_ids) == set(deadlines) - set(bad_modacks)
        assert set(confirmed.invalid_ack_ids) == set(bad_modacks)

    @precondition(lambda self: self.streams)
    @rule(which=st.integers(0, 9))
    def lose_a_stream(self, which: int) -> None:
        """Its leases run on (STR-05)."""
        del self.streams[which % len(self.streams)]

    # --- leases ---

    @rule(name=subscriptions, choice=choices, is_late=st.booleans(), with_junk=st.booleans())
    def acknowledge(self, name: str, choice: list[int], is_late: bool, with_junk: bool) -> None:
        found = self.usable(name)
        choice = [n * 3 if is_late else n for n in choice]
        with_junk = with_junk and found is not None and found.is_exactly_once
        self.acknowledge_ids(name, self.chosen(name, choice, with_junk))

    def acknowledge_ids(self, name: str, ack_ids: list[str]) -> None:
        found = self.usable(name)
        outcomes = self.both(lambda e, _: e.acknowledge(name, ack_ids, now=self.now))
        if not ack_ids:
            assert isinstance(outcomes, PubsubError)
            return
        failed = found.acknowledge(ack_ids) if found is not None else {}
        assert failures_of(self.value(outcomes)) == failed

    @rule(name=subscriptions, choice=choices)
    def nack(self, name: str, choice: list[int]) -> None:
        self.modify_deadlines(name, self.chosen(name, choice), 0)

    @rule(
        name=subscriptions,
        choice=choices,
        seconds=st.sampled_from([0, 5, 60]),
        with_junk=st.booleans(),
    )
    def modify(self, name: str, choice: list[int], seconds: int, with_junk: bool) -> None:
        found = self.usable(name)
        with_junk = with_junk and found is not None and found.is_exactly_once
        self.modify_deadlines(name, self.chosen(name, choice, with_junk), seconds)

    def modify_deadlines(self, name: str, ack_ids: list[str], seconds: int) -> None:
        outcomes = self.both(
            lambda e, _: e.modify_ack_deadline(name, ack_ids, seconds, now=self.now)
        )
        if not ack_ids:
            assert isinstance(outcomes, PubsubError)
            return
        found = self.usable(name)
        failed: dict[str, str] = {}
        dead: list[Any] = []
        if found is not None and seconds:
            failed = found.modify(ack_ids, self.now + seconds * SECOND_US)
        elif found is not None:
            failed, letters = found.nack(ack_ids, self.now)
            dead = [(found.target, letter) for letter in letters]
        assert failures_of(self.value(outcomes, dead)) == failed

    @rule(name=subscriptions, choice=choices, is_ack=st.booleans())
    def settle_with_a_bad_id(self, name: str, choice: list[int], is_ack: bool) -> None:
        """Without exactly-once delivery nothing at all happens (DLV-25)."""
        if self.model.subscriptions[name].is_exactly_once:
            return
        ack_ids = self.chosen(name, choice, with_junk=True)
        if is_ack:
            outcomes = self.both(lambda e, _: e.acknowledge(name, ack_ids, now=self.now))
        else:
            outcomes = self.both(lambda e, _: e.modify_ack_deadline(name, ack_ids, 0, now=self.now))
        assert isinstance(outcomes, PubsubError)

    @rule(name=subscriptions, amount=st.integers(1, 4))
    def release(self, name: str, amount: int) -> None:
        ack_ids = [ack_id for _, ack_id in self.leases[name][0][-amount:]]
        outcomes = self.both(
            lambda e, n: e.release(
                name, [i for _, i in self.leases[name][n][-amount:]], now=self.now
            )
        )
        found = self.usable(name)
        if found is not None:
            found.release(ack_ids)
        self.value(outcomes)

    @rule(
        name=subscriptions,
        limit=st.integers(2, 6),
        acks=st.lists(st.integers(0, 5), max_size=3),
        nack=st.integers(0, 5),
    )
    def settle_some(self, name: str, limit: int, acks: list[int], nack: int) -> None:
        """Of messages just leased, ack some in some order and nack one."""
        ack_ids = self.pull(name, limit)
        if acks and ack_ids:
            self.acknowledge_ids(name, [ack_ids[n % len(ack_ids)] for n in acks])
        if ack_ids:
            self.modify_deadlines(name, [ack_ids[nack % len(ack_ids)]], 0)

    @rule(name=subscriptions, limit=st.integers(1, 6), rounds=st.integers(2, 6))
    def wear_out(self, name: str, limit: int, rounds: int) -> None:
        """Fail the same messages again and again, until they die."""
        for _ in range(rounds):
            ack_ids = self.pull(name, limit)
            if not ack_ids:
                return
            self.modify_deadlines(name, ack_ids, 0)
            self.now += 8 * SECOND_US
            self.do_due_work(project_of(name), 1_000)

    # --- time ---

    @rule(
        seconds=st.sampled_from([0.000_001, 1, 2, 4, 8, 10, 11, 601]),
        project=st.sampled_from(["p", "p", "q"]),
        budget=st.sampled_from([0, 1, 2, 3, 1_000, 1_000, 1_000]),
    )
    def pass_time(self, seconds: float, project: str, budget: int) -> None:
        """Let time go on, and look at the clock of one project at most."""
        self.now += round(seconds * SECOND_US)
        if budget:
            self.do_due_work(project, budget)

    def do_due_work(self, project: str, budget: int) -> bool:
        """Do what is due and return whether more is.

        With a small budget it is some of it; which, is the engine's business.
        """
        due = [(s, s.due(LEASED, self.now)) for s in self.model.of_project(project)]
        outcomes = self.both(lambda e, _: e.tick(project, now=self.now, budget=budget))
        dead, done = [], 0
        for subscription, messages in due:
            ended = [m for m in messages if self.deliveries[m.ack_id].failures > m.failures]
            assert ended == messages or budget < 1_000
            letters = subscription.fail(ended, self.now)
            dead += [(subscription.target, letter) for letter in letters]
            done += len(ended)
        for subscription, _ in due:
            for message in subscription.due(DELAYED, self.now):
                state = self.deliveries[message.ack_id].state
                if state is not DeliveryState.DELAYED:
                    message.state = model_module.WAITING
                    done += 1
        assert done <= budget
        is_more_due = self.value(outcomes, dead)
        next_us = self.engine.next_deadline(project)
        assert is_more_due == (next_us is not None and next_us <= self.now)
        if not is_more_due:
            due_us = self.model.next_deadline(project)
            assert due_us is None or due_us > self.now
            # Retention, which the model does not know, may be due earlier.
            assert due_us is None or (next_us is not None and next_us <= due_us)
        return bool(is_more_due)

    @rule(project=st.sampled_from(PROJECTS), budget=st.sampled_from([3, 1_000]))
    def tick_until_done(self, project: str, budget: int) -> None:
        rounds = 0
        while self.do_due_work(project, budget):
            rounds += 1
            assert rounds < 10_000

    # --- what must hold after every command ---

    @invariant()
    def engines_are_whole(self) -> None:
        check_engine(self.engine)
        self.ledger.check(self.engine)

    @invariant()
    def nothing_is_lost_or_double(self) -> None:
        for name, subscription in self.model.subscriptions.items():
            if subscription.is_detached:
                continue
            backlog: Backlog = backlog_of(self.engine, name)
            counts = (backlog.available, backlog.leased, backlog.delayed)
            assert counts == subscription.counts()
            assert backlog.undelivered == sum(counts)
            for message in subscription.messages:
                if message.state not in (LEASED, DELAYED):
                    continue
                delivery = backlog.leases.by_ack_id[message.ack_id]
                assert delivery.deadline_us == message.until_us
                assert delivery.failures == message.failures
                assert delivery.state.value == message.state

    @invariant()
    def windows_are_exact(self) -> None:
        for stream in self.streams:
            found = self.model.subscriptions[stream.subscription]
            held = found.held_by(stream.window.holder)
            assert stream.holders[0].held_messages == len(held)
            assert stream.holders[0].held_bytes == sum(m.size for m in held)
            check_window(stream.holders[0], backlog_of(self.engine, stream.subscription))

    def pull_and_ack(self, name: str) -> None:
        if ack_ids := self.pull(name, 1_000):
            outcomes = self.both(lambda e, _: e.acknowledge(name, ack_ids, now=self.now))
            assert failures_of(self.value(outcomes)) == {}
            assert self.model.subscriptions[name].acknowledge(ack_ids) == {}

    def everything_can_be_drained(self) -> None:
        """Every message can still be had and acked, and then nothing is left."""
        rounds = 0
        names = [n for n in self.model.subscriptions if self.usable(n) is not None]
        while any(backlog_of(self.engine, name).undelivered for name in names):
            self.now += 600 * SECOND_US
            for project in PROJECTS:
                self.tick_until_done(project, 1_000)
            for name in names:
                self.pull_and_ack(name)
            rounds += 1
            assert rounds < 10, "messages that nobody gets"
        for name in names:
            assert self.model.subscriptions[name].counts() == (0, 0, 0)
            lanes = backlog_of(self.engine, name).lanes
            assert lanes is None or not lanes.by_key
        check_engine(self.engine)


GuaranteesMachine.TestCase.settings = settings(max_examples=200, stateful_step_count=60)
TestGuaranteesMachine = spec("ORD-01", "ORD-02", "ORD-03", "ORD-04", "ORD-05", "ORD-08")(
    spec("EOD-01", "EOD-03", "EOD-07", "EOD-09", "EOD-12", "RTY-02", "RTY-03", "DLQ-01", "DLQ-02")(
        spec("DLQ-03", "DLQ-09", "DLQ-11", "DLV-02", "DLV-40", "STR-07", "FLT-04")(
            GuaranteesMachine.TestCase
        )
    )
)
