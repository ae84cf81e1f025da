"""The clock of a project in an in-process emulator: stopped, turned, and let run again."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from emulator.api import pubsub
from emulator.testing import Emulator
from emulator.testing.clock import Event, ProjectClock
from tests.inside import Inside
from tests.spec import spec
from tests.wire import HANG_LIMIT_S, Names, Wire, data, refusal, until

HOUR = timedelta(hours=1)


@pytest.fixture
def clock(emulator: Emulator, names: Names) -> Iterator[ProjectClock]:
    """The stopped clock of the test's project."""
    clock = emulator.clock(names.project)
    clock.freeze()
    yield clock
    clock.run()


class Streamed:
    """An open stream and what it brings."""

    def __init__(self, wire: Wire, subscription: str) -> None:
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        first = pubsub.StreamingPullRequest(
            subscription=subscription, stream_ack_deadline_seconds=10
        )
        self._requests.put(first)
        call = wire.channel.stream_stream(
            "/google.pubsub.v1.Subscriber/StreamingPull",
            request_serializer=pubsub.StreamingPullRequest.SerializeToString,
            response_deserializer=pubsub.StreamingPullResponse.FromString,
        )
        self._call = call(iter(self._requests.get, None), timeout=HANG_LIMIT_S)

    def next(self) -> list[pubsub.ReceivedMessage]:
        """The messages of the next response that has any."""
        return next(list(r.received_messages) for r in self._call if r.received_messages)

    def close(self) -> None:
        self._requests.put(None)
        self._call.cancel()


@spec("GEN-01")
def test_stopped_time_stands_still(clock: ProjectClock) -> None:
    assert clock.now() == clock.now()
    assert clock.now().tzinfo is UTC


def test_time_that_runs_again_goes_on_from_where_it_was(clock: ProjectClock) -> None:
    clock.advance(HOUR)
    stopped = clock.now()
    clock.run()
    until(lambda: clock.now() > stopped)
    assert clock.now() - stopped < HOUR / 2
    clock.freeze()
    assert clock.now() == clock.now()


def test_running_time_can_be_put_forward_and_runs_on(emulator: Emulator, names: Names) -> None:
    clock = emulator.clock(names.project)
    before = clock.now()
    clock.advance(days=2, hours=1)
    now = clock.now()
    assert now - before >= timedelta(days=2, hours=1)
    until(lambda: clock.now() > now)


def test_another_projects_time_is_not_touched(
    emulator: Emulator, clock: ProjectClock, names: Names, wire: Wire
) -> None:
    other = Names(f"{names.project}-other")
    for each in (names, other):
        wire.create(each.topic(), each.subscription(), ack_deadline_s=600)
        wire.publish(each.topic(), b"a")
        assert data(wire.pull(each.subscription())) == [b"a"]
    difference = abs(emulator.clock(other.project).now() - datetime.now(UTC))
    clock.advance(HOUR)
    assert abs(emulator.clock(other.project).now() - datetime.now(UTC)) < difference + HOUR / 2
    assert data(wire.peek(names.subscription())) == [b"a"]
    assert wire.peek(other.subscription()) == []


def test_time_is_set_to_a_moment_in_any_zone(clock: ProjectClock) -> None:
    ahead = clock.now() + 2 * HOUR
    clock.set(ahead)
    assert clock.now() == ahead
    clock.set((ahead + HOUR).astimezone(timezone(timedelta(hours=5))))
    assert clock.now() == ahead + HOUR
    clock.set((ahead + 2 * HOUR).replace(tzinfo=None))
    assert clock.now() == ahead + 2 * HOUR


def test_time_does_not_run_backwards(clock: ProjectClock) -> None:
    before = clock.now()
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(seconds=-1)
    with pytest.raises(ValueError, match="backwards"):
        clock.set(before - timedelta(microseconds=1))
    assert clock.now() == before
    clock.set(before)
    clock.advance()
    assert clock.now() == before


@spec("DLV-02", "DLV-41", "SUB-22")
def test_what_is_due_on_the_way_happens_in_order_each_at_its_time(
    clock: ProjectClock, names: Names, wire: Wire
) -> None:
    wire("CreateTopic", pubsub.Topic(name=names.topic()))
    given = pubsub.Subscription(
        name=names.subscription(),
        topic=names.topic(),
        ack_deadline_seconds=20,
        message_retention_duration={"seconds": 600},
        expiration_policy={"ttl": {"seconds": 86_400}},
    )
    wire("CreateSubscription", given)
    wire.publish(names.topic(), b"a")
    start = clock.now()
    assert data(wire.pull(names.subscription())) == [b"a"]
    events = clock.advance(days=3)
    published = start - timedelta(microseconds=start.microsecond % 1_000)
    assert events == [
        Event(start + timedelta(seconds=20), "ack deadline", names.subscription(), 1),
        Event(published + timedelta(seconds=600), "retention", names.subscription(), 1),
        Event(start + timedelta(days=1), "subscription expiry", names.subscription(), 1),
    ]
    assert clock.now() == start + timedelta(days=3)
    missing = refusal(lambda: wire.peek(names.subscription()))
    assert missing.code().name == "NOT_FOUND"
    assert clock.advance(days=1) == []


