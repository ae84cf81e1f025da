"""Expiry: subscriptions that nobody uses are deleted."""

from __future__ import annotations

import pytest

from emulator.api import pubsub
from emulator.api.wkt import Duration
from emulator.engine.delivery.outcome import Ended, Fired
from emulator.engine.values import errors
from tests.engine.replay_story import (
    DAY_S,
    HOUR_S,
    change,
    detach,
    make,
    retain,
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
    Command,
    Refusal,
    Story,
    ack,
    attached,
    modack,
    nack,
    not_found,
    opened,
    pull,
    refusal_of,
    topic_of,
)
from tests.spec import spec

TTL = {"ttl": seconds(DAY_S)}
GONE = not_found("sub")


def idle_story() -> Story:
    return story_of(HOUR_S, expiration_policy=TTL, message_retention_duration=seconds(HOUR_S)).play(
        (0, send("a", "b")), (0, pull(), ["a#1", "b#1"])
    )


@spec("SUB-07", "SUB-22")
def test_a_subscription_is_deleted_when_it_was_idle_for_its_time_to_live() -> None:
    story = idle_story()
    story.play((DAY_S - 0.000_001, attached(), ["sub"]), (DAY_S, attached(), []))
    story.play((DAY_S, pull(), GONE))
    assert story.engine.next_deadline("p") is None


@spec("SUB-22", "STR-13")
def test_streams_and_pulls_on_it_end() -> None:
    story = story_of(expiration_policy=TTL, message_retention_duration=seconds(HOUR_S))
    effects = story.engine.tick("p", now=DAY_S * SECOND_US).effects
    assert len(effects) == 2
    ended, fired = effects
    assert isinstance(ended, Ended)
    assert ended.subscription == SUBSCRIPTION
    assert repr(ended.error) == repr(errors.not_found(SUBSCRIPTION))
    assert fired == Fired(DAY_S * SECOND_US, "subscription expiry", SUBSCRIPTION, 1)


USES: dict[str, Command] = {
    "pull": pull(),
    "ack": ack("b#1"),
    "nack": nack("b#1"),
    "modack": modack(60, "b#1"),
    "get": topic_of(),
    "update": change(labels={"a": "b"}),
    "seek": seek(0),
    "snapshot": snap(),
}


@spec("SUB-22")
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_use_puts_it_off(use: Command) -> None:
    story = idle_story()
    story.now = (DAY_S - 1) * SECOND_US
    story.catch_up()
    use(story)
    story.play((2 * DAY_S - 1.000_001, attached(), ["sub"]), (2 * DAY_S - 1, attached(), []))


@spec("SUB-22")
@pytest.mark.parametrize("is_opening", [True, False])
def test_a_stream_that_opens_or_speaks_puts_it_off(is_opening: bool) -> None:
    request = pubsub.StreamingPullRequest(subscription=SUBSCRIPTION, stream_ack_deadline_seconds=60)
    story = idle_story()
    streams = story.engine.streaming
    holder = opened(story.engine, request, now=0)
    story.play((DAY_S - 1, attached(), ["sub"]))
    if is_opening:
        streams.open(request, now=story.now)
    else:
        ping = pubsub.StreamingPullRequest()
        streams.receive(holder.id, ping, now=story.now, is_first=False)
    story.play((2 * DAY_S - 1.000_001, attached(), ["sub"]), (2 * DAY_S - 1, attached(), []))


@spec("SUB-22")
def test_a_lease_alone_is_use() -> None:
    request = pubsub.StreamingPullRequest(subscription=SUBSCRIPTION, stream_ack_deadline_seconds=60)
    story = idle_story()
    holder = opened(story.engine, request, now=0)
    story.play((DAY_S - 10, send("c")))
    assert len(story.engine.holders.lease(holder.id, 9, now=story.now).value.leases) == 1
    # Nothing was there to receive this time.
    story.play((DAY_S, attached(), ["sub"]))
    story.engine.holders.lease(holder.id, 9, now=story.now)
    story.play((2 * DAY_S - 10, attached(), []))


