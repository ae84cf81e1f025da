"""A message's way through leases: delivered, extended, ended, settled."""

from __future__ import annotations

import pytest

from tests.engine.story import (
    RETENTION_US,
    SECOND_US,
    SUBSCRIPTION,
    Command,
    Story,
    ack,
    invalid,
    message_of,
    modack,
    nack,
    publish,
    pull,
    release,
    subscribe,
    unsubscribe,
)
from tests.spec import spec


@spec("DLV-02", "DLV-20", "DLV-01")
def test_a_leased_message_goes_to_nobody_else_until_its_deadline() -> None:
    Story().play(
        (0, publish("a")),
        (1, pull(), ["a#1"]),
        (1, pull(), []),
        (10.999999, pull(), []),
        (11, pull(), ["a#2"]),
    )


@spec("DLV-20")
def test_the_subscription_gives_the_first_lease_its_length() -> None:
    Story().play(
        (0, subscribe("slow", deadline_s=600)),
        (0, publish("a")),
        (0, pull(subscription="slow"), ["a#1"]),
        (599.999999, pull(subscription="slow"), []),
        (600, pull(subscription="slow"), ["a#2"]),
    )


@spec("DLV-04", "DLV-01")
def test_an_acked_message_never_comes_again() -> None:
    story = Story().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (9, ack("a#1")),
        (9, pull(), []),
        (1_000_000, pull(), []),
    )
    assert story.engine.next_deadline("p") is None


@spec("DLV-05", "DLV-06")
def test_an_unacked_message_comes_again_and_again() -> None:
    story = Story().play((0, publish("a")))
    for attempt in range(1, 51):
        story.play((attempt * 10, pull(), [f"a#{attempt}"]))


@spec("DLV-03")
def test_a_nacked_message_is_available_at_once() -> None:
    Story().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, nack("a#1")),
        (0, pull(), ["a#2"]),
        (9.999999, pull(), []),
        (10, pull(), ["a#3"]),
    )


@spec("DLV-21")
def test_modack_counts_from_its_own_time_and_may_extend_or_shorten() -> None:
    Story().play(
        (0, publish("long", "short")),
        (0, pull(), ["long#1", "short#1"]),
        (5, modack(600, "long#1")),
        (5, modack(1, "short#1")),
        (5.999999, pull(), []),
        (6, pull(), ["short#2"]),
        (6, ack("short#2")),
        (604.999999, pull(), []),
        (605, pull(), ["long#2"]),
    )


@spec("DLV-21")
def test_a_lease_may_be_extended_without_end() -> None:
    story = Story().play((0, publish("a")), (0, pull(), ["a#1"]), (0, modack(600, "a#1")))
    for time in range(599, 200 * 599, 599):
        story.play((time, modack(600, "a#1")), (time, pull(), []))
    story.play((time + 599.999999, pull(), []), (time + 600, pull(), ["a#2"]))


@spec("DLV-21")
def test_the_last_modack_wins_whether_longer_or_shorter() -> None:
    Story().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, modack(600, "a#1")),
        (0, modack(20, "a#1")),
        (0, modack(30, "a#1")),
        (29.999999, pull(), []),
        (30, pull(), ["a#2"]),
    )


@spec("DLV-21")
def test_an_extended_lease_can_be_shortened_to_before_its_first_deadline() -> None:
    Story().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (1, modack(600, "a#1")),
        (2, modack(3, "a#1")),
        (4.999999, pull(), []),
        (5, pull(), ["a#2"]),
        (5, ack("a#2")),
        (1_000, pull(), []),
    )


@spec("DLV-21")
def test_modack_of_one_lease_leaves_its_neighbours_alone() -> None:
    Story().play(
        (0, publish("a", "b", "c")),
        (0, pull(), ["a#1", "b#1", "c#1"]),
        (0, modack(20, "b#1")),
        (0, ack("c#1")),
        (10, pull(), ["a#2"]),
        (20, pull(), ["b#2", "a#3"]),
    )


@spec("DLV-21")
def test_modack_does_not_change_the_subscription() -> None:
    story = Story().play(
        (0, publish("a", "b")),
        (0, pull(1), ["a#1"]),
        (0, modack(600, "a#1")),
        (0, pull(), ["b#1"]),
        (10, pull(), ["b#2"]),
    )
    shown = story.engine.subscriptions.get(SUBSCRIPTION, now=0).value
    assert shown.ack_deadline_seconds == 10


@spec("DLV-22", "ERR-11")
@pytest.mark.parametrize(
    ("seconds", "is_allowed"),
    [(-1, False), (0, True), (1, True), (600, True), (601, False), (-(2**31), False)],
)
def test_modack_takes_0_to_600_seconds(seconds: int, is_allowed: bool) -> None:
    text = (
        f"Invalid ack deadline given (ack_deadline={seconds}). The ack deadline must be between 0 "
        "and 600 seconds."
    )
    Story().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, modack(seconds, "a#1"), None if is_allowed else invalid(text)),
        (0, pull(), ["a#2"] if seconds == 0 else []),
    )


@spec("DLV-23")
def test_a_late_ack_counts_while_the_message_has_not_gone_out_again() -> None:
    Story().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (11, ack("a#1")),
        (11, pull(), []),
        (100, pull(), []),
    )


@spec("DLV-23")
def test_an_ack_after_a_nack_counts_while_the_message_has_not_gone_out_again() -> None:
    Story().play(
        (0, publish("a", "b")),
        (0, pull(), ["a#1", "b#1"]),
        (0, nack("a#1", "b#1")),
        (0, ack("a#1")),
        (0, pull(), ["b#2"]),
    )


