"""Retry policies: how long a failed message waits before it comes again."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.engine.delivery.delivery_rules import Backoff
from tests.engine.story import (
    RETENTION_US,
    SECOND_US,
    SUBSCRIPTION,
    Story,
    ack,
    invalid,
    modack,
    nack,
    open_stream,
    publish,
    pull,
    receive,
    refusal_of,
    release,
    subscribe,
    update,
)
from tests.property.invariants import backlog_of, check_engine
from tests.spec import spec


def policy(minimum_s: float, maximum_s: float) -> dict[str, Any]:
    def duration(seconds: float) -> dict[str, int]:
        whole = int(seconds)
        return {"seconds": whole, "nanos": round((seconds - whole) * 1e9)}

    return {"minimum_backoff": duration(minimum_s), "maximum_backoff": duration(maximum_s)}


TWO_TO_EIGHT = policy(2, 8)
GAPS_S = [2, 4, 8, 8, 8]
MICROSECOND = 0.000_001


def counts(story: Story) -> tuple[int, int, int]:
    """How many are available, leased and delayed."""
    backlog = backlog_of(story.engine, SUBSCRIPTION)
    return backlog.available, backlog.leased, backlog.delayed


# --- how long ---


@spec("RTY-01")
@pytest.mark.parametrize("key", ["", "k"])
def test_without_a_policy_there_is_no_wait(key: str) -> None:
    Story(enable_message_ordering=True).play(
        (0, publish("a", key=key)),
        (0, pull(), ["a#1"]),
        (0, nack("a#1")),
        (0, pull(), ["a#2"]),
        (10, pull(), ["a#3"]),
        (10, nack("a#3")),
        (10, pull(), ["a#4"]),
    )


@spec("RTY-02", "DLV-03", "ORD-08")
@pytest.mark.parametrize("key", ["", "k"])
@pytest.mark.parametrize("is_ordered", [True, False])
def test_the_gaps_after_nacks_double_up_to_the_maximum(is_ordered: bool, key: str) -> None:
    story = Story(enable_message_ordering=is_ordered, retry_policy=TWO_TO_EIGHT)
    story.play((0, publish("a", key=key)), (0, pull(), ["a#1"]))
    time_s = 0.0
    for failures, gap_s in enumerate(GAPS_S, 1):
        time_s += 1
        story.play(
            (time_s, nack(f"a#{failures}")),
            (time_s, counts, (0, 0, 1)),
            (time_s + gap_s - MICROSECOND, pull(), []),
            (time_s + gap_s, counts, (1, 0, 0)),
            (time_s + gap_s, pull(), [f"a#{failures + 1}"]),
        )
        time_s += gap_s
    check_engine(story.engine)


@spec("RTY-02", "ORD-08")
@pytest.mark.parametrize("key", ["", "k"])
@pytest.mark.parametrize("is_ordered", [True, False])
def test_the_gaps_after_expiries_double_up_to_the_maximum(is_ordered: bool, key: str) -> None:
    story = Story(enable_message_ordering=is_ordered, retry_policy=TWO_TO_EIGHT)
    story.play((0, publish("a", key=key)), (0, pull(), ["a#1"]))
    time_s = 0
    for failures, gap_s in enumerate(GAPS_S, 1):
        time_s += 10
        story.play(
            (time_s, counts, (0, 0, 1)),
            (time_s + gap_s - MICROSECOND, pull(), []),
            (time_s + gap_s, pull(), [f"a#{failures + 1}"]),
        )
        time_s += gap_s
    check_engine(story.engine)


@spec("RTY-02")
def test_nacks_and_expiries_count_together() -> None:
    Story(retry_policy=TWO_TO_EIGHT).play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, nack("a#1")),
        (2, pull(), ["a#2"]),
        (12, pull(), []),
        (16, pull(), ["a#3"]),
        (16, nack("a#3")),
        (23.999999, pull(), []),
        (24, pull(), ["a#4"]),
    )


@spec("SUB-11", "RTY-02")
@pytest.mark.parametrize(
    ("given", "gaps_s"),
    [
        ({}, [10, 20, 40, 80, 160, 320, 600, 600]),
        ({"minimum_backoff": {"seconds": 200}}, [200, 400, 600, 600]),
        ({"maximum_backoff": {"seconds": 15}}, [10, 15, 15]),
        (policy(0, 600), [0, 0, 0]),
        (policy(0, 0), [0, 0]),
        (policy(0.5, 1.25), [0.5, 1, 1.25, 1.25]),
        (policy(600, 600), [600, 600]),
    ],
)
def test_bounds_left_out_are_10_and_600_seconds(given: dict[str, Any], gaps_s: list[float]) -> None:
    story = Story(retry_policy=given).play((0, publish("a")), (0, pull(), ["a#1"]))
    time_s = 0.0
    for failures, gap_s in enumerate(gaps_s, 1):
        story.play((time_s, nack(f"a#{failures}")))
        if gap_s:
            story.play((time_s + gap_s - MICROSECOND, pull(), []))
        time_s += gap_s
        story.play((time_s, pull(), [f"a#{failures + 1}"]))


@spec("RTY-02")
def test_a_thousand_failures_make_no_larger_number() -> None:
    backoff = Backoff(1, 600 * SECOND_US)
    assert [backoff.delay_us(failures) for failures in (1, 2, 3, 30, 1_000)] == [
        1,
        2,
        4,
        1 << 29,
        600 * SECOND_US,
    ]


# --- what waits, and what does not ---


@spec("RTY-03", "DLV-07")
def test_only_the_failed_message_waits_and_only_on_its_subscription() -> None:
    Story(retry_policy=TWO_TO_EIGHT).play(
        (0, subscribe("two", deadline_s=600)),
        (0, publish("a", "b")),
        (0, pull(1), ["a#1"]),
        (0, pull(subscription="two"), ["a#1", "b#1"]),
        (0, nack("a#1")),
        (0, publish("c")),
        (0, pull(), ["b#1", "c#1"]),
        (0, nack("two:a#1", subscription="two")),
        (0, pull(subscription="two"), ["c#1", "a#2"]),
        (2, pull(), ["a#2"]),
    )


@spec("RTY-02")
def test_every_message_has_its_own_backoff() -> None:
    Story(retry_policy=TWO_TO_EIGHT).play(
        (0, publish("a", "b")),
        (0, pull(1), ["a#1"]),
        (0, nack("a#1")),
        (2, pull(1), ["b#1"]),
        (2, pull(1), ["a#2"]),
        (2, nack("a#2", "b#1")),
        (4, pull(), ["b#2"]),
        (5.999999, pull(), []),
        (6, pull(), ["a#3"]),
    )


@spec("RTY-03", "STR-05", "STR-07")
def test_streams_wait_like_pulls_and_have_room_meanwhile() -> None:
    Story(retry_policy=TWO_TO_EIGHT).play(
        (0, publish("a", "b")),
        (0, open_stream("s", max_outstanding_messages=1)),
        (0, receive("s"), ["a#1"]),
        (0, nack("a#1")),
        (0, receive("s"), ["b#1"]),
        (0, ack("b#1")),
        (1.999999, receive("s"), []),
        (2, receive("s"), ["a#2"]),
    )


@spec("DLV-23", "RTY-02")
def test_a_late_ack_settles_what_waits() -> None:
    story = Story(retry_policy=TWO_TO_EIGHT).play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (10, ack("a#1")),
        (10, counts, (0, 0, 0)),
        (99, pull(), []),
    )
    assert story.engine.next_deadline("p") == RETENTION_US
    check_engine(story.engine)


@spec("DLV-23", "RTY-02")
def test_a_late_modack_or_nack_changes_nothing_of_the_wait() -> None:
    Story(retry_policy=TWO_TO_EIGHT).play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, nack("a#1")),
        (1, modack(60, "a#1")),
        (1, nack("a#1")),
        (1.999999, pull(), []),
        (2, pull(), ["a#2"]),
    )


@spec("PUL-06", "RTY-02")
def test_a_lease_that_nobody_got_is_no_failure() -> None:
    Story(retry_policy=TWO_TO_EIGHT).play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, release("a#1")),
        (0, pull(), ["a#1"]),
    )


@spec("RTY-02", "ORD-08", "DLQ-01")
def test_what_comes_again_with_another_is_no_failure_of_its_own() -> None:
    Story(enable_message_ordering=True, retry_policy=TWO_TO_EIGHT).play(
        (0, publish("a", "b", key="k")),
        (0, pull(), ["a#1", "b#1"]),
        (0, nack("a#1")),
        (2, pull(), ["a#2", "b#1"]),
        (2, ack("a#2")),
        (2, nack("b#1")),
        (3.999999, pull(), []),
        (4, pull(), ["b#2"]),
    )


@spec("RTY-02")
def test_the_waits_of_one_call_end_in_slices() -> None:
    story = Story(retry_policy=TWO_TO_EIGHT).play((0, publish(*map(str, range(10)))))
    labels = pull()(story)
    story.play((0, nack(*labels)), (0, counts, (0, 0, 10)))
    engine = story.engine
    assert engine.next_deadline("p") == 2 * SECOND_US
    assert not engine.tick("p", now=2 * SECOND_US - 1).value
    ended = []
    while engine.tick("p", now=2 * SECOND_US, budget=4).value:
        ended.append(counts(story)[0])
    assert ended == [4, 8]
    assert counts(story) == (10, 0, 0)


# --- policies that change ---


@spec("RTY-02", "UPD-06", "UPD-02")
@pytest.mark.parametrize("key", ["", "k"])
def test_a_changed_policy_counts_from_the_next_failure_on(key: str) -> None:
    Story(enable_message_ordering=True, retry_policy=TWO_TO_EIGHT).play(
        (0, publish("a", key=key)),
        (0, pull(), ["a#1"]),
        (0, nack("a#1")),
        (1, update(retry_policy=policy(100, 300))),
        (2, pull(), ["a#2"]),
        (2, nack("a#2")),
        (201.999999, pull(), []),
        (202, pull(), ["a#3"]),
        (202, update(retry_policy=policy(1, 3))),
        (202, nack("a#3")),
        (204.999999, pull(), []),
        (205, pull(), ["a#4"]),
    )


@spec("RTY-01", "RTY-02", "UPD-06")
@pytest.mark.parametrize("key", ["", "k"])
def test_a_policy_added_or_removed_counts_from_the_next_failure_on(key: str) -> None:
    Story(enable_message_ordering=True).play(
        (0, publish("a", key=key)),
        (0, pull(), ["a#1"]),
        (0, nack("a#1")),
        (0, update(retry_policy=TWO_TO_EIGHT)),
        (0, pull(), ["a#2"]),
        (0, nack("a#2")),
        (3.999999, pull(), []),
        (4, pull(), ["a#3"]),
        (4, nack("a#3")),
        (5, update(retry_policy=None)),
        (11.999999, pull(), []),
        (12, pull(), ["a#4"]),
        (12, nack("a#4")),
        (12, pull(), ["a#5"]),
    )


# --- what a policy may be ---


def shown(story: Story) -> tuple[float, float]:
    got = story.engine.subscriptions.get(SUBSCRIPTION, now=0).value.retry_policy
    both = got.minimum_backoff, got.maximum_backoff
    minimum, maximum = (each.seconds + each.nanos / 1e9 for each in both)
    return minimum, maximum


@spec("SUB-11", "UPD-06")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (10, 600)),
        ({"minimum_backoff": {"seconds": 20}}, (20, 600)),
        ({"maximum_backoff": {"seconds": 20}}, (10, 20)),
        (policy(0, 0), (0, 0)),
        (policy(600, 600), (600, 600)),
        (policy(0.5, 0.5), (0.5, 0.5)),
    ],
)
def test_a_policy_is_shown_complete(given: dict[str, Any], expected: tuple[float, float]) -> None:
    assert shown(Story(retry_policy=given)) == expected
    assert shown(Story().play((0, update(retry_policy=given)))) == expected


@spec("SUB-11")
def test_a_policy_is_shown_only_where_there_is_one() -> None:
    story = Story()
    resource = story.engine.subscriptions.get(SUBSCRIPTION, now=0).value
    assert not resource.HasField("retry_policy")
    story.play((0, update(retry_policy={})), (0, update(retry_policy=None)))
    resource = story.engine.subscriptions.get(SUBSCRIPTION, now=0).value
    assert not resource.HasField("retry_policy")


@spec("SUB-11", "UPD-09")
@pytest.mark.parametrize(
    "given",
    [
        policy(0, 600.000_000_001),
        {"minimum_backoff": {"seconds": 601}, "maximum_backoff": {"seconds": 601}},
        {"minimum_backoff": {"nanos": -1}},
        {"maximum_backoff": {"seconds": -1}},
        {"maximum_backoff": {"seconds": 9}},  # less than the minimum that is filled in
        policy(20.000_000_001, 20),
    ],
)
def test_a_policy_out_of_bounds_is_refused(given: dict[str, Any]) -> None:
    story = Story(retry_policy=TWO_TO_EIGHT)
    for command in (subscribe("two", retry_policy=given), update(retry_policy=given)):
        refusal = refusal_of(lambda command=command: command(story))
        assert refusal is not None
        assert refusal.code == "INVALID_ARGUMENT"
    assert shown(story) == (2, 8)


@spec("SUB-11")
def test_the_refusal_says_which_bound_is_wrong() -> None:
    Story().play(
        (
            0,
            update(retry_policy=policy(1, 601)),
            invalid(
                "The value for maximum_backoff is out of bounds. You passed 10m1s in the request, "
                "but the value must be between 0s and 10m."
            ),
        ),
    )
