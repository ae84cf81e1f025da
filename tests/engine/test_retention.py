"""Retention: when messages are too old, for whom, and what is left of them."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.api import pubsub
from emulator.engine.delivery.outcome import Fired
from tests.engine.replay_story import (
    DAY_S,
    HOUR_S,
    KINDS,
    MINUTE_S,
    RED,
    change,
    detach,
    make,
    pulled,
    retain,
    seconds,
    seek,
    send,
    story_of,
    waiting,
)
from tests.engine.story import (
    SECOND_US,
    SUBSCRIPTION,
    TOPIC,
    Refusal,
    Step,
    Story,
    ack,
    delete_topic,
    nack,
    opened,
    pull,
    refusal_of,
    unsubscribe,
)
from tests.property.invariants import backlog_of, check_engine, log_of
from tests.spec import spec

every_kind = pytest.mark.parametrize("fields", KINDS.values(), ids=KINDS)
TEN_MINUTES = seconds(10 * MINUTE_S)
T = 10 * MINUTE_S
#: What became of "a" and "b", published at 0 and 10 s.
FATES: dict[str, list[Step]] = {
    "unread": [],
    "leased": [(T - 1, pull(), ["a#1", "b#1"])],
    "nacked": [(T - 1, pull(), ["a#1", "b#1"]), (T - 1, nack("b#1", "a#1"))],
    "sought": [(T - 1, pull(), ["a#1", "b#1"]), (T - 1, seek(0))],
    "nacked and sought": [
        (T - 1, pull(), ["a#1", "b#1"]),
        (T - 1, nack("a#1")),
        (T - 1, seek(0)),
    ],
}


def mirror(story: Story, subscription: str = SUBSCRIPTION) -> int:
    found = story.engine.subscriptions.get(subscription, now=story.now).value
    return found.topic_message_retention_duration.seconds


@spec("DLV-41", "SUB-05")
@pytest.mark.parametrize("key", ["", "k"])
@pytest.mark.parametrize("fate", FATES.values(), ids=FATES)
@every_kind
def test_a_message_is_dropped_when_it_is_too_old(
    fields: dict[str, Any], fate: list[Step], key: str
) -> None:
    """Not a microsecond before; a live lease does not protect it."""
    story = story_of(message_retention_duration=TEN_MINUTES, **fields)
    story.play((0, send("a", key=key)), (10, send("b", key=key)), *fate)
    story.play((T - 0.000_001, waiting(), 2), (T, waiting(), 1), (T + 9.999_999, waiting(), 1))
    story.play((T + 10, waiting(), 0), (T + 10, pull(), []))
    check_engine(story.engine)
    log = log_of(story.engine, TOPIC)
    assert (log.kept, log.garbage) == (0, 0)
    assert story.engine.next_deadline("p") is None


@spec("DLV-41")
@every_kind
def test_a_lease_ended_by_retention_frees_its_window_and_its_key(fields: dict[str, Any]) -> None:
    story = story_of(message_retention_duration=TEN_MINUTES, **fields)
    story.play((0, send("a", key="k")), (T - 1, send("b", key="k")))
    request = pubsub.StreamingPullRequest(
        subscription=SUBSCRIPTION, stream_ack_deadline_seconds=60, max_outstanding_messages=1
    )
    holder = opened(story.engine, request, now=story.now)
    [lease] = story.engine.holders.lease(holder.id, 1, now=story.now).value.leases
    ack_id = lease.ack_id
    story.play((T, waiting(), 1))
    assert holder.held_messages == 0
    [next_lease] = story.engine.holders.lease(holder.id, 9, now=story.now).value.leases
    assert next_lease.message.position == 1
    # The old lease's id is stale, as after any end.
    report = story.engine.acknowledge(SUBSCRIPTION, [ack_id], now=story.now).value
    assert (report is not None) == bool(fields.get("enable_exactly_once_delivery"))
    story.play((T, waiting(), 1))


@spec("DLV-41")
def test_a_backoff_does_not_protect_a_message() -> None:
    policy = {"minimum_backoff": seconds(600), "maximum_backoff": seconds(600)}
    for key in ("", "k"):
        story = story_of(
            message_retention_duration=TEN_MINUTES,
            retry_policy=policy,
            enable_message_ordering=bool(key),
        )
        story.play((0, send("a", key=key)), (9, send("b", key=key)), (9, pull(), ["a#1", "b#1"]))
        story.play(
            (9, nack("a#1", "b#1")), (T, waiting(), 1), (T + 8.9, pull(), ["b#2"] * bool(key))
        )


@spec("DLV-41", "TOP-04")
@pytest.mark.parametrize(
    ("topic_s", "own_s", "expected"),
    [(None, T, T), (HOUR_S, T, HOUR_S), (T, HOUR_S, HOUR_S), (HOUR_S, 7 * DAY_S, 7 * DAY_S)],
)
@every_kind
def test_the_larger_retention_counts(
    fields: dict[str, Any], topic_s: int | None, own_s: int, expected: int
) -> None:
    story = story_of(topic_s, message_retention_duration=seconds(own_s), **fields)
    story.play((0, send("a")), (expected - 0.000_001, waiting(), 1), (expected, waiting(), 0))


@spec("DLV-42")
@every_kind
def test_a_shorter_retention_drops_at_once_and_a_longer_one_restores_nothing(
    fields: dict[str, Any],
) -> None:
    story = story_of(**fields).play((0, send("a")), (T, send("b")), (T, pull(), ["a#1", "b#1"]))
    change(message_retention_duration=TEN_MINUTES)(story)
    assert backlog_of(story.engine, SUBSCRIPTION).undelivered == 1  # before any tick
    story.play((T, change(message_retention_duration=seconds(7 * DAY_S))), (T, waiting(), 1))
    story.play((T + 10, pull(), ["b#2"]), (7 * DAY_S + T - 1, waiting(), 1))
    story.play((7 * DAY_S + T, waiting(), 0))


@spec("DLV-42")
def test_a_refused_change_drops_nothing() -> None:
    story = story_of().play((0, send("a")))
    short = change(message_retention_duration=seconds(599))
    refusal = refusal_of(lambda: short(story))
    assert refusal is not None
    assert refusal.code == "INVALID_ARGUMENT"
    story.play((HOUR_S, waiting(), 1))


@spec("DLV-41")
def test_what_is_dropped_is_reported() -> None:
    story = story_of(HOUR_S, message_retention_duration=TEN_MINUTES).play((0, send("a", "b")))
    effects = story.engine.tick("p", now=HOUR_S * SECOND_US).effects
    assert set(effects) == {
        Fired(HOUR_S * SECOND_US, "topic retention", TOPIC, 2),
        Fired(HOUR_S * SECOND_US, "retention", SUBSCRIPTION, 2),
    }


@spec("DLV-41", "SEK-11")
@every_kind
def test_what_a_seek_brings_back_goes_at_its_time_too(fields: dict[str, Any]) -> None:
    """It was acked, is the only one, and was published before acked messages were retained."""
    story = story_of(message_retention_duration=TEN_MINUTES, **fields)
    story.play((0, send("a")), (5, send("b")), (5, pull(), ["a#1", "b#1"]))
    story.play((5, change(retain_acked_messages=True)), (5, ack("a#1", "b#1")))
    story.play((T, seek(0)), (T + 4.999, waiting(), 1), (T + 5, waiting(), 0))


@spec("DLV-41")
@every_kind
def test_what_comes_while_a_seek_is_not_worked_off_goes_at_its_time(fields: dict[str, Any]) -> None:
    """No tick, so no chore, until it is time; with and without a lease, which takes some in."""
    for is_leased in (False, True):
        story = story_of(message_retention_duration=TEN_MINUTES, **fields)
        story.play((0, send("a")), (0, pull(), ["a#1"]))
        story.now = 5 * SECOND_US
        for command in (seek(0), send("b")):
            command(story)
        if is_leased:
            assert pulled(story, is_caught_up=False) == "ab"
        story.play((T - 0.001, waiting(), 2), (T, waiting(), 1), (T + 5, waiting(), 0))


@spec("DLV-41")
def test_what_is_taken_in_because_something_is_too_old_has_its_own_time() -> None:
    story = story_of(message_retention_duration=TEN_MINUTES, enable_message_ordering=True)
    for at, command in ((0, seek(10**6)), (0, send("a")), (5, send("b", key="k"))):
        story.now = at * SECOND_US
        command(story)
    story.engine.tick("p", now=T * SECOND_US, budget=1)
    assert story.engine.next_deadline("p") is not None
    story.play((T + 4.999, waiting(), 1), (T + 5, waiting(), 0))


@spec("DLV-41")
@every_kind
def test_the_first_message_after_a_purge_goes_at_its_time(fields: dict[str, Any]) -> None:
    story = story_of(message_retention_duration=TEN_MINUTES, **fields)
    for command in (seek(10**6), send("a", key="k")):
        command(story)
    story.play((T - 0.001, waiting(), 1), (T, waiting(), 0))


# --- topics ---


@spec("TOP-04", "SUB-05", "ERR-22")
@pytest.mark.parametrize("of", ["topic", "subscription"])
@pytest.mark.parametrize(
    ("value_s", "spelled"),
    [(599.5, "9m59.5s"), (600, None), (600.5, None), (2_678_400, None), (2_678_400.5, "744h0.5s")],
)
def test_retention_is_from_ten_minutes_to_31_days(
    of: str, value_s: float, spelled: str | None
) -> None:
    def make_one() -> None:
        retention = {"message_retention_duration": seconds(value_s)}
        if of == "topic":
            story_of(value_s)
        else:
            story_of(**retention)

    text = (
        f"The value for message retention duration is out of bounds. You passed {spelled} in the "
        "request, but the value must be between 10m and 744h."
    )
    refusal = refusal_of(make_one)
    assert refusal == (Refusal("INVALID_ARGUMENT", text) if spelled else None)


@spec("TOP-04", "TOP-10")
def test_topics_have_no_retention_by_default() -> None:
    story = story_of().play((0, seek(100)), (0, send("a")), (0, pull(), ["a#1"]), (0, ack("a#1")))
    assert mirror(story) == 0
    assert not story.engine.topics.get(TOPIC, now=0).value.HasField("message_retention_duration")
    assert log_of(story.engine, TOPIC).kept == 0


@spec("TOP-04", "TOP-14")
def test_a_topics_messages_stay_for_its_retention_though_nobody_subscribes() -> None:
    story = story_of(HOUR_S).play((0, unsubscribe()), (1, send("a")), (2, send("b")))
    log = log_of(story.engine, TOPIC)
    story.catch_up()
    assert log.kept == 2
    story.play(
        (HOUR_S + 1, make("new")), (HOUR_S + 1, seek(0, "new")), (HOUR_S + 1, waiting("new"), 1)
    )
    story.play((HOUR_S + 2, waiting("new"), 1), (HOUR_S + 2, unsubscribe("new")))
    story.catch_up()
    assert (log.kept, log.garbage, story.engine.next_deadline("p")) == (0, 0, None)


@spec("TOP-04", "SUB-16")
def test_a_topics_retention_can_be_set_changed_and_removed() -> None:
    story = story_of(message_retention_duration=TEN_MINUTES).play((0, make("two")))
    two = "projects/p/subscriptions/two"
    for at, retention_s in enumerate([HOUR_S, 2 * HOUR_S, None, DAY_S]):
        story.play((at, retain(retention_s)))
        assert {mirror(story), mirror(story, two)} == {retention_s or 0}
    story.play((9, make("three")))
    assert mirror(story, "projects/p/subscriptions/three") == DAY_S
    story.play((9, delete_topic()))
    assert mirror(story) == 0


@spec("SUB-16")
def test_the_mirror_is_not_for_clients_to_set() -> None:
    story = story_of(topic_message_retention_duration=seconds(HOUR_S))
    assert mirror(story) == 0
    story.play((0, send("a")), (7 * DAY_S - 1, waiting(), 1), (7 * DAY_S, waiting(), 0))
    story.play((0, retain(HOUR_S)), (0, change(labels={"a": "b"})))
    assert mirror(story) == HOUR_S


@spec("TOP-04", "DLV-42")
@pytest.mark.parametrize(
    "removal", [retain(None), retain(600), delete_topic()], ids=["none", "short", "gone"]
)
@every_kind
def test_with_a_topics_retention_goes_what_only_it_kept(
    fields: dict[str, Any], removal: Any
) -> None:
    story = story_of(HOUR_S, message_retention_duration=TEN_MINUTES, **fields)
    story.play((0, send("a")), (T, send("b")), (T, waiting(), 2))
    removal(story)
    assert backlog_of(story.engine, SUBSCRIPTION).undelivered == 1  # before any tick
    story.play((2 * T, waiting(), 0))
    log = (
        log_of(story.engine, TOPIC)
        if removal is not None and TOPIC in story.engine._world.topics
        else None
    )
    assert log is None or (log.kept, log.garbage) == (0, 0)


@spec("TOP-04")
def test_a_topics_retention_begins_when_it_is_set() -> None:
    story = story_of().play((0, send("a")), (1, pull(), ["a#1"]), (1, ack("a#1")))
    story.play((1, send("b")), (2, retain(HOUR_S)), (3, send("c")))
    story.play((3, pull(), ["b#1", "c#1"]), (3, ack("b#1", "c#1")), (4, seek(0)))
    story.play((4, pull(), ["c#1"]))


@spec("DLV-42", "SEK-10")
def test_a_longer_topic_retention_restores_nothing() -> None:
    story = story_of(T, message_retention_duration=TEN_MINUTES).play((0, send("a")), (1, send("b")))
    story.play((T, retain(HOUR_S)), (T, seek(0)), (T, pull(), ["b#1"]))
    story.play((HOUR_S, waiting(), 1), (HOUR_S + 1, waiting(), 0))


# --- what must not grow, or break ---


@spec("DLV-41")
@every_kind
def test_updates_and_seeks_of_what_is_empty_leave_nothing_behind(fields: dict[str, Any]) -> None:
    story = story_of(HOUR_S, **fields)
    topic = story.engine._world.topics[TOPIC]
    for number in range(50):
        story.play((0, seek(0)), (0, change(labels={"n": str(number)})), (0, retain(HOUR_S)))
        story.play((0, make("passing")), (0, unsubscribe("passing")))
    assert len(topic.asleep) == 2
    story.play((1, send("a", colour="red")))
    assert topic.asleep == {}


def test_a_detached_subscription_retains_nothing_whatever_it_is_set_to() -> None:
    story = story_of(filter=RED).play((0, send("a")), (0, detach()))
    story.play((1, change(retain_acked_messages=True, message_retention_duration=TEN_MINUTES)))
    story.play((2, send("b")))
    story.catch_up()
    assert log_of(story.engine, TOPIC).kept == 0
    check_engine(story.engine)


@spec("SEK-11")
@pytest.mark.parametrize(
    "end",
    [change(retain_acked_messages=False), unsubscribe(), detach()],
    ids=["off", "delete", "detach"],
)
@every_kind
def test_what_a_subscription_retained_is_freed_when_it_stops(
    fields: dict[str, Any], end: Any
) -> None:
    story = story_of(retain_acked_messages=True, **fields)
    story.play(*[(0, send(*["x"] * 1_000))] * 5, (1, seek(100)))
    log = log_of(story.engine, TOPIC)
    story.catch_up()
    assert log.kept == 5_000
    story.play((2, end))
    story.catch_up()
    assert (log.kept, log.garbage) == (0, 0)
