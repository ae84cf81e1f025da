"""Snapshots: what they hold and for how long, how they are shown, listed, changed and gone."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from emulator.api import pubsub
from emulator.engine.delivery.outcome import Fired
from emulator.engine.values import limits
from tests.engine.replay_story import (
    DAY_S,
    HOUR_S,
    KINDS,
    MINUTE_S,
    RED,
    change,
    detach,
    forget,
    life_of,
    make,
    pulled,
    seconds,
    seek,
    send,
    snap,
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
    create_topic,
    delete_topic,
    invalid,
    nack,
    not_found,
    pull,
    refusal_of,
    reset,
    unsubscribe,
)
from tests.property.invariants import log_of
from tests.spec import spec

SHOT = "projects/p/snapshots/shot"
WEEK_S = 7 * DAY_S
TOO_OLD = Refusal(
    "FAILED_PRECONDITION",
    "The snapshot would expire within an hour, because the oldest unacknowledged message of the "
    "subscription is almost seven days old.",
)
every_kind = pytest.mark.parametrize("fields", KINDS.values(), ids=KINDS)


def shown(story: Story, name: str = "shot") -> pubsub.Snapshot:
    full = f"projects/p/snapshots/{name}"
    return story.engine.snapshots.get(full, now=story.now).value


# --- what they hold ---


@spec("SNP-01", "SEK-06")
@pytest.mark.parametrize("is_ended", [False, True])
@every_kind
def test_a_snapshot_brings_back_what_was_unacked_and_what_came_after(
    fields: dict[str, Any], is_ended: bool
) -> None:
    """Acked, waiting, out and failed messages at the time; then all are acked."""
    story = story_of(**fields).play((1, send("a", "b", "c")), (2, pull(3), ["a#1", "b#1", "c#1"]))
    story.play((2, send("d")), (2, ack("a#1")), (2, nack("b#1")))
    story.play((2, snap()), (3, send("e")))
    if is_ended:
        story.play((13, waiting(), 4))
    story.play((13, seek(10**6)), (13, waiting(), 0), (14, send("f")), (14, seek("shot")))
    assert pulled(story) == "bcdef"


@spec("SNP-01", "SEK-06")
def test_what_was_acked_at_the_time_is_acked_by_the_seek() -> None:
    story = story_of(HOUR_S).play((1, send("a", "b")), (1, pull(1), ["a#1"]), (1, ack("a#1")))
    story.play((1, snap()), (2, seek(0)), (2, waiting(), 2), (2, seek("shot")))
    story.play((2, pull(), ["b#1"]))


@spec("SEK-07", "SNP-05")
@every_kind
def test_any_subscription_of_the_topic_may_seek_to_it(fields: dict[str, Any]) -> None:
    """One made later as well, and more than once."""
    story = story_of().play((1, send("a", "b")), (1, snap()), (1, seek(10**6)))
    story.play((2, make("new", **fields)), (2, waiting("new"), 0), (2, send("c")))
    for at in (3, 4):
        story.play((at, seek("shot", "new")), (at, waiting("new"), 3))
        story.play((at, pull(9, "new"), ["a#1", "b#1", "c#1"]))
        story.play((at, ack("a#1", "b#1", "c#1", subscription="new")), (at, waiting("new"), 0))
    story.play((4, waiting(), 1))


@spec("SNP-08", "SEK-16", "FLT-04")
@pytest.mark.parametrize("retains", [False, True])
def test_a_filter_is_changed_by_way_of_a_snapshot(retains: bool) -> None:
    """Before the snapshot the old filter counts, after it the new one alone."""
    blue = 'attributes.colour = "blue"'
    story = story_of(filter=RED).play(
        (1, send("(red)")), (1, send("(blue)", colour="blue")), (2, snap())
    )
    story.play(
        (3, send("red")),
        (3, send("blue", colour="blue")),
        (4, make("all", retain_acked_messages=retains)),
    )
    story.play(
        (4, make("blue", filter=blue, retain_acked_messages=retains)),
        (4, seek("shot", "all")),
        (4, seek("shot", "blue")),
    )
    assert pulled(story, "all") == "(red)bluered"
    assert pulled(story, "blue") == "blue"
    # What the new filter rejects is not among what is retained either.
    story.play((5, seek(10**6, "blue")), (5, seek(0, "blue")))
    assert pulled(story, "blue") == ("blue" if retains else "")


ENDS: dict[str, list[Step]] = {
    "ack": [(2, pull(), ["a#1", "b#1"]), (2, ack("a#1", "b#1"))],
    "delete": [(2, unsubscribe())],
    "detach": [(2, detach())],
    "purge": [(2, seek(100))],
}


@spec("SNP-01", "SUB-20", "SUB-21")
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@every_kind
def test_a_snapshot_outlives_what_becomes_of_its_source(
    fields: dict[str, Any], end: list[Step]
) -> None:
    story = story_of(**fields).play((1, send("a", "b")), (1, snap()), *end, (3, send("c")))
    story.catch_up()
    story.play((4, make("new")), (4, seek("shot", "new")), (4, waiting("new"), 3))


@spec("SNP-09", "TOP-11", "NAM-18")
def test_after_its_topic_a_snapshot_shows_that_it_is_gone() -> None:
    story = story_of(HOUR_S).play((1, send("a")), (1, snap()), (2, seek(100)), (2, delete_topic()))
    assert shown(story).topic == "_deleted-topic_"
    [listed], _ = story.engine.snapshots.list("projects/p", 0, "", now=story.now).value
    assert listed == shown(story)
    # The subscription that stays has the same log.
    story.play(
        (3, seek("shot")), (3, pull(), ["a#1"]), (3, forget()), (3, life_of(), not_found("shot"))
    )


@spec("SNP-09")
def test_without_a_topic_or_detached_a_subscription_has_snapshots_still() -> None:
    story = story_of().play((1, send("a")), (1, delete_topic()), (1, snap()), (1, waiting(), 1))
    assert shown(story).topic == "_deleted-topic_"
    story = story_of().play((1, send("a")), (1, pull(), ["a#1"]), (1, detach()), (2, send("b")))
    story.play((2, snap()), (2, life_of(), WEEK_S), (3, send("c")))
    story.play((4, make("new")), (4, seek("shot", "new")), (4, pull(9, "new"), ["c#1"]))


# --- how long ---


@spec("SNP-02")
@every_kind
def test_a_snapshot_lives_seven_days_less_the_age_of_the_oldest_unacked(
    fields: dict[str, Any],
) -> None:
    month = seconds(31 * DAY_S)
    story = story_of(message_retention_duration=month, **fields).play((0, snap("shot-0")))
    story.play((0, life_of("shot-0"), WEEK_S), (10, send("a")), (100, send("b")))
    story.play((110, snap("shot-1")), (110, life_of("shot-1"), WEEK_S - 100))
    # Out with somebody, then failed, it is unacked still.
    story.play(
        (110, pull(), ["a#1", "b#1"]), (110, snap("shot-2")), (110, life_of("shot-2"), WEEK_S - 100)
    )
    story.play((111, nack("a#1")), (112, snap("shot-3")), (112, life_of("shot-3"), WEEK_S - 102))
    story.play((112, pull(), ["a#2"]), (113, ack("a#2")))
    story.play((113, snap("shot-4")), (113, life_of("shot-4"), WEEK_S - 13))
    story.play((113, ack("b#1")), (113, snap("shot-5")), (113, life_of("shot-5"), WEEK_S))


@spec("SNP-02")
def test_retained_acked_messages_do_not_shorten_its_life() -> None:
    story = story_of(31 * DAY_S, retain_acked_messages=True).play((0, send("a")))
    story.play((0, pull(), ["a#1"]), (0, ack("a#1")), (6 * DAY_S, snap()))
    story.play((6 * DAY_S, life_of(), WEEK_S))


@spec("SNP-03", "ERR-44")
@pytest.mark.parametrize(
    ("age", "is_allowed"),
    [
        (WEEK_S - HOUR_S, True),
        (WEEK_S - HOUR_S + 0.000_001, False),
        (WEEK_S, False),
        (30 * DAY_S, False),
    ],
)
@every_kind
def test_a_snapshot_lives_an_hour_at_least(
    fields: dict[str, Any], age: float, is_allowed: bool
) -> None:
    month = seconds(31 * DAY_S)
    story = story_of(message_retention_duration=month, **fields).play((0, send("a")))
    if is_allowed:
        story.play((age, snap()), (age, life_of(), HOUR_S))
    else:
        story.play((age, snap(), TOO_OLD), (age, life_of(), not_found("shot")))


@spec("SNP-05")
def test_its_end_is_shown_in_milliseconds_as_it_is_held() -> None:
    story = story_of().play((0.001_234, snap()))
    assert shown(story).expire_time.nanos == 1_000_000
    assert shown(story) == pubsub.Snapshot(
        name=SHOT, topic=TOPIC, expire_time={"seconds": WEEK_S, "nanos": 1_000_000}
    )


@spec("SNP-06")
@pytest.mark.parametrize("is_deleted", [False, True])
@every_kind
def test_what_only_a_snapshot_held_goes_with_it(fields: dict[str, Any], is_deleted: bool) -> None:
    story = story_of(**fields).play((1, send("a", "b")), (1, snap()), (1, send("c")))
    story.play((2, seek(100)))
    log = log_of(story.engine, TOPIC)
    story.catch_up()
    assert log.kept >= 1
    if is_deleted:
        story.play((3, forget()))
    else:
        story.play((WEEK_S, life_of(), 1.0))
        effects = story.engine.tick("p", now=(WEEK_S + 1) * SECOND_US).effects
        assert Fired((WEEK_S + 1) * SECOND_US, "snapshot expiry", SHOT, 1) in effects
    story.catch_up()
    story.play(
        (WEEK_S + 1, life_of(), not_found("shot")), (WEEK_S + 1, seek("shot"), not_found("shot"))
    )
    assert log.kept == 0
    assert story.engine.next_deadline("p") is None


@spec("SNP-06", "SEK-09")
@every_kind
def test_a_seek_has_what_a_snapshot_held_though_it_is_deleted_then(
    fields: dict[str, Any],
) -> None:
    story = story_of(**fields).play((1, send("a", "b")), (1, pull(1), ["a#1"]), (1, snap()))
    story.play((1, seek(100)), (1, send("c")))
    for command in (seek("shot"), forget()):
        command(story)  # with no tick in between
    story.play((2, waiting(), 3))


@spec("DLV-41", "SEK-04")
@every_kind
def test_what_is_too_old_for_a_subscription_is_not_brought_back(fields: dict[str, Any]) -> None:
    ten_minutes = seconds(10 * MINUTE_S)
    story = story_of(message_retention_duration=ten_minutes, **fields)
    story.play((0, send("a")), (60, send("b")), (60, pull(), ["a#1", "b#1"]), (60, snap()))
    story.play((60, ack("a#1", "b#1")), (10 * MINUTE_S, seek("shot")))
    story.play((10 * MINUTE_S, waiting(), 1), (10 * MINUTE_S, pull(), ["b#1"]))
    story.play((11 * MINUTE_S, waiting(), 0), (11 * MINUTE_S, seek("shot")))
    story.play((11 * MINUTE_S, waiting(), 0))


@spec("SEK-11")
@every_kind
def test_what_a_seek_to_a_snapshot_acks_is_retained(fields: dict[str, Any]) -> None:
    story = story_of(**fields).play((0, make("other")), (1, send("a", "b")))
    story.play((1, pull(9, "other"), ["a#1", "b#1"]), (1, ack("a#1", "b#1", subscription="other")))
    story.play((1, pull(1), ["a#1"]), (1, snap("none", "other")))
    story.play((2, change(retain_acked_messages=True)), (3, seek("none")), (3, waiting(), 0))
    story.play((4, seek(0)), (4, waiting(), 2), (4, pull(), ["a#1", "b#1"]))
    story.play((4, ack("a#1", "b#1")), (5, seek(0)), (5, waiting(), 2))


# --- administration ---


@spec("SNP-04", "ERR-01", "ERR-02", "ERR-03")
def test_what_a_snapshot_is_refused_for() -> None:
    story = story_of().play((0, snap()))
    exists = Refusal("ALREADY_EXISTS", "Resource already exists in the project (resource=shot).")
    story.play((0, snap(), exists), (0, snap("new", "none"), not_found("none")))
    for name in ("projects/p/snapshots/1", "projects/p/topics/shot", "projects/p/snapshots/goog-1"):
        request = pubsub.CreateSnapshotRequest(name=name, subscription=SUBSCRIPTION)
        refusal = refusal_of(partial(story.engine.snapshots.create, request, now=0))
        assert refusal is not None
        assert refusal.code == "INVALID_ARGUMENT"
    assert story.engine.snapshots.list("projects/p", 0, "", now=0).value[0] == [shown(story)]


@spec("NAM-19", "SNP-04")
def test_a_snapshot_without_a_name_gets_one() -> None:
    story = story_of()
    request = pubsub.CreateSnapshotRequest(subscription=SUBSCRIPTION)
    made = [story.engine.snapshots.create(request, now=0).value.name for _ in range(3)]
    assert len(set(made)) == 3
    assert all(name.startswith("projects/p/snapshots/") for name in made)
    forget(made[0])(story)
    assert story.engine.snapshots.create(request, now=0).value.name not in made[1:]


@spec("SNP-05", "UPD-07", "UPD-08", "LBL-01")
def test_labels_are_merged_and_all_else_is_fixed() -> None:
    story = story_of().play((0, snap(labels={"a": "1", "b": "2"})))
    given = pubsub.Snapshot(name=SHOT, labels={"b": "3", "c": "4"}, topic="x")
    updated = story.engine.snapshots.update(given, ["labels"], now=0).value
    assert dict(updated.labels) == {"a": "1", "b": "3", "c": "4"}
    assert updated == shown(story)
    assert updated.topic == TOPIC
    for path in ("topic", "expire_time", "name", "nonsense"):
        refusal = refusal_of(partial(story.engine.snapshots.update, given, [path], now=0))
        assert refusal is not None
        assert refusal.code == "INVALID_ARGUMENT"
    bad = pubsub.Snapshot(name=SHOT, labels={"Bad": ""})
    assert refusal_of(lambda: story.engine.snapshots.update(bad, ["labels"], now=0)) is not None
    assert shown(story) == updated


@spec("SNP-05", "LBL-01")
def test_bad_labels_make_no_snapshot() -> None:
    story = story_of()
    refusal = refusal_of(lambda: snap(labels={"Bad": ""})(story))
    assert refusal is not None
    assert refusal.code == "INVALID_ARGUMENT"
    story.play((0, life_of(), not_found("shot")))


@spec("LST-04", "LST-06", "LST-07")
def test_snapshots_are_listed_by_project_and_by_topic() -> None:
    story = story_of().play((0, create_topic("other")))
    given = pubsub.Subscription(
        name="projects/p/subscriptions/two", topic="projects/p/topics/other"
    )
    story.engine.subscriptions.create(given, now=0)
    story.play((0, snap("shot-b")), (0, snap("shot-a")), (0, snap("shot-c", "two")))
    story.play((0, snap("projects/q/snapshots/far")))
    engine = story.engine

    def names(found: list[pubsub.Snapshot]) -> list[str]:
        return [snapshot.name.removeprefix("projects/p/snapshots/") for snapshot in found]

    first, token = engine.snapshots.list("projects/p", 2, "", now=0).value
    rest, end = engine.snapshots.list("projects/p", 2, token, now=0).value
    assert (names(first), names(rest), end) == (["shot-a", "shot-b"], ["shot-c"], "")
    ours, token = engine.snapshots.list_of_topic(TOPIC, 2, "", now=0).value
    more, end = engine.snapshots.list_of_topic(TOPIC, 2, token, now=0).value
    prefix = "projects/p/snapshots/"
    assert ours == [f"{prefix}shot-a", f"{prefix}shot-b"]
    assert (more, end) == (["projects/q/snapshots/far"], "")
    missing = refusal_of(
        lambda: engine.snapshots.list_of_topic("projects/p/topics/none", 0, "", now=0)
    )
    assert missing == not_found("none")


@spec("ERR-02", "LST-01", "NAM-15")
def test_a_missing_snapshot_is_named_by_its_leaf() -> None:
    story = story_of().play((0, forget("none"), not_found("none")))
    story.play((0, life_of("none"), not_found("none")))
    given = pubsub.Snapshot(name="projects/p/snapshots/none")
    assert refusal_of(lambda: story.engine.snapshots.update(given, ["labels"], now=0)) == not_found(
        "none"
    )
    refusal = refusal_of(lambda: story.engine.snapshots.get("projects/p/snapshots/1", now=0))
    assert refusal is not None
    assert refusal.code == invalid("").code


@spec("SNP-07", "QUO-01")
@pytest.mark.parametrize("project", ["p", "q"])
def test_there_are_five_thousand_in_a_project_and_of_a_topic(
    monkeypatch: pytest.MonkeyPatch, project: str
) -> None:
    assert (limits.SNAPSHOTS_PER_PROJECT, limits.SNAPSHOTS_PER_TOPIC) == (5_000, 5_000)
    for limit in ("SNAPSHOTS_PER_PROJECT", "SNAPSHOTS_PER_TOPIC"):
        monkeypatch.setattr(limits, limit, 3)
    story = story_of()
    for number in range(3):
        story.play((0, snap(f"shot-{number}")))
    refusal = refusal_of(lambda: snap(f"projects/{project}/snapshots/more")(story))
    assert refusal is not None
    assert refusal.code == "RESOURCE_EXHAUSTED"
    story.play((0, forget("shot-1")), (0, snap("again")))


def test_a_reset_forgets_snapshots_and_what_they_held() -> None:
    story = story_of().play((0, send("a")), (0, snap()), (0, seek(100)))
    log = log_of(story.engine, TOPIC)
    story.play((0, reset(b"another")), (0, life_of(), not_found("shot")))
    story.catch_up()
    assert log.kept == 0
    assert story.engine.next_deadline("p") is None