@spec("DLV-23")
@pytest.mark.parametrize("command", [ack("a#1"), nack("a#1"), modack(1, "a#1"), modack(600, "a#1")])
def test_an_id_of_an_earlier_lease_does_not_touch_the_newer_one(command: Command) -> None:
    Story().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (10, pull(), ["a#2"]),
        (10, command),
        (19.999999, pull(), []),
        (20, pull(), ["a#3"]),
    )


@spec("DLV-23")
@pytest.mark.parametrize("seconds", [0, 1, 600])
def test_modack_does_not_revive_a_lease_that_ended(seconds: int) -> None:
    Story().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (10, modack(seconds, "a#1")),
        (10, pull(), ["a#2"]),
    )


@spec("DLV-24")
def test_acking_twice_is_accepted() -> None:
    Story().play(
        (0, publish("a", "b")),
        (0, pull(), ["a#1", "b#1"]),
        (0, ack("a#1", "a#1")),
        (0, ack("a#1")),
        (0, modack(0, "a#1")),
        (0, modack(60, "a#1")),
        (10, pull(), ["b#2"]),
    )


@spec("DLV-03")
def test_an_id_that_comes_twice_in_a_nack_ends_its_lease_once() -> None:
    story = Story().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, nack("a#1", "a#1")),
        (0, pull(), ["a#2"]),
        (0, pull(), []),
        (0, ack("a#2")),
    )
    assert story.engine.next_deadline("p") == RETENTION_US


@spec("DLV-29", "DLV-09", "NAM-04")
def test_consumers_share_a_subscription_and_any_of_them_may_settle() -> None:
    Story().play(
        (0, publish("a", "b", "c")),
        (0, pull(2), ["a#1", "b#1"]),
        (0, pull(2), ["c#1"]),
        (0, ack("c#1", "a#1")),
        (10, pull(), ["b#2"]),
    )


@spec("DLV-07", "NAM-03", "NAM-04", "TOP-15")
def test_subscriptions_of_a_topic_do_not_affect_each_other() -> None:
    Story().play(
        (0, subscribe("two")),
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, nack("a#1")),
        (0, pull(), ["a#2"]),
        (0, ack("a#2")),
        (100, pull(subscription="two"), ["a#1"]),
        (100, pull(), []),
        (110, pull(subscription="two"), ["a#2"]),
    )


@spec("PUL-06")
def test_leases_that_reached_nobody_are_as_if_not_made() -> None:
    story = Story().play(
        (0, publish("a", "b", "c")),
        (0, pull(2), ["a#1", "b#1"]),
        (0, release("a#1", "b#1")),
        (0, pull(), ["a#1", "b#1", "c#1"]),
        (0, ack("a#1", "b#1", "c#1")),
    )
    assert story.engine.next_deadline("p") == RETENTION_US


@spec("PUL-06", "DLV-08")
def test_what_is_released_goes_out_before_everything_else() -> None:
    Story().play(
        (0, publish("a", "b", "c")),
        (0, pull(1), ["a#1"]),
        (0, nack("a#1")),
        (0, pull(1), ["b#1"]),
        (0, release("b#1")),
        (0, pull(), ["b#1", "c#1", "a#2"]),
    )


@spec("PUL-06")
def test_a_lease_released_after_its_end_is_left_alone() -> None:
    Story().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (10, release("a#1")),
        (10, pull(), ["a#2"]),
        (10, release("a#1")),
        (10, pull(), []),
        (20, pull(), ["a#3"]),
    )


@spec("PUL-06")
def test_the_id_of_a_released_lease_is_stale() -> None:
    story = Story().play((0, publish("a")), (0, pull(), ["a#1"]))
    released = story.ack_id("a#1")
    story.play(
        (0, release("a#1")),
        (0, ack(released)),
        (0, pull(), ["a#1"]),
        (0, ack(released)),
        (0, nack(released)),
        (0, pull(), []),
        (10, pull(), ["a#2"]),
    )


@spec("PUL-06")
def test_release_on_a_subscription_that_is_gone_does_nothing() -> None:
    story = Story().play((0, publish("a")), (0, pull(), ["a#1"]))
    story.engine.subscriptions.delete(SUBSCRIPTION, now=0)
    story.play((0, release("a#1")))


@spec("PUL-06", "SUB-20")
def test_release_leaves_the_subscription_alone_that_took_the_name() -> None:
    story = Story().play((0, publish("a")), (0, pull(), ["a#1"]))
    for command in (unsubscribe(), subscribe(), publish("b"), release("a#1")):
        command(story)  # without a tick in between
    story.play((0, pull(), ["b#1"]), (10, pull(), ["b#2"]))


@spec("DLV-02")
def test_a_deadline_is_exact_to_the_microsecond() -> None:
    story = Story().play((0.000_001, publish("a")), (0.000_003, pull(), ["a#1"]))
    assert story.engine.next_deadline("p") == 10 * SECOND_US + 3


@spec("ACK-01", "PUB-07")
def test_every_delivery_has_an_ack_id_of_its_own_and_the_same_message_id() -> None:
    story = Story().play((0, publish("a")))
    leases = []
    for attempt in range(1, 4):
        story.play((10 * attempt, pull(), [f"a#{attempt}"]))
        leases.append(story.leases[f"sub:a#{attempt}"])
    assert len({lease.ack_id for lease in leases}) == 3
    assert len({message_of(lease).message_id for lease in leases}) == 1
