"""What becomes of a stream's unanswered messages when its client goes (STR-05, STR-14)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from emulator.engine.resources import departure
from tests.engine.story import (
    SUBSCRIPTION,
    Command,
    Story,
    ack,
    attempts,
    close_stream,
    create_topic,
    half_close,
    message_of,
    modack,
    nack,
    open_stream,
    publish,
    pull,
    receive,
    subscribe,
    unsubscribe,
)
from tests.spec import spec

A_LITTLE_S = 0.25  # that a client whose stream broke off has for its last answers
STALE = "PERMANENT_FAILURE_INVALID_ACK_ID"


def nacked_and_sent_again(**fields: object) -> Story:
    """At 0 s, the stream "s" has got two messages, nacked them, and got them again."""
    return Story(**fields).play(
        (0, open_stream("s", deadline_s=60)),
        (0, publish("a", "b")),
        (0, receive("s"), ["a#1", "b#1"]),
        (0, nack("a#1", "b#1")),
        (0, receive("s"), ["a#2", "b#2"]),
    )


# --- what a stream nacked before ---


@spec("STR-14", "DLV-03", "DLQ-01")
def test_what_was_nacked_and_sent_again_comes_back_at_a_half_close_uncounted() -> None:
    nacked_and_sent_again().play(
        (1, pull(), []),
        (1, half_close("s")),
        (1, pull(), ["a#2", "b#2"]),
        (1, nack("a#2")),
        (1, pull(), ["a#3"]),
    )


@spec("STR-05", "DLV-03")
def test_it_comes_back_a_little_after_a_stream_breaks_off() -> None:
    nacked_and_sent_again().play(
        (1, close_stream("s")),
        (1 + A_LITTLE_S - 0.000001, pull(), []),
        (1 + A_LITTLE_S, pull(), ["a#2", "b#2"]),
    )


@spec("STR-14")
def test_what_is_still_being_sent_at_a_half_close_may_be_answered() -> None:
    nacked_and_sent_again().play(
        (1, half_close("s", is_sending=True)),
        (1, pull(), []),
        (2, close_stream("s")),
        (2, ack("a#2")),
        (2 + A_LITTLE_S, pull(), ["b#2"]),
    )


@spec("STR-05", "DLV-23", "CLI-13")
def test_the_last_answers_may_come_after_the_end() -> None:
    nacked_and_sent_again().play(
        (1, close_stream("s")),
        (1.1, ack("a#2")),
        (1.1, modack(10, "b#2")),
        (11.099999, pull(), []),
        (11.1, pull(), ["b#3"]),
    )


@spec("STR-05")
@pytest.mark.parametrize("seconds", [10, 60, 600])
@pytest.mark.parametrize("leave", [half_close, close_stream])
def test_leases_that_were_answered_run_on(leave: Callable[[str], Command], seconds: int) -> None:
    # 60 s at once leave the deadline as it was: an answer all the same.
    nacked_and_sent_again().play(
        (0, modack(seconds, "a#2")),
        (0, leave("s")),
        (1, pull(), ["b#2"]),
        (1, ack("b#2")),
        (seconds - 0.000001, pull(), []),
        (seconds, pull(), ["a#3"]),
    )


@spec("STR-05")
def test_what_another_stream_nacked_stays_with_this_one() -> None:
    Story().play(
        (0, open_stream("s", deadline_s=60)),
        (0, open_stream("t", deadline_s=60)),
        (0, publish("a")),
        (0, receive("t"), ["a#1"]),
        (0, nack("a#1")),
        (0, receive("s"), ["a#2"]),
        (0, half_close("s")),
        (0, close_stream("s")),
        (1, pull(), []),
        (60, pull(), ["a#3"]),
    )


# --- what was never nacked ---


@spec("STR-05", "STR-14")
@pytest.mark.parametrize("leave", [half_close, close_stream])
def test_the_leases_of_a_client_without_receipts_run_on(leave: Callable[[str], Command]) -> None:
    Story().play(
        (0, open_stream("s", deadline_s=60)),
        (0, publish("a", "b")),
        (0, receive("s"), ["a#1", "b#1"]),
        (2, modack(60, "a#1")),  # an extension, too late for a receipt
        (2, leave("s")),
        (3, pull(), []),
        (60, pull(), ["b#2"]),
    )


@spec("STR-05", "STR-14")
@pytest.mark.parametrize("key", ["", "k"])
@pytest.mark.parametrize("leave", [half_close, close_stream])
def test_what_it_nacked_comes_back_without_the_others(
    leave: Callable[[str], Command], key: str
) -> None:
    Story(enable_message_ordering=True).play(
        (0, open_stream("s", deadline_s=60)),
        (0, publish("a", key=key)),
        (0, publish("b", key="other" if key else "")),
        (0, receive("s"), ["a#1", "b#1"]),
        (0, nack("a#1")),
        (0, receive("s"), ["a#2"]),
        (1, leave("s")),
        (2, pull(), ["a#2"]),
        (2, ack("a#2")),
        (59, pull(), []),
        (60, pull(), ["b#2"]),
    )


@spec("STR-14", "CLI-14")
def test_a_client_with_receipts_has_not_seen_what_it_sent_none_for() -> None:
    Story().play(
        (0, open_stream("s", deadline_s=60)),
        (0, publish("a")),
        (0, receive("s"), ["a#1"]),
        (0.1, modack(60, "a#1")),
        (5, publish("b")),
        (5, receive("s"), ["b#1"]),
        (6, half_close("s")),
        (6, pull(), ["b#1"]),
        (6, ack("b#1")),
        (60, pull(), []),
        (60.1, pull(), ["a#2"]),
    )


@spec("STR-05", "CLI-13")
def test_without_a_half_close_its_receipts_may_be_on_their_way() -> None:
    Story().play(
        (0, open_stream("s", deadline_s=60)),
        (0, publish("a", "b")),
        (0, receive("s"), ["a#1", "b#1"]),
        (0.1, modack(60, "a#1")),
        (1, close_stream("s")),
        (59, pull(), []),
        (60, pull(), ["b#2"]),
    )


# --- keys ---


@spec("STR-14", "ORD-02", "ORD-03")
def test_a_nacked_key_goes_on_in_its_order_elsewhere() -> None:
    Story(enable_message_ordering=True).play(
        (0, open_stream("s", deadline_s=60)),
        (0, publish(*"abc", key="k")),
        (0, receive("s"), ["a#1", "b#1", "c#1"]),
        (0, nack("b#1")),
        (0, ack("a#1")),
        (0, receive("s"), ["b#2", "c#1"]),
        (0, half_close("s")),
        (0, pull(), ["b#2", "c#1"]),
    )


@spec("ORD-05", "STR-14")
def test_a_key_that_waits_for_its_nacker_is_free_when_that_half_closes() -> None:
    Story(enable_message_ordering=True).play(
        (0, open_stream("s", deadline_s=60)),
        (0, publish("a", key="k")),
        (0, receive("s"), ["a#1"]),
        (0, nack("a#1")),
        (0, pull(), []),
        (0, half_close("s")),
        (0, pull(), ["a#2"]),
    )


@spec("ORD-03", "ORD-04", "STR-05")
def test_what_of_a_key_was_answered_goes_before_what_was_not() -> None:
    Story(enable_message_ordering=True).play(
        (0, open_stream("s", deadline_s=60)),
        (0, publish(*"abc", key="k")),
        (0, receive("s"), ["a#1", "b#1", "c#1"]),
        (0, modack(60, "a#1")),
        (1, half_close("s")),
        (1, pull(), []),
        (2, ack("a#1")),
        (2, pull(), ["b#1", "c#1"]),
    )


@spec("ORD-03", "STR-05")
def test_an_answer_for_a_later_one_of_a_key_counts_for_those_before_it() -> None:
    Story(enable_message_ordering=True).play(
        (0, open_stream("s", deadline_s=60)),
        (0, publish(*"abc", key="k")),
        (0, receive("s"), ["a#1", "b#1", "c#1"]),
        (0, modack(60, "b#1")),
        (1, half_close("s")),
        (1, ack("a#1")),
        (1, ack("b#1")),
        (1, pull(), ["c#1"]),
    )


# --- with other rules ---


@spec("EOD-01", "EOD-02", "STR-14")
def test_exactly_once_the_ids_that_came_back_are_stale_and_the_answered_are_not() -> None:
    nacked_and_sent_again(enable_exactly_once_delivery=True).play(
        (0, modack(60, "a#2")),
        (1, half_close("s")),
        (1, pull(), ["b#2"]),
        (1, ack("a#2", "b#2'"), {"b#2'": STALE}),
        (1, ack("b#2")),
    )


@spec("DLQ-01", "DLQ-02", "STR-14")
def test_no_attempt_is_used_up() -> None:
    policy = {"dead_letter_topic": "projects/p/topics/dead", "max_delivery_attempts": 5}
    story = Story(is_empty=True)
    story.play((0, create_topic()), (0, create_topic("dead")))
    story.play((0, subscribe(dead_letter_policy=policy)), (0, publish("a")))
    for number in range(1, 5):
        story.play(
            (number, open_stream("s", deadline_s=60)),
            (number, receive("s"), [f"a#{number}"]),
            (number, nack(f"a#{number}")),
            (number, receive("s"), [f"a#{number + 1}"]),
            (number, half_close("s")),
            (number, close_stream("s")),
        )
    story.play((9, pull(), ["a#5"]), (9, attempts("a#5"), [5]))


@spec("RTY-02", "STR-14")
def test_what_comes_back_has_no_backoff() -> None:
    retry = {"minimum_backoff": {"seconds": 10}, "maximum_backoff": {"seconds": 100}}
    Story(retry_policy=retry).play(
        (0, open_stream("s", deadline_s=60)),
        (0, publish("a")),
        (0, receive("s"), ["a#1"]),
        (0, nack("a#1")),
        (10, receive("s"), ["a#2"]),
        (11, half_close("s")),
        (11, pull(), ["a#2"]),
    )


@spec("SUB-20", "STR-05")
def test_a_subscription_that_is_gone_by_then_changes_nothing() -> None:
    nacked_and_sent_again().play((1, close_stream("s")), (1, unsubscribe()), (2, publish("c")))


# --- the work of it ---


@spec("STR-14")
@pytest.mark.parametrize("key", ["", "k"])
def test_much_comes_back_in_slices_and_in_order(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setattr(departure, "_SLICE", 3)
    texts = [str(number) for number in range(10)]
    first, second = ([f"{text}#{n}" for text in texts] for n in (1, 2))
    story = Story(enable_message_ordering=True).play(
        (0, open_stream("s", deadline_s=60)),
        (0, publish(*texts, key=key)),
        (0, receive("s"), first),
        (0, nack(*first)),
        (0, receive("s"), second),
        (0, half_close("s")),
    )
    rings = 0
    while story.engine.tick("p", now=rings).value or story.engine.next_deadline("p") == rings + 1:
        rings += 1
    assert rings == 3
    story.play((1, pull(), second))


@spec("DLV-03", "STR-07")
def test_a_handler_that_nacks_everything_gets_everything_again_at_once() -> None:
    story = Story().play((0, open_stream("s", deadline_s=60)), (0, publish(*"abcde")))
    engine, holder = story.engine, story.streams["s"]
    for _ in range(1_000):  # at one time: nothing waits
        leases = engine.holders.lease(holder.id, 1_000, now=0).value.leases
        assert [message_of(lease).data.decode() for lease in leases] == list("abcde")
        engine.modify_ack_deadline(SUBSCRIPTION, [d.ack_id for d in leases], 0, now=0)
    assert len(holder.sent) <= 200  # what is over is forgotten
    assert len(engine._world.projects["p"].alarms) == 1  # the subscription's own, no more


@spec("STR-07")
def test_a_stream_remembers_no_more_than_it_has() -> None:
    story = Story().play((0, open_stream("s", deadline_s=60)), (0, publish("kept")))
    holder = story.streams["s"]
    story.play((0, receive("s"), ["kept#1"]))
    for number in range(1_000):
        story.play((0, publish(str(number))), (0, receive("s"), [f"{number}#1"]))
        story.play((0, ack(f"{number}#1")))
    assert len(holder.sent) <= 200