@spec("DLV-02", "PUL-02")
def test_a_waiting_pull_is_woken_by_a_turned_clock(
    clock: ProjectClock, names: Names, wire: Wire, other_wire: Wire, inside: Inside
) -> None:
    wire.create(names.topic(), names.subscription(), ack_deadline_s=600)
    wire.publish(names.topic(), b"a")
    assert data(wire.pull(names.subscription())) == [b"a"]
    future = other_wire.start_pull(names.subscription(), timeout_s=HANG_LIMIT_S)
    until(lambda: inside.waiting(names.subscription()) == 1)
    clock.advance(seconds=599)
    assert inside.waiting(names.subscription()) == 1
    clock.advance(seconds=1)
    assert data(future.result().received_messages) == [b"a"]


@spec("DLV-02", "STR-01")
def test_a_stream_gets_a_message_again_when_its_lease_has_ended(
    clock: ProjectClock, names: Names, wire: Wire
) -> None:
    wire.create(names.topic(), names.subscription())
    stream = Streamed(wire, names.subscription())
    wire.publish(names.topic(), b"a")
    [first] = stream.next()
    clock.advance(seconds=10)
    [again] = stream.next()
    assert (again.message, again.ack_id != first.ack_id) == (first.message, True)
    stream.close()


@spec("PUB-08")
def test_messages_have_the_projects_time(clock: ProjectClock, names: Names, wire: Wire) -> None:
    clock.advance(days=1000)
    wire.create(names.topic(), names.subscription())
    wire.publish(names.topic(), b"a")
    [received] = wire.pull(names.subscription())
    now = clock.now()
    published = received.message.publish_time
    assert published.seconds == int(now.timestamp())
    assert published.nanos == now.microsecond // 1_000 * 1_000_000


def test_a_stopped_project_has_no_timer(
    clock: ProjectClock, names: Names, wire: Wire, inside: Inside
) -> None:
    wire.create(names.topic(), names.subscription())
    wire.publish(names.topic(), b"a")
    wire.pull(names.subscription())
    assert not inside.has_timer(names.project)
    clock.run()
    assert inside.has_timer(names.project)
    clock.freeze()
    assert not inside.has_timer(names.project)
    clock.advance(HOUR)
    assert not inside.has_timer(names.project)


@spec("SEK-09", "SEK-16")
def test_chores_are_done_in_stopped_time(
    clock: ProjectClock, names: Names, wire: Wire, inside: Inside
) -> None:
    """A seek far back, of which one message is wanted, reaches a pull that waits."""
    topic = pubsub.Topic(name=names.topic(), message_retention_duration={"seconds": 600})
    wire("CreateTopic", topic)
    for _ in range(6):
        wire.publish(names.topic(), *[b"x"] * 1_000)
    wanted = pubsub.PubsubMessage(data=b"a", attributes={"colour": "red"})
    wire("Publish", pubsub.PublishRequest(topic=names.topic(), messages=[wanted]))
    given = pubsub.Subscription(
        name=names.subscription(), topic=names.topic(), filter='attributes.colour = "red"'
    )
    wire("CreateSubscription", given)
    wire("Seek", pubsub.SeekRequest(subscription=names.subscription(), time={"seconds": 0}))
    assert data(wire.pull(names.subscription())) == [b"a"]
    wire("DeleteSubscription", pubsub.DeleteSubscriptionRequest(subscription=names.subscription()))
    update = pubsub.UpdateTopicRequest(
        topic={"name": names.topic()}, update_mask={"paths": ["message_retention_duration"]}
    )
    wire("UpdateTopic", update)
    until(lambda: inside.kept(names.topic()) == 0)
    assert not inside.has_timer(names.project)


@spec("DLV-41")
def test_messages_expire_in_the_project_of_their_subscription(
    clock: ProjectClock, names: Names, wire: Wire, inside: Inside
) -> None:
    """A publish in one project has another one's timer set."""
    publishers = Names(f"{names.project}-publishers")
    wire.create(publishers.topic())
    clock.run()
    given = pubsub.Subscription(
        name=names.subscription(), topic=publishers.topic(), expiration_policy={}
    )
    wire("CreateSubscription", given)
    assert not inside.has_timer(names.project)
    wire.publish(publishers.topic(), b"a")
    assert inside.has_timer(names.project)


def test_a_clock_of_an_emulator_that_is_stopped_is_refused() -> None:
    with Emulator() as emulator:
        clock = emulator.clock("p")
        assert repr(clock) == "<ProjectClock of p>"
    with pytest.raises(RuntimeError):
        clock.now()


def test_a_reset_gives_every_project_real_time_again() -> None:
    with Emulator() as emulator:
        clock = emulator.clock("reset-project")
        clock.freeze()
        clock.advance(days=10)
        emulator.reset()
        ahead = clock.now() - emulator.clock("other-project").now()
        assert abs(ahead) < timedelta(days=1)
        clock.advance(seconds=1)  # it runs, and can be turned again


@pytest.mark.parametrize("project", ["", "projects/p", "p/q"])
def test_only_a_projects_id_names_its_clock(project: str) -> None:
    with pytest.raises(ValueError, match="id of a project"):
        Emulator().clock(project)


def test_time_ends_before_timestamps_do() -> None:
    with Emulator() as emulator:
        clock = emulator.clock("late-project")
        with pytest.raises(ValueError, match="9989"):
            clock.set(datetime(9990, 1, 2))
        assert clock.now().year < 9000
