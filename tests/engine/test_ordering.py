"""Ordering keys: one line each, in the order of publishing, to one consumer at a time."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from emulator.engine.delivery.outcome import Available, Room
from emulator.engine.values.limits import RESPONSE_BYTES
from tests.engine.story import (
    RETENTION_US,
    SUBSCRIPTION,
    Command,
    Story,
    ack,
    close_stream,
    detach,
    message_of,
    modack,
    nack,
    open_stream,
    publish,
    pull,
    receive,
    release,
    subscribe,
    unsubscribe,
    update,
)
from tests.property.invariants import backlog_of, check_engine, heap_of
from tests.spec import spec

Ordered = partial(Story, enable_message_ordering=True)


def lanes(story: Story) -> int:
    lanes = backlog_of(story.engine, SUBSCRIPTION).lanes
    assert lanes is not None
    return len(lanes.by_key)


def counts(story: Story) -> tuple[int, int, int]:
    """How many are available, leased and delayed."""
    backlog = backlog_of(story.engine, SUBSCRIPTION)
    assert backlog.undelivered == backlog.available + backlog.leased + backlog.delayed
    return backlog.available, backlog.leased, backlog.delayed


# --- order, and who may have what ---


@spec("ORD-01", "ORD-04", "PUB-41")
def test_messages_of_a_key_come_in_order_and_several_in_one_response() -> None:
    Ordered().play(
        (0, publish("a", "b", key="k")),
        (0, publish("c", key="k")),
        (0, pull(), ["a#1", "b#1", "c#1"]),
        (0, pull(), []),
    )


@spec("ORD-04")
def test_a_pull_takes_none_of_a_key_while_any_is_out() -> None:
    Ordered().play(
        (0, publish("a", "b", "c", key="k")),
        (0, pull(2), ["a#1", "b#1"]),
        (0, pull(), []),
        (0, publish("d", key="k")),
        (0, ack("a#1")),
        (0, pull(), []),
        (0, ack("b#1")),
        (0, pull(), ["c#1", "d#1"]),
    )


@spec("ORD-04", "DLV-02")
def test_a_key_is_out_until_its_leases_end() -> None:
    Ordered().play(
        (0, publish("a", "b", key="k")),
        (0, pull(1), ["a#1"]),
        (9.999999, pull(), []),
        (10, pull(), ["a#2", "b#1"]),
    )


@spec("ORD-07", "ORD-04")
def test_keys_do_not_wait_for_each_other() -> None:
    Ordered().play(
        (0, publish("a1", "a2", key="a")),
        (0, publish("b1", "b2", key="b")),
        (0, pull(1), ["a1#1"]),
        (0, pull(1), ["b1#1"]),
        (0, pull(), []),
        (0, ack("b1#1")),
        (0, pull(), ["b2#1"]),
        (0, nack("b2#1")),
        (0, pull(), ["b2#2"]),
        (0, ack("a1#1")),
        (0, pull(), ["a2#1"]),
    )


@spec("ORD-01", "DLV-08")
def test_messages_without_a_key_wait_for_nothing() -> None:
    Ordered().play(
        (0, publish("u1")),
        (0, publish("a1", "a2", key="a")),
        (0, publish("u2", "u3")),
        (0, pull(2), ["u1#1", "a1#1"]),
        (0, pull(1), ["u2#1"]),
        (0, nack("u1#1")),
        (0, pull(), ["u3#1", "u1#2"]),
        (0, ack("a1#1")),
        (0, pull(), ["a2#1"]),
    )


@spec("DLV-05", "DLV-08", "ORD-07")
@pytest.mark.parametrize(
    "steps",
    [
        [publish("bad", key="k"), publish("good")],
        [publish("bad"), publish("good", key="k")],
        [publish("bad", key="k"), publish("good", key="other")],
        [publish("bad"), publish("good")],
    ],
    ids=["key, none", "none, key", "keys", "none"],
)
def test_what_always_fails_starves_nobody(steps: list[Command]) -> None:
    story = Ordered().play(*((0, step) for step in steps))
    got = []
    for _ in range(10):
        [label] = pull(1)(story)
        story.play((0, nack(label)))
        got.append(label[:3])
    assert set(got[4:]) == {"bad", "goo"}


@spec("DLV-05", "DLV-08", "ORD-07")
def test_both_that_fail_and_what_is_published_have_their_turns() -> None:
    story = Ordered().play((0, publish("a", "b", key="k")), (0, publish("u", "v")))
    got = set()
    for _ in range(6):
        [label] = pull(1)(story)
        story.play((0, nack(label)), (0, publish("w")))
        got.add(label[0])
    assert got == set("auvw")


@spec("ORD-01", "SUB-08")
def test_without_the_flag_there_is_no_order() -> None:
    Story().play(
        (0, publish("a", "b", "c", key="k")),
        (0, pull(1), ["a#1"]),
        (0, pull(1), ["b#1"]),
        (0, nack("a#1")),
        (0, pull(), ["c#1", "a#2"]),
        (0, ack("c#1", "b#1", "a#2")),
        (99, pull(), []),
    )


@spec("ORD-01")
@pytest.mark.parametrize("is_ordered", [True, False])
def test_keys_are_delivered(is_ordered: bool) -> None:
    story = Story(enable_message_ordering=is_ordered).play((0, publish("a", key="k")))
    [delivery] = story.engine.lease(SUBSCRIPTION, 1, now=0).value
    assert message_of(delivery).ordering_key == "k"


@spec("ORD-07", "DLV-07")
def test_subscriptions_keep_their_order_by_themselves() -> None:
    Ordered().play(
        (0, subscribe("two", enable_message_ordering=True)),
        (0, publish("a", "b", key="k")),
        (0, pull(1), ["a#1"]),
        (0, pull(subscription="two"), ["a#1", "b#1"]),
        (0, nack("two:a#1", subscription="two")),
        (0, ack("a#1")),
        (0, pull(), ["b#1"]),
        (0, pull(subscription="two"), ["a#2", "b#1"]),
    )


@spec("SUB-15", "ORD-01")
def test_a_new_ordered_subscription_starts_with_what_comes() -> None:
    Ordered().play(
        (0, publish("a", key="k")),
        (0, subscribe("late", enable_message_ordering=True)),
        (0, publish("b", key="k")),
        (0, pull(subscription="late"), ["b#1"]),
    )


# --- redelivery ---


@spec("ORD-02", "ORD-03")
def test_a_nack_takes_the_key_back_and_makes_later_ids_stale() -> None:
    story = Ordered().play(
        (0, publish("a", "b", "c", "d", key="k")),
        (0, pull(3), ["a#1", "b#1", "c#1"]),
        (0, nack("b#1")),
        (0, counts, (3, 1, 0)),
        (0, ack("c#1")),
        (0, counts, (3, 1, 0)),
        (0, nack("c#1")),
        (0, modack(600, "c#1")),
        (0, pull(), []),  # a is still out
        (0, ack("a#1")),
        (0, pull(), ["b#2", "c#1", "d#1"]),
        (0, ack("b#2", "c#1'", "d#1")),
        (0, counts, (0, 1, 0)),
        (0, ack("c#1")),
        (0, counts, (0, 0, 0)),
        (0, lanes, 0),
    )
    check_engine(story.engine)


@spec("ORD-02", "ORD-03")
def test_an_expiry_takes_the_key_back_and_makes_later_ids_stale() -> None:
    story = Ordered().play(
        (0, publish("a", "b", "c", key="k")),
        (0, pull(), ["a#1", "b#1", "c#1"]),
        (5, modack(60, "a#1", "c#1")),
        (10, ack("c#1")),
        (10, modack(600, "c#1")),
        (10, counts, (2, 1, 0)),
        (11, ack("a#1")),
        (11, pull(), ["b#2", "c#1"]),
        (20.999999, pull(), []),
        (21, pull(), ["b#3", "c#2"]),
    )
    check_engine(story.engine)


@spec("ORD-02")
def test_what_was_acked_after_the_failed_one_comes_again() -> None:
    Ordered().play(
        (0, publish("a", "b", "c", "d", key="k")),
        (0, pull(), ["a#1", "b#1", "c#1", "d#1"]),
        (0, ack("a#1", "c#1", "d#1")),
        (0, counts, (0, 1, 0)),
        (0, nack("b#1")),
        (0, counts, (3, 0, 0)),
        (0, pull(), ["b#2", "c#1", "d#1"]),
        (0, ack("c#1", "d#1")),
        (10, pull(), ["b#3", "c#1", "d#1"]),
        (10, ack("b#3", "c#1", "d#1")),
        (99, pull(), []),
        (99, lanes, 0),
    )


@spec("ORD-02", "DLV-04")
def test_what_was_acked_before_the_failed_one_does_not_come_again() -> None:
    Ordered().play(
        (0, publish("a", "b", "c", key="k")),
        (0, pull(), ["a#1", "b#1", "c#1"]),
        (0, ack("a#1")),
        (0, nack("c#1")),
        (0, nack("b#1")),
        (0, pull(), ["b#2", "c#2"]),
    )


@spec("ORD-02")
@pytest.mark.parametrize("order", [("a#1", "b#1", "c#1"), ("c#1", "b#1", "a#1"), ("b#1", "a#1")])
def test_failures_in_any_order_take_the_key_back_to_the_first(order: tuple[str, ...]) -> None:
    for steps in ([nack(*order)], [nack(label) for label in order]):
        story = Ordered().play(
            (0, publish("a", "b", "c", key="k")),
            (0, pull(), ["a#1", "b#1", "c#1"]),
            *((0, step) for step in steps),
        )
        labels = pull()(story)
        assert [label[0] for label in labels] == ["a", "b", "c"]


@spec("ORD-03", "DLV-01")
def test_leases_that_end_between_two_looks_end_together() -> None:
    story = Ordered().play(
        (0, publish("a", "b", "c", key="k")),
        (0, open_stream("s")),
        (0, receive("s", 1), ["a#1"]),
        (1, receive("s", 1), ["b#1"]),
        (2, receive("s", 1), ["c#1"]),
        (11.5, counts, (3, 0, 0)),
        (11.5, pull(), ["a#2", "b#2", "c#1"]),
    )
    check_engine(story.engine)


@spec("ORD-02", "DLV-06")
def test_acks_out_of_order_are_taken() -> None:
    Ordered().play(
        (0, publish("a", "b", "c", key="k")),
        (0, pull(), ["a#1", "b#1", "c#1"]),
        (0, ack("c#1")),
        (0, ack("a#1")),
        (0, lanes, 1),
        (0, ack("b#1")),
        (0, lanes, 0),
        (99, pull(), []),
    )


@spec("DLV-23", "ORD-03")
def test_a_late_ack_of_the_failed_message_is_taken() -> None:
    Ordered().play(
        (0, publish("a", "b", key="k")),
        (0, pull(), ["a#1", "b#1"]),
        (10, ack("a#1")),
        (10, counts, (1, 0, 0)),
        (10, pull(), ["b#2"]),
    )


@spec("DLV-23", "ORD-03")
def test_a_late_ack_counts_only_for_the_next_of_its_key() -> None:
    Ordered().play(
        (0, publish("a", "b", key="k")),
        (0, pull(), ["a#1", "b#1"]),
        (0, nack("b#1")),
        (0, nack("a#1")),
        (0, ack("b#1")),
        (0, counts, (2, 0, 0)),
        (0, ack("a#1", "b#1")),
        (0, counts, (0, 0, 0)),
        (0, lanes, 0),
    )


@spec("DLV-23", "ORD-03")
@pytest.mark.parametrize("step", [nack("a#1", "b#1"), nack("b#1", "a#1")])
def test_of_those_that_fail_together_only_the_first_can_be_acked_late(step: Command) -> None:
    Ordered().play(
        (0, publish("a", "b", key="k")),
        (0, pull(), ["a#1", "b#1"]),
        (0, step),
        (0, ack("b#1", "a#1")),
        (0, ack("b#1")),
        (0, counts, (1, 0, 0)),
        (0, pull(), ["b#2"]),
    )


@spec("DLV-23", "ORD-02")
def test_what_was_acked_late_comes_again_with_one_before_it() -> None:
    Ordered().play(
        (0, publish("a", "b", "c", key="k")),
        (0, pull(2), ["a#1", "b#1"]),
        (0, nack("b#1")),
        (0, ack("b#1")),
        (0, nack("a#1")),
        (0, pull(), ["a#2", "b#2", "c#1"]),
    )


@spec("DLV-24", "ORD-03")
def test_stale_ids_of_a_key_change_nothing() -> None:
    Ordered().play(
        (0, publish("a", "b", key="k")),
        (0, pull(1), ["a#1"]),
        (0, nack("a#1")),
        (0, pull(1), ["a#2"]),
        (0, ack("a#1")),
        (0, nack("a#1")),
        (0, modack(600, "a#1")),
        (0, counts, (1, 1, 0)),
        (10, pull(), ["a#3", "b#1"]),
    )


@spec("DLV-21")
def test_a_key_is_kept_back_by_extended_leases_and_let_go_by_shortened_ones() -> None:
    Ordered().play(
        (0, publish("a", "b", key="k")),
        (0, pull(1), ["a#1"]),
        (0, modack(600, "a#1")),
        (599, pull(), []),
        (599, modack(1, "a#1")),
        (600, pull(), ["a#2", "b#1"]),
    )


@spec("PUL-06")
def test_leases_that_nobody_got_are_taken_back_in_order() -> None:
    Ordered().play(
        (0, publish("a", "b", key="k")),
        (0, publish("u")),
        (0, pull(), ["a#1", "b#1", "u#1"]),
        (0, publish("d", key="other")),
        (0, release("a#1", "b#1", "u#1")),
        (0, ack("a#1", "b#1", "u#1")),
        (0, publish("c", key="k")),
        (0, publish("v")),
        (0, pull(4), ["a#1", "b#1", "c#1", "u#1"]),
        (0, release("b#1'")),
        (0, counts, (2, 4, 0)),
        (0, release("b#1")),
        (0, counts, (4, 2, 0)),
        (0, pull(), ["d#1", "v#1"]),  # a is still out
    )


# --- streams ---


@spec("ORD-05", "STR-15")
def test_what_is_out_of_a_key_is_out_to_one_stream() -> None:
    Ordered().play(
        (0, publish("a", "b", key="k")),
        (0, publish("x", "y", key="other")),
        (0, open_stream("s")),
        (0, open_stream("t")),
        (0, receive("s", 1), ["a#1"]),
        (0, receive("t", 1), ["x#1"]),
        (0, receive("t"), ["y#1"]),
        (0, receive("t"), []),
        (0, pull(), []),
        (0, receive("s"), ["b#1"]),
        (0, publish("c", key="k")),
        (0, receive("t"), []),
        (0, pull(), []),
        (0, receive("s"), ["c#1"]),
    )


@spec("ORD-05")
def test_a_key_may_move_when_nothing_of_it_is_out() -> None:
    Ordered().play(
        (0, publish("a", "b", "c", key="k")),
        (0, open_stream("s")),
        (0, open_stream("t")),
        (0, receive("s", 2), ["a#1", "b#1"]),
        (0, ack("a#1")),
        (0, receive("t"), []),
        (0, ack("b#1")),
        (0, receive("t"), ["c#1"]),
        (0, publish("d", key="k")),
        (0, receive("s"), []),
        (0, ack("c#1")),
        (0, receive("s"), ["d#1"]),
    )


@spec("ORD-05", "STR-15", "ORD-02")
def test_a_key_that_was_nacked_comes_again_to_the_same_stream() -> None:
    Ordered().play(
        (0, publish("a", "b", "c", key="k")),
        (0, publish("x", key="other")),
        (0, open_stream("s")),
        (0, open_stream("t")),
        (0, receive("s", 3), ["a#1", "b#1", "c#1"]),
        (0, nack("a#1")),
        (0, pull(1), ["x#1"]),  # other keys flow
        (0, receive("t"), []),
        (0, pull(), []),
        (0, receive("s"), ["a#2", "b#1", "c#1"]),
    )


@spec("ORD-05", "STR-15")
def test_a_key_that_was_nacked_does_not_wait_for_a_stream_that_cannot_have_it() -> None:
    for why in (close_stream("s"), None):
        steps = [] if why is None else [(0, why)]
        Ordered().play(
            (0, publish("a", "b", key="k")),
            (0, open_stream("s")),
            (0, open_stream("t")),
            (0, receive("s"), ["a#1", "b#1"]),
            (0, nack("a#1")),
            *steps,
            (0 if why else 10, receive("t"), ["a#2", "b#1"]),
        )
    Ordered().play(
        (0, publish("a", key="k")),
        (0, publish("x", key="other")),
        (0, open_stream("s", max_outstanding_messages=1)),
        (0, open_stream("t")),
        (0, receive("s"), ["a#1"]),
        (0, nack("a#1")),
        (0, receive("s"), ["x#1"]),  # its window is full
        (0, receive("t"), ["a#2"]),
    )


@spec("ORD-05")
def test_a_key_whose_lease_ended_goes_to_whoever_asks() -> None:
    Ordered().play(
        (0, publish("a", "b", key="k")),
        (0, open_stream("s")),
        (0, open_stream("t")),
        (0, receive("s"), ["a#1", "b#1"]),
        (10, receive("t"), ["a#2", "b#2"]),
    )


@spec("ORD-05", "ORD-02")
def test_after_a_failure_a_key_stays_with_the_stream_that_still_has_some() -> None:
    Ordered().play(
        (0, publish("a", "b", "c", key="k")),
        (0, open_stream("s")),
        (0, open_stream("t")),
        (0, receive("s"), ["a#1", "b#1", "c#1"]),
        (0, nack("b#1")),
        (0, receive("t"), []),
        (0, pull(), []),
        (0, receive("s"), ["b#2", "c#1"]),
        (0, nack("a#1")),
        (0, receive("t"), []),
        (0, receive("s"), ["a#2", "b#2", "c#1"]),
    )


@spec("ORD-05", "STR-07")
def test_a_stream_with_a_full_window_keeps_its_keys_and_leaves_others() -> None:
    Ordered().play(
        (0, publish("a", "b", "c", key="k")),
        (0, publish("x", key="other")),
        (0, open_stream("s", max_outstanding_messages=2)),
        (0, open_stream("t")),
        (0, receive("s"), ["a#1", "b#1"]),
        (0, receive("s"), []),
        (0, receive("t"), ["x#1"]),
        (0, ack("a#1")),
        (0, receive("t"), []),
        (0, receive("s"), ["c#1"]),
    )


@spec("ORD-05", "STR-07")
def test_a_window_in_bytes_is_no_reason_to_skip_a_message_of_a_key() -> None:
    Ordered().play(
        (0, publish("small", "x" * 500, "tiny", key="k")),
        (0, open_stream("s", max_outstanding_bytes=300)),
        (0, receive("s"), ["small#1"]),
        (0, receive("s"), []),
        (0, ack("small#1")),
        (0, receive("s"), [f"{'x' * 500}#1"]),
        (0, receive("s"), []),
    )


@spec("STR-09", "ORD-01")
def test_large_messages_of_a_key_are_spread_over_responses_in_order() -> None:
    story = Ordered()
    for letter in "abcd":
        story.play((0, publish(letter * (RESPONSE_BYTES // 3), key="k")))
    got = []
    while labels := pull()(story):
        got.append([label[0] for label in labels])
        ack(*labels)(story)
    assert got == [["a", "b"], ["c", "d"]]


@spec("ORD-05", "STR-05")
def test_a_lost_streams_key_waits_for_its_leases_to_end() -> None:
    story = Ordered().play(
        (0, publish("a", "b", key="k")),
        (0, open_stream("s")),
        (0, receive("s", 1), ["a#1"]),
    )
    del story.streams["s"]
    story.play(
        (0, open_stream("t")),
        (9.999999, receive("t"), []),
        (10, receive("t"), ["a#2", "b#1"]),
    )


# --- backoff (the gaps are in test_retry) ---

BACKOFF: dict[str, Any] = {"minimum_backoff": {"seconds": 2}, "maximum_backoff": {"seconds": 8}}


@spec("ORD-08", "RTY-03", "RTY-02")
def test_a_backoff_holds_back_the_later_messages_of_its_key_alone() -> None:
    Ordered(retry_policy=BACKOFF).play(
        (0, publish("a", "b", key="k")),
        (0, publish("x", key="other")),
        (0, publish("u")),
        (0, pull(), ["a#1", "b#1", "x#1", "u#1"]),
        (0, ack("x#1", "u#1")),
        (0, nack("a#1")),
        (0, counts, (0, 0, 2)),
        (0, publish("c", key="k")),
        (0, publish("y", key="other")),
        (0, publish("v")),
        (0, counts, (2, 0, 3)),
        (1.999999, pull(), ["y#1", "v#1"]),
        (2, counts, (3, 2, 0)),
        (2, pull(), ["a#2", "b#1", "c#1"]),
    )


@spec("ORD-08", "ORD-05")
def test_a_backoff_holds_back_its_key_from_the_stream_that_has_some_of_it() -> None:
    Ordered(retry_policy=BACKOFF).play(
        (0, publish("a", "b", "c", key="k")),
        (0, open_stream("s", deadline_s=60)),
        (0, receive("s", 2), ["a#1", "b#1"]),
        (0, nack("b#1")),
        (1.999999, receive("s"), []),
        (2, receive("s"), ["b#2", "c#1"]),
    )


@spec("ORD-08")
def test_a_failure_before_the_one_that_waits_begins_a_backoff_of_its_own() -> None:
    story = Ordered(retry_policy=BACKOFF).play(
        (0, publish("a", "b", "c", key="k")),
        (0, pull(2), ["a#1", "b#1"]),
        (0, nack("b#1")),
        (1, nack("a#1")),
        (1, counts, (0, 0, 3)),
        (2.999999, pull(), []),
        (3, pull(), ["a#2", "b#2", "c#1"]),
    )
    assert story.engine._world.projects["p"].backoffs.live == 0


@spec("DLV-23", "ORD-08")
def test_a_late_ack_ends_the_backoff_of_its_key() -> None:
    story = Ordered(retry_policy=BACKOFF).play(
        (0, publish("a", "b", key="k")),
        (0, pull(1), ["a#1"]),
        (0, nack("a#1")),
        (1, ack("a#1")),
        (1, pull(), ["b#1"]),
    )
    assert story.engine._world.projects["p"].backoffs.live == 0


@spec("DLV-23", "ORD-08", "ORD-05")
def test_a_late_ack_lets_the_stream_that_has_some_of_the_key_go_on() -> None:
    story = Ordered(retry_policy=BACKOFF).play(
        (0, publish("a", "b", "c", key="k")),
        (0, open_stream("s")),
        (0, receive("s", 2), ["a#1", "b#1"]),
        (0, nack("b#1")),
    )
    b = story.leases["sub:b#1"].ack_id
    outcome = story.engine.acknowledge(SUBSCRIPTION, [b], now=0)
    assert Available(SUBSCRIPTION) in outcome.effects
    story.play((0, receive("s"), ["c#1"]))


@spec("ORD-08", "UPD-06")
def test_a_backoff_that_runs_is_not_changed_with_the_policy() -> None:
    Ordered(retry_policy=BACKOFF).play(
        (0, publish("a", "b", key="k")),
        (0, pull(1), ["a#1"]),
        (0, nack("a#1")),
        (0, update(retry_policy=None)),
        (1.999999, pull(), []),
        (2, pull(1), ["a#2"]),
        (2, nack("a#2")),
        (2, pull(), ["a#3", "b#1"]),
    )


# --- who is told ---


@spec("ORD-04", "DLV-05")
def test_a_key_that_becomes_free_wakes_its_consumers() -> None:
    for settle in (ack, nack):
        story = Ordered().play((0, publish("a", "b", key="k")), (0, pull(1), ["a#1"]))
        engine, ack_id = story.engine, story.ack_id("a#1")
        if settle is ack:
            effects = engine.acknowledge(SUBSCRIPTION, [ack_id], now=0).effects
        else:
            effects = engine.modify_ack_deadline(SUBSCRIPTION, [ack_id], 0, now=0).effects
        assert effects == (Available(SUBSCRIPTION),)


@spec("ORD-08", "RTY-02")
def test_the_end_of_a_backoff_wakes_consumers() -> None:
    story = Ordered(retry_policy=BACKOFF).play(
        (0, publish("a", key="k")), (0, pull(), ["a#1"]), (0, nack("a#1"))
    )
    assert story.engine.next_deadline("p") == 2_000_000
    outcome = story.engine.tick("p", now=2_000_000)
    assert Available(SUBSCRIPTION) in outcome.effects
    assert story.engine.next_deadline("p") == RETENTION_US


@spec("STR-07", "ORD-02")
def test_a_key_that_is_taken_back_makes_room_for_the_stream_that_had_it() -> None:
    story = Ordered().play(
        (0, publish("a", "b", "c", key="k")),
        (0, open_stream("s", max_outstanding_messages=2)),
        (0, receive("s"), ["a#1", "b#1"]),
        (0, receive("s"), []),
    )
    effects = story.engine.modify_ack_deadline(
        SUBSCRIPTION, [story.ack_id("a#1")], 0, now=0
    ).effects
    holder = story.streams["s"].id
    # Others are offered the key first.
    first = Available(SUBSCRIPTION, last=frozenset([holder]))
    assert effects[0] == first
    assert set(effects) == {first, Room(holder), Available(SUBSCRIPTION)}
    assert story.streams["s"].held_messages == 0


# --- the end of lanes ---


@spec("ORD-01", "DLV-04")
def test_a_key_without_messages_leaves_nothing() -> None:
    story = Ordered()
    for number in range(200):
        label = f"{number}#1"
        story.play(
            (0, publish(str(number), key=f"key {number}")),
            (0, lanes, 1),
            (0, pull(), [label]),
            (0, ack(label)),
            (0, lanes, 0),
        )
    backlog = backlog_of(story.engine, SUBSCRIPTION)
    assert len(backlog.lanes.ready) <= 1
    check_engine(story.engine)


@spec("ORD-01", "DLV-23")
def test_late_acks_leave_no_lanes_behind() -> None:
    story = Ordered()
    for number in range(200):
        story.play((0, publish("a", key=f"key {number}")))
    ids = [delivery.ack_id for delivery in story.engine.lease(SUBSCRIPTION, 1_000, now=0).value]
    story.engine.modify_ack_deadline(SUBSCRIPTION, ids, 0, now=0)
    story.engine.acknowledge(SUBSCRIPTION, ids, now=0)
    story.play((0, counts, (0, 0, 0)), (0, lanes, 0))
    check_engine(story.engine)


def settled(story: Story) -> None:
    """Publish, lease, and fail a bit of everything."""
    story.play(
        (0, publish(*"abcdef", key="k")),
        (0, publish(*"uvw", key="waiting")),
        (0, pull(7), ["a#1", "b#1", "c#1", "d#1", "e#1", "f#1", "u#1"]),
        (0, ack("d#1", "e#1")),
        (0, nack("c#1")),
        (0, publish("g", key="k")),
    )


@spec("SUB-20", "SUB-21")
@pytest.mark.parametrize("budget", [1, 1_000])
@pytest.mark.parametrize("end", [detach(), unsubscribe()], ids=["detach", "delete"])
@pytest.mark.parametrize("policy", [None, BACKOFF], ids=["at once", "backoff"])
def test_lanes_go_with_their_subscription(end: Any, budget: int, policy: Any) -> None:
    story = Ordered(retry_policy=policy)
    settled(story)
    backlog: Any = backlog_of(story.engine, SUBSCRIPTION)
    kept = list(backlog.lanes.by_key.values())
    end(story)
    while story.engine.tick("p", now=0, budget=budget).value:
        pass
    assert (
        len(backlog.leases.by_ack_id),
        len(backlog.queue.redeliveries),
        len(backlog.lanes.by_key),
    ) == (0, 0, 0)
    assert [(len(lane.pending), len(lane.delivered)) for lane in kept] == [(0, 0), (0, 0)]
    assert heap_of(story.engine, "p").live == 0
    assert story.engine._world.projects["p"].backoffs.live == 0
    assert story.engine.next_deadline("p") is None


@spec("SUB-21", "DLV-24")
@pytest.mark.parametrize("settle", [ack("a#1"), nack("a#1"), modack(60, "a#1"), release("a#1")])
@pytest.mark.parametrize("freed", range(6))
@pytest.mark.parametrize("policy", [None, BACKOFF], ids=["at once", "backoff"])
def test_ids_of_a_detached_subscription_change_nothing(
    freed: int, settle: Any, policy: Any
) -> None:
    story = Ordered(retry_policy=policy)
    settled(story)
    detach()(story)
    if freed:
        story.engine.tick("p", now=0, budget=freed)
    settle(story)
    story.catch_up()
    assert story.engine.next_deadline("p") is None
    assert heap_of(story.engine, "p").live == 0


def test_a_lane_says_what_it_is() -> None:
    story = Ordered().play((0, publish("a", "b", key="k")), (0, pull(1), ["a#1"]))
    backlog: Any = backlog_of(story.engine, SUBSCRIPTION)
    assert repr(backlog.lanes.by_key["k"]) == "<Lane 'k', 1 leased, 1 pending>"
