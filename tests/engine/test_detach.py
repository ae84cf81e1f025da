"""Subscriptions cut off from their topics."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from emulator.engine.delivery.outcome import Ended
from tests.engine.story import (
    SUBSCRIPTION,
    Refusal,
    Story,
    ack,
    attached,
    create_topic,
    delete_topic,
    full_name,
    modack,
    nack,
    not_found,
    publish,
    pull,
    refusal_of,
    subscribe,
    topic_of,
    unsubscribe,
)
from tests.spec import spec

Command = Callable[[Story], object]
DETACHED = Refusal("FAILED_PRECONDITION", "Subscription is detached.")


def detach(subscription: str = SUBSCRIPTION) -> Command:
    def command(story: Story) -> None:
        story.engine.subscriptions.detach(full_name("subscriptions", subscription), now=story.now)

    return command


def is_detached(story: Story) -> bool:
    return story.engine.subscriptions.get(SUBSCRIPTION, now=story.now).value.detached


@spec("SUB-21", "PUL-04", "ERR-41", "LST-06")
def test_a_detached_subscription_stays_but_gives_nothing() -> None:
    Story().play(
        (0, publish("a")),
        (0, is_detached, False),
        (0, detach()),
        (0, is_detached, True),
        (0, topic_of(), "projects/p/topics/top"),
        (0, attached(), []),
        (0, pull(), DETACHED),
        (0, publish("b")),
        (0, pull(), DETACHED),
    )


@spec("SUB-21")
def test_detaching_again_succeeds_and_tells_nobody() -> None:
    story = Story()
    [ended] = story.engine.subscriptions.detach(SUBSCRIPTION, now=0).effects
    assert isinstance(ended, Ended)
    assert refusal_of(lambda: raise_(ended.error)) == DETACHED
    assert story.engine.subscriptions.detach(SUBSCRIPTION, now=0).effects == ()


def raise_(error: Exception) -> None:
    raise error


@spec("SUB-21", "ERR-02")
def test_what_is_detached_must_exist() -> None:
    Story().play(
        (0, detach("nothing"), not_found("nothing")),
        (0, unsubscribe()),
        (0, detach(), not_found("sub")),
    )


@spec("SUB-21", "DLV-23")
@pytest.mark.parametrize("settle", [ack("a#1"), nack("a#1"), modack(30, "a#1")])
def test_leases_from_before_are_stale(settle: Command) -> None:
    story = Story().play((0, publish("a", "b")), (0, pull(), ["a#1", "b#1"]))
    detach()(story)
    settle(story)  # before the leases are reclaimed, and after
    story.catch_up()
    story.play((0, settle), (0, pull(), DETACHED), (1_000, settle), (1_000, pull(), DETACHED))
    assert story.engine.next_deadline("p") is None


@spec("SUB-21", "SUB-02", "ERR-03", "SUB-20")
def test_only_deletion_is_left_and_frees_the_name() -> None:
    Story().play(
        (0, publish("a")),
        (0, detach()),
        (0, subscribe(), Refusal(
            "ALREADY_EXISTS", "Resource already exists in the project (resource=sub)."
        )),
        (0, unsubscribe()),
        (0, pull(), not_found("sub")),
        (0, subscribe()),
        (0, attached(), ["sub"]),
        (0, publish("b")),
        (0, pull(), ["b#1"]),
    )  # fmt: skip


@spec("SUB-21", "DLV-07", "NAM-03")
def test_other_subscriptions_go_on() -> None:
    Story().play(
        (0, subscribe("two")),
        (0, publish("a")),
        (0, pull(subscription="two"), ["a#1"]),
        (0, detach()),
        (0, attached(), ["two"]),
        (0, publish("b")),
        (0, pull(subscription="two"), ["b#1"]),
        (10, pull(subscription="two"), ["a#2", "b#2"]),
    )


@spec("SUB-21", "TOP-11")
def test_a_detached_subscription_outlives_its_topic() -> None:
    Story().play(
        (0, detach()),
        (0, delete_topic()),
        (0, is_detached, True),
        (0, create_topic()),
        (0, attached(), []),
        (0, unsubscribe()),
    )


@spec("SUB-21", "TOP-11")
def test_a_subscription_without_a_topic_can_be_detached() -> None:
    Story().play(
        (0, publish("a")),
        (0, delete_topic()),
        (0, detach()),
        (0, pull(), DETACHED),
        (0, topic_of(), "_deleted-topic_"),
    )