@spec("SUB-22")
def test_what_is_done_to_its_topic_or_others_is_no_use() -> None:
    story = idle_story().play((DAY_S - 1, send("c")), (DAY_S - 1, make("two")))
    story.play((DAY_S - 1, retain(DAY_S)), (DAY_S - 1, pull(9, "two"), []))
    story.engine.subscriptions.list("projects/p", 0, "", now=story.now)
    story.play((DAY_S, attached(), ["two"]))


@spec("SUB-07")
def test_with_an_empty_policy_it_never_expires() -> None:
    story = story_of(expiration_policy={})
    assert story.engine.next_deadline("p") is None
    story.play((10**9, attached(), ["sub"]))


@spec("SUB-07")
def test_the_default_is_31_days() -> None:
    story = story_of(expiration_policy=None)
    shown = story.engine.subscriptions.get(SUBSCRIPTION, now=0).value
    assert shown.expiration_policy.ttl.seconds == 31 * DAY_S
    story.play((31 * DAY_S - 1, attached(), ["sub"]), (31 * DAY_S, attached(), []))


@spec("SUB-07", "SUB-22", "UPD-06")
def test_a_changed_policy_counts_from_the_change() -> None:
    story = story_of(expiration_policy={}, message_retention_duration=seconds(HOUR_S))
    story.play((DAY_S, change(expiration_policy=TTL)), (2 * DAY_S - 1, attached(), ["sub"]))
    story.play((2 * DAY_S - 1, change(expiration_policy={})), (10**7, attached(), ["sub"]))
    story.play((10**7, change(expiration_policy=None)))
    story.play((10**7 + 31 * DAY_S - 1, attached(), ["sub"]), (10**7 + 31 * DAY_S, attached(), []))


@spec("SUB-07", "ERR-23")
def test_a_day_is_the_least() -> None:
    text = (
        "The value for expiration duration is too small. You passed 23h59m59.5s in the request, "
        "but the minimum value is 24h."
    )
    short = {"ttl": seconds(DAY_S - 0.5)}
    refusal = refusal_of(lambda: story_of(expiration_policy=short))
    assert refusal == Refusal("INVALID_ARGUMENT", text)


@spec("SUB-06", "SUB-07")
@pytest.mark.parametrize(
    ("retention_s", "ttl_s", "expected"),
    [
        (None, DAY_S, DAY_S),
        (None, 8 * DAY_S, 7 * DAY_S),
        (31 * DAY_S, 31 * DAY_S, 31 * DAY_S),
        (DAY_S + 1, DAY_S, None),
    ],
)
def test_no_subscription_expires_before_its_messages(
    retention_s: float | None, ttl_s: float, expected: float | None
) -> None:
    retention: Duration | None = None if retention_s is None else seconds(retention_s)
    story = story_of()
    fields = {"expiration_policy": {"ttl": seconds(ttl_s)}, "message_retention_duration": retention}
    refusal = refusal_of(lambda: make("new", **fields)(story))
    if expected is None:
        assert refusal is not None
        assert refusal.code == "INVALID_ARGUMENT"
    else:
        assert refusal is None
        name = "projects/p/subscriptions/new"
        shown = story.engine.subscriptions.get(name, now=0).value
        assert shown.message_retention_duration.seconds == expected


@spec("SUB-22", "SNP-01")
def test_a_snapshot_outlives_a_subscription_that_expires() -> None:
    story = idle_story().play((0, snap()), (DAY_S, attached(), []), (DAY_S, make("new")))
    story.play((DAY_S, seek("shot", "new")), (DAY_S, waiting("new"), 2))


def test_a_detached_subscription_is_left_to_whoever_detached_it() -> None:
    idle_story().play((1, detach()), (10 * DAY_S, topic_of(), "projects/p/topics/top"))
