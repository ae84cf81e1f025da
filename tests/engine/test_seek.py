"""Seek: to a time, on every kind of subscription; what it ends and what it refuses."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from emulator.api import pubsub
from emulator.engine.delivery.outcome import Available, Room
from emulator.engine.values.errors import PubsubError
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
    snap,
    story_of,
    waiting,
)
from tests.engine.story import (
    SUBSCRIPTION,
    TOPIC,
    Refusal,
    Step,
    ack,
    create_topic,
    delete_topic,
    invalid,
    modack,
    nack,
    not_found,
    opened,
    pull,
    refusal_of,
)
from tests.property.invariants import attempts_of, backlog_of, log_of
from tests.spec import spec

every_kind = pytest.mark.parametrize("fields", KINDS.values(), ids=KINDS)
PUBLISHED: list[Step] = [(10, send("a")), (20, send("b", "c")), (30, send("d"))]
EVERYTHING = [f"{letter}#1" for letter in "abcd"]
#: What had happened to the four messages before the seek at 40 s.
HISTORIES: dict[str, list[Step]] = {
    "nothing": [],
    "leased": [(40, pull(), EVERYTHING)],
    "nacked": [(40, pull(), EVERYTHING), (40, nack(*EVERYTHING))],
    "acked": [(40, pull(), EVERYTHING), (40, ack(*EVERYTHING))],
    "some of each": [(40, pull(3), EVERYTHING[:3]), (40, ack("a#1")), (40, nack("b#1"))],
    "purged": [(40, seek(100))],
}


@spec("SEK-01", "SEK-03", "SEK-04", "SEK-05", "SEK-11", "SEK-13")
@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
@pytest.mark.parametrize(
    ("to", "expected"),
    [
        (-5, "abcd"),
        (0, "abcd"),
        (10, "abcd"),
        (10.000_001, "bcd"),
        (20, "bcd"),
        (20.001, "d"),
        (30, "d"),
        (30.000_001, ""),
        (40, ""),
        (32_503_680_000, ""),  # the year 3000
    ],
)
@every_kind
def test_what_was_published_at_a_time_or_later_comes_again(
    fields: dict[str, Any], to: float, expected: str, history: list[Step]
) -> None:
    story = story_of(retain_acked_messages=True, **fields)
    story.play(*PUBLISHED, *history, (40, seek(to)), (40, send("e")))
    assert pulled(story) == expected + "e"


@spec("SEK-04")
@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
@every_kind
def test_without_retention_only_unacked_messages_come_again(
    fields: dict[str, Any], history: list[Step]
) -> None:
    story = story_of(**fields).play(*PUBLISHED, *history, (40, seek(0)))
    expected = {"acked": "", "purged": "", "some of each": "bcd"}
    [name] = [name for name, steps in HISTORIES.items() if steps is history]
    assert pulled(story) == expected.get(name, "abcd")


@spec("SEK-10", "SUB-15")
@every_kind
def test_a_new_subscription_gets_the_topics_past_by_a_seek_alone(fields: dict[str, Any]) -> None:
    story = story_of(HOUR_S).play(*PUBLISHED, (40, make("new", **fields)))
    name = "projects/p/subscriptions/new"
    assert pulled(story, name) == ""
    story.play((40, seek(20, "new")))
    assert pulled(story, name) == "bcd"
    story.play((50, seek(0, "new")))
    assert pulled(story, name) == "abcd"


@spec("SEK-10", "SEK-12")
@every_kind
def test_a_topics_retention_serves_a_subscription_that_retains_nothing(
    fields: dict[str, Any],
) -> None:
    story = story_of(HOUR_S, **fields).play(*PUBLISHED, *HISTORIES["acked"])
    story.play((HOUR_S + 15, seek(0)))
    assert pulled(story) == "bcd"


@spec("SEK-12")
@pytest.mark.parametrize(
    ("topic_s", "own_s", "at", "expected"),
    [
        (10 * MINUTE_S, HOUR_S, HOUR_S, "abcd"),
        (HOUR_S, 10 * MINUTE_S, HOUR_S, "abcd"),
        (10 * MINUTE_S, 20 * MINUTE_S, 20 * MINUTE_S + 10, "bcd"),
        (20 * MINUTE_S, 10 * MINUTE_S, 20 * MINUTE_S + 10, "bcd"),
        (10 * MINUTE_S, 10 * MINUTE_S, 10 * MINUTE_S + 20, "d"),
    ],
)
@every_kind
def test_the_larger_window_counts(
    fields: dict[str, Any], topic_s: int, own_s: int, at: float, expected: str
) -> None:
    story = story_of(
        topic_s,
        retain_acked_messages=True,
        message_retention_duration=seconds(own_s),
        **fields,
    )
    story.play(*PUBLISHED, *HISTORIES["acked"], (at, seek(0)))
    assert pulled(story) == expected


@spec("SEK-04", "SEK-12")
@every_kind
def test_unread_messages_from_before_a_topics_window_stay(fields: dict[str, Any]) -> None:
    story = story_of(10 * MINUTE_S, **fields).play(*PUBLISHED, (HOUR_S, send("e")))
    story.play((HOUR_S, seek(20)))
    assert pulled(story) == "bcde"


@spec("SEK-11")
@every_kind
def test_retaining_acked_messages_begins_when_it_is_turned_on(fields: dict[str, Any]) -> None:
    story = story_of(**fields).play(*PUBLISHED, (40, pull(), EVERYTHING), (40, ack("a#1")))
    story.play((40, change(retain_acked_messages=True)), (40, ack("b#1", "c#1")), (41, seek(0)))
    assert pulled(story) == "bcd"


@spec("SEK-11")
@every_kind
def test_messages_from_before_it_was_turned_on_come_once(fields: dict[str, Any]) -> None:
    """Acked, sought, acked again: each is there once each time."""
    story = story_of(**fields).play(*PUBLISHED, (40, pull(), EVERYTHING))
    story.play((40, change(retain_acked_messages=True)), (40, ack("b#1", "a#1")))
    story.play((41, seek(0)), (41, seek(0)))
    labels = pull()(story)
    assert isinstance(labels, list)
    assert sorted(labels) == EVERYTHING
    story.play((41, ack(*EVERYTHING)))
    story.play((42, seek(10.5)))
    assert pulled(story) == "bcd"
    story.play((43, seek(0)))
    assert pulled(story) == "abcd"


@spec("SEK-11")
@every_kind
def test_turning_it_off_drops_acked_messages_alone(fields: dict[str, Any]) -> None:
    story = story_of(retain_acked_messages=True, **fields).play(*PUBLISHED)
    story.play((40, pull(), EVERYTHING), (40, ack("a#1", "b#1", "c#1")))
    story.play((41, change(retain_acked_messages=False)), (41, seek(0)))
    assert pulled(story) == "d"
    story.play((42, change(retain_acked_messages=True)), (42, seek(0)))
    assert pulled(story) == "d"


@spec("SEK-11")
@every_kind
def test_acked_messages_are_retained_for_as_long_as_unacked_ones(fields: dict[str, Any]) -> None:
    retention = seconds(10 * MINUTE_S)
    story = story_of(
        retain_acked_messages=True, message_retention_duration=retention, **fields
    ).play(*PUBLISHED, *HISTORIES["acked"])
    story.play((10 * MINUTE_S + 20, seek(0)))
    assert pulled(story) == "d"


@spec("SEK-11")
@every_kind
def test_what_is_retained_no_longer_is_freed_at_its_time(fields: dict[str, Any]) -> None:
    retention = seconds(10 * MINUTE_S)
    story = story_of(
        retain_acked_messages=True, message_retention_duration=retention, **fields
    ).play(*PUBLISHED, *HISTORIES["acked"])
    story.play((10 * MINUTE_S + 29, waiting(), 0))
    log = log_of(story.engine, TOPIC)
    assert log.kept == 1
    story.play((10 * MINUTE_S + 30, waiting(), 0))
    assert log.kept == 0


# --- the future ---


@spec("SEK-05")
@every_kind
def test_after_a_seek_to_the_future_the_next_message_is_delivered(fields: dict[str, Any]) -> None:
    story = story_of(**fields).play(*PUBLISHED, (40, seek(10**10)), (40, waiting(), 0))
    story.play((41, send("next")), (41, pull(), ["next#1"]))


# --- what ends ---


@spec("SEK-09")
@pytest.mark.parametrize("to", [0, 10**6])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "exactly once"])
def test_ack_ids_from_before_a_seek_are_stale(kind: str, to: float) -> None:
    story = story_of(**KINDS[kind]).play(*PUBLISHED, (40, pull(), EVERYTHING), (40, seek(to)))
    left = 0 if to else 4
    story.play((40, ack("a#1")), (40, nack("b#1")), (40, modack(600, "c#1")), (40, waiting(), left))


@spec("SEK-09", "EOD-02")
def test_with_exactly_once_delivery_they_fail() -> None:
    story = story_of(**KINDS["exactly once"])
    story.play(*PUBLISHED, (40, pull(), EVERYTHING), (40, seek(0)))
    old = story.ack_ids(("a#1",), SUBSCRIPTION)
    failure = story.engine.acknowledge(SUBSCRIPTION, old, now=story.now).value
    assert isinstance(failure, PubsubError)
    assert story.engine.modify_ack_deadline(SUBSCRIPTION, old, 60, now=story.now).value is not None
    assert pulled(story) == "abcd"


@spec("SEK-09")
@every_kind
def test_leases_from_before_a_seek_end_nothing_later(fields: dict[str, Any]) -> None:
    story = story_of(**fields).play(*PUBLISHED, (40, pull(), EVERYTHING), (45, seek(0)))
    story.play((45, pull(), EVERYTHING), (50, pull(), []), (54.9, pull(), []))
    story.play((55, pull(), [f"{letter}#2" for letter in "abcd"]))


@spec("SEK-13", "RTY-02")
def test_attempts_and_backoff_begin_anew() -> None:
    policy = {"minimum_backoff": seconds(100), "maximum_backoff": seconds(600)}
    story = story_of(retry_policy=policy).play((0, send("a")), (0, pull(), ["a#1"]))
    story.play((0, nack("a#1")), (99, pull(), []), (99, seek(0)), (99, pull(), ["a#1"]))
    story.play((99, nack("a#1")), (198, pull(), []), (199, pull(), ["a#2"]))
    # The backoff from before the seek ends for nothing.
    assert backlog_of(story.engine, SUBSCRIPTION).undelivered == 1


@spec("SEK-13", "DLQ-02")
def test_dead_letters_are_counted_anew() -> None:
    story = story_of(**KINDS["dead letters"]).play((0, send("a")))
    for attempt in range(1, 5):
        story.play((0, pull(), [f"a#{attempt}"]), (0, nack(f"a#{attempt}")))
    story.play((0, seek(0)))
    for attempt in range(1, 6):
        story.play((0, pull(), [f"a#{attempt}"]))
        lease = story.leases[f"sub:a#{attempt}"]
        assert attempts_of(story.engine, SUBSCRIPTION, [lease]) == [attempt]
        story.play((0, nack(f"a#{attempt}")))
    story.play((0, waiting(), 0))


@spec("SEK-17")
@pytest.mark.parametrize(("retains", "expected"), [(False, 0), (True, 1)])
def test_a_dead_letter_comes_again_only_if_it_was_retained(retains: bool, expected: int) -> None:
    story = story_of(retain_acked_messages=retains, **KINDS["dead letters"]).play((0, send("a")))
    for attempt in range(1, 6):
        story.play((0, pull(), [f"a#{attempt}"]), (0, nack(f"a#{attempt}")))
    story.play((0, waiting(), 0), (1, seek(0)), (1, waiting(), expected))


@spec("SEK-09", "STR-07")
@pytest.mark.parametrize("to", [0, 10**6])
@every_kind
def test_a_seek_empties_the_windows_of_streams(fields: dict[str, Any], to: float) -> None:
    story = story_of(**fields).play(*PUBLISHED)
    engine = story.engine
    request = pubsub.StreamingPullRequest(
        subscription=SUBSCRIPTION, stream_ack_deadline_seconds=10, max_outstanding_messages=2
    )
    holder = opened(engine, request, now=story.now)
    assert len(engine.holders.lease(holder.id, 9, now=story.now).value.leases) == 2
    assert engine.holders.lease(holder.id, 9, now=story.now).value.leases == []
    assert holder.is_blocked
    target = pubsub.SeekRequest(subscription=SUBSCRIPTION, time={"seconds": to})
    effects = engine.seeking.seek(target, now=story.now).effects
    assert set(effects) == {Available(SUBSCRIPTION), Room(holder.id)}
    assert (holder.held_messages, holder.held_bytes, holder.is_blocked) == (0, 0, False)
    assert len(engine.holders.lease(holder.id, 9, now=story.now).value.leases) == (0 if to else 2)


# --- filters and order ---


@spec("SEK-16", "FLT-04", "DLV-40")
@pytest.mark.parametrize("is_ordered", [False, True])
@pytest.mark.parametrize("topic_s", [None, HOUR_S])
@pytest.mark.parametrize("retains", [False, True])
def test_what_a_filter_rejects_is_not_replayed(
    is_ordered: bool, topic_s: float | None, retains: bool
) -> None:
    story = story_of(
        topic_s,
        filter=RED,
        enable_message_ordering=is_ordered,
        retain_acked_messages=retains,
    )
    story.play((0, send("a", "b")), (0, send("x", colour="blue")), (1, send("c")))
    story.play((1, pull(1), ["a#1"]), (1, ack("a#1")), (1, snap()), (2, seek(0)))
    assert pulled(story) == ("abc" if topic_s or retains else "bc")
    story.play((3, seek("shot")))
    assert pulled(story) == "bc"


@spec("ORD-09")
@pytest.mark.parametrize("turned_on_at", [0, 3])
def test_keys_are_replayed_in_their_order(turned_on_at: int) -> None:
    story = story_of(enable_message_ordering=True).play(
        (0, send("a", "b", "c", key="k")), (0, send("x", "y", key="l")), (1, send("d", key="k"))
    )
    on = change(retain_acked_messages=True)
    steps: list[Step] = [
        (1, pull(), ["a#1", "b#1", "c#1", "d#1", "x#1", "y#1"]),
        (1, ack("c#1", "a#1", "y#1")),
        (2, seek(0)),
    ]
    steps.insert(turned_on_at and 1, (1, on))
    story.play(*steps)
    labels = pull()(story)
    assert isinstance(labels, list)
    assert [label for label in labels if label[0] in "abcd"] == ["a#1", "b#1", "c#1", "d#1"]
    assert [label for label in labels if label[0] in "xy"] == ["x#1", "y#1"]


@spec("SEK-11", "ORD-02")
def test_an_acked_message_that_its_lane_brings_back_is_there_once() -> None:
    story = story_of(enable_message_ordering=True).play((0, send("a", "b", key="k")))
    story.play((0, pull(), ["a#1", "b#1"]), (0, change(retain_acked_messages=True)))
    story.play((0, ack("b#1")), (0, nack("a#1")), (0, waiting(), 2), (1, seek(0)))
    assert pulled(story) == "ab"


# --- seeks after seeks ---


@spec("SEK-09")
@pytest.mark.parametrize("is_worked_off", [False, True])
@pytest.mark.parametrize("retains", [False, True])
@every_kind
def test_many_seeks_in_a_row_lose_nothing(
    fields: dict[str, Any], retains: bool, is_worked_off: bool
) -> None:
    story = story_of(**fields).play(*PUBLISHED, (40, pull(), EVERYTHING))
    engine = story.engine
    if retains:
        change(retain_acked_messages=True)(story)
    target = pubsub.SeekRequest(subscription=SUBSCRIPTION, time={"seconds": 0})
    for _ in range(150):
        engine.seeking.seek(target, now=story.now)
        if is_worked_off:
            engine.tick("p", now=story.now, budget=1)
        engine.lease(SUBSCRIPTION, 2, now=story.now)
    assert pulled(story) in ("abcd", "cd")  # two are out
    story.play((41, seek(0)))
    assert pulled(story) == "abcd"
    assert backlog_of(engine, SUBSCRIPTION).feed is None


@spec("SEK-01", "SEK-11")
@pytest.mark.parametrize("retains", [False, True])
@every_kind
def test_what_a_seek_acked_is_acked_for_the_next_one(fields: dict[str, Any], retains: bool) -> None:
    """Though nothing of the first was worked off."""
    story = story_of(**fields).play(*PUBLISHED, (40, pull(), EVERYTHING))
    for command in (change(retain_acked_messages=retains), seek(10**6), seek(0)):
        command(story)
    assert pulled(story) == ("abcd" if retains else "")


@spec("SEK-11")
@every_kind
def test_what_was_acked_by_a_seek_before_is_not_retained(fields: dict[str, Any]) -> None:
    story = story_of(**fields).play(*PUBLISHED, (40, pull(), EVERYTHING))
    for command in (seek(10**6), change(retain_acked_messages=True)):
        command(story)
    story.play((41, seek(0)), (41, waiting(), 0))


@spec("SEK-11")
@every_kind
def test_what_a_snapshot_brought_back_from_the_log_is_there_once(fields: dict[str, Any]) -> None:
    """It had been acked, and retained as one from before acked messages were."""
    story = story_of(**fields).play((0, snap()), (1, send("a")), (1, pull(), ["a#1"]))
    story.play((1, change(retain_acked_messages=True)), (1, ack("a#1")), (2, seek("shot")))
    story.play((2, pull(), ["a#1"]), (2, seek(0)), (2, waiting(), 1))


@spec("SEK-09", "MET-01")
@every_kind
def test_messages_are_counted_once_while_a_seek_is_worked_off(fields: dict[str, Any]) -> None:
    story = story_of(**fields).play(*PUBLISHED, (40, pull(), EVERYTHING))
    seek(0)(story)
    backlog = backlog_of(story.engine, SUBSCRIPTION)
    for _ in range(6):
        assert backlog.undelivered == 4
        story.engine.tick("p", now=story.now, budget=1)


# --- who may seek ---


@spec("SEK-14")
def test_without_its_topic_a_subscription_replays_what_is_its_own() -> None:
    story = story_of(HOUR_S, retain_acked_messages=True).play(*PUBLISHED, *HISTORIES["acked"])
    story.play((41, delete_topic()), (42, seek(20)))
    assert pulled(story) == "bcd"


@spec("SEK-08")
def test_what_is_pushed_comes_again_too() -> None:
    push = {"push_endpoint": "http://localhost:1/push"}
    story = story_of(HOUR_S, push_config=push).play(*PUBLISHED, (40, seek(100)), (40, waiting(), 0))
    target = pubsub.SeekRequest(subscription=SUBSCRIPTION, time={"seconds": 20})
    assert story.engine.seeking.seek(target, now=story.now).effects == (Available(SUBSCRIPTION),)
    story.play((40, waiting(), 3))


DETACHED = Refusal("FAILED_PRECONDITION", "Subscription is detached.")
NO_TARGET = invalid(
    "No target was specified in the SeekRequest. Must specify either a time or a snapshot."
)


@spec("SEK-14", "SUB-21", "ERR-41")
def test_a_detached_subscription_cannot_seek() -> None:
    story = story_of(HOUR_S).play(*PUBLISHED, (40, snap()), (40, detach()))
    story.play((40, seek(0), DETACHED), (40, seek("shot"), DETACHED))


@spec("SEK-02", "ERR-42")
def test_a_seek_must_say_where() -> None:
    story = story_of()
    request = pubsub.SeekRequest(subscription=SUBSCRIPTION)
    assert refusal_of(lambda: story.engine.seeking.seek(request, now=0)) == NO_TARGET


@spec("SEK-06", "ERR-02", "NAM-15")
def test_what_a_seek_names_must_be_there() -> None:
    story = story_of()
    story.play((0, seek(0, "none"), not_found("none")), (0, seek("none"), not_found("none")))
    bad = pubsub.SeekRequest(subscription=SUBSCRIPTION, snapshot="projects/p/topics/top")
    bad_name = pubsub.SeekRequest(subscription="projects/p/topics/top", time={})
    for request in (bad, bad_name):
        refusal = refusal_of(partial(story.engine.seeking.seek, request, now=0))
        assert refusal is not None
        assert refusal.code == "INVALID_ARGUMENT"


@spec("SEK-01")
def test_a_refused_seek_changes_nothing() -> None:
    story = story_of().play(
        *PUBLISHED, (30, pull(2), ["a#1", "b#1"]), (30, seek("none"), not_found("none"))
    )
    story.play((31, ack("a#1")), (31, waiting(), 3))


@spec("SEK-06", "TOP-12", "ERR-43")
@pytest.mark.parametrize("is_made_again", [False, True])
def test_a_snapshot_serves_only_subscriptions_of_its_topic(is_made_again: bool) -> None:
    story = story_of().play(*PUBLISHED, (30, snap()))
    theirs = "projects/p/topics/top2"
    if is_made_again:
        story.play((31, delete_topic()), (31, create_topic()), (31, make("new")))
        theirs, shown = TOPIC, "_deleted-topic_"
    else:
        story.play((31, create_topic(theirs)))
        given = pubsub.Subscription(name="projects/p/subscriptions/new", topic=theirs)
        story.engine.subscriptions.create(given, now=story.now)
        shown = TOPIC
    text = (
        f"The subscription's topic ({theirs}) is different from that of the snapshot ({shown}); "
        "they must match in order for Seek work. Note that if a topic is deleted and then "
        "re-created with the same name, it is considered a distinct topic for these purposes."
    )
    story.play((31, seek("shot", "new"), Refusal("FAILED_PRECONDITION", text)))


@spec("SEK-06", "SNP-09")
def test_two_topics_that_are_gone_are_not_one() -> None:
    story = story_of().play((0, snap()), (0, create_topic("other")))
    given = pubsub.Subscription(name=f"{SUBSCRIPTION}-2", topic="projects/p/topics/other")
    story.engine.subscriptions.create(given, now=0)
    story.play((0, delete_topic()), (0, delete_topic("other")))
    refusal = refusal_of(lambda: seek("shot", f"{SUBSCRIPTION}-2")(story))
    assert refusal is not None
    assert refusal.code == "FAILED_PRECONDITION"


@spec("DLV-42")
def test_changes_of_the_topic_between_seeks() -> None:
    story = story_of(HOUR_S).play(
        *PUBLISHED, *HISTORIES["acked"], (41, retain(None)), (41, seek(0))
    )
    assert pulled(story) == ""
    story.play((42, retain(HOUR_S)), (42, send("e")), (42, seek(0)))
    assert pulled(story) == "e"


@spec("SEK-06", "SEK-11")
@pytest.mark.parametrize("fields", [{}, {"enable_message_ordering": True}, {"filter": RED}])
def test_what_a_snapshot_brought_back_is_retained_when_it_is_acked_again(
    fields: dict[str, Any],
) -> None:
    story = story_of()
    story.play(
        (0, snap("shot")),
        (0, send("a", "b", key="k")),
        (1, make("other")),
        (2, make("late", retain_acked_messages=True, **fields)),
        (3, seek("shot", "late")),
        (4, seek(DAY_S, "late")),
        (5, seek(0, "late")),
    )
    assert backlog_of(story.engine, "projects/p/subscriptions/late").undelivered == 2
