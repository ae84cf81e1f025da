"""Exactly-once delivery: only the newest id of a message is good, and the client hears which
were not."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest.mock import patch

import pytest

from emulator.api.rpc import ErrorInfo
from emulator.engine.delivery import exactly_once as exactly_once_module
from tests.engine.story import (
    SECOND_US,
    SUBSCRIPTION,
    Command,
    Refusal,
    Story,
    ack,
    attempts,
    create_topic,
    detach,
    invalid,
    message_of,
    modack,
    nack,
    open_stream,
    publish,
    pull,
    receive,
    release,
    send,
    subscribe,
    update,
)
from tests.property.invariants import check_engine
from tests.spec import spec

INVALID = "PERMANENT_FAILURE_INVALID_ACK_ID"
UNORDERED = "TRANSIENT_FAILURE_UNORDERED_ACK_ID"
MALFORMED = "You have passed an invalid ack ID to the service (ack_id=junk)."

#: Deadlines of ten seconds, so that the stories are short.
Exact = partial(Story, enable_exactly_once_delivery=True, ack_deadline_seconds=10)
ExactOrdered = partial(Exact, enable_message_ordering=True)


def shown(field: str, subscription: str = SUBSCRIPTION) -> Command:
    """A field of a subscription is the result."""

    def command(story: Story) -> Any:
        return getattr(story.engine.subscriptions.get(subscription, now=story.now).value, field)

    return command


# --- the lease ---


@spec("EOD-01", "DLV-02")
def test_nothing_is_delivered_under_a_live_lease_or_after_an_ack() -> None:
    Exact().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (9.999999, pull(), []),
        (9.999999, ack("a#1")),
        (10, pull(), []),
        (1_000_000, pull(), []),
    )


@spec("SUB-04", "EOD-10")
@pytest.mark.parametrize(("given_s", "used_s"), [(0, 60), (10, 10), (600, 600)])
def test_leases_are_60_seconds_long_unless_said_otherwise(given_s: int, used_s: int) -> None:
    Story(enable_exactly_once_delivery=True, ack_deadline_seconds=given_s).play(
        (0, shown("ack_deadline_seconds"), used_s),
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (used_s - 0.000_001, pull(), []),
        (used_s, pull(), ["a#2"]),
    )


@spec("SUB-04", "UPD-06")
def test_the_flag_alone_changes_no_deadline_later() -> None:
    Story().play(
        (0, update(enable_exactly_once_delivery=True)),
        (0, shown("ack_deadline_seconds"), 10),
        (0, shown("enable_exactly_once_delivery"), True),
    )


@spec("EOD-11")
def test_the_same_content_published_twice_is_two_messages() -> None:
    story = Exact().play((0, publish("a")), (0, publish("a")))
    first, second = story.engine.lease(SUBSCRIPTION, 10, now=0).value
    assert message_of(first).message_id != message_of(second).message_id
    story.play((0, ack(first.ack_id)), (0, ack(second.ack_id)))


# --- ids that fail ---


@spec("EOD-01", "EOD-02", "EOD-03")
@pytest.mark.parametrize("settle", [ack, nack, partial(modack, 60)])
def test_an_expired_id_fails(settle: Any) -> None:
    Exact().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (10, settle("a#1"), {"a#1": INVALID}),
        (10, pull(), ["a#2"]),
        (10, pull(), []),
    )


@spec("EOD-01", "EOD-02", "EOD-03")
@pytest.mark.parametrize("settle", [ack, nack, partial(modack, 60)])
def test_a_superseded_id_fails(settle: Any) -> None:
    Exact().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (10, pull(), ["a#2"]),
        (10, settle("a#1"), {"a#1": INVALID}),
        (19.999999, pull(), []),
        (19.999999, ack("a#2")),
        (99, pull(), []),
    )


@spec("EOD-12", "EOD-01", "EOD-03")
@pytest.mark.parametrize("settle", [ack, nack, partial(modack, 60)])
def test_a_nacked_id_fails_at_once(settle: Any) -> None:
    Exact().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, nack("a#1")),
        (0, settle("a#1"), {"a#1": INVALID}),
        (0, pull(), ["a#2"]),
    )


@spec("EOD-12", "RTY-02")
def test_a_nacked_id_fails_while_the_message_waits_for_its_backoff() -> None:
    Exact(retry_policy={}).play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, nack("a#1")),
        (0, ack("a#1"), {"a#1": INVALID}),
        (9.999999, pull(), []),
        (10, pull(), ["a#2"]),
    )


@spec("EOD-03", "DLV-25", "EOD-12")
@pytest.mark.parametrize("settle", [ack, nack, partial(modack, 60)])
def test_a_malformed_id_is_one_failure_of_its_request(settle: Any) -> None:
    Exact().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, settle("junk", "a#1", "more junk"), {"junk": INVALID, "more junk": INVALID}),
        (0, settle("junk"), {"junk": INVALID}),
    )


@spec("EOD-03", "DLV-28")
def test_an_id_of_another_subscription_fails_and_does_nothing_there() -> None:
    Exact().play(
        (0, subscribe("two", deadline_s=10)),
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, pull(subscription="two"), ["a#1"]),
        (0, ack("two:a#1"), {"two:a#1": INVALID}),
        (10, pull(subscription="two"), ["a#2"]),
    )


@spec("EOD-03")
def test_only_the_failing_ids_are_named_and_the_others_are_acked() -> None:
    Exact().play(
        (0, publish(*"abcd")),
        (0, pull(), ["a#1", "b#1", "c#1", "d#1"]),
        (0, nack("b#1")),
        (0, ack("a#1", "b#1", "junk", "c#1"), {"b#1": INVALID, "junk": INVALID}),
        (10, pull(), ["b#2", "d#2"]),
    )


@spec("EOD-03")
def test_only_the_failing_ids_are_named_and_the_others_are_extended() -> None:
    Exact().play(
        (0, publish(*"abc")),
        (0, pull(), ["a#1", "b#1", "c#1"]),
        (0, ack("b#1")),
        (0, modack(60, "a#1", "b#1", "junk"), {"b#1": INVALID, "junk": INVALID}),
        (10, pull(), ["c#2"]),
        (59.999999, ack("a#1")),
        (99, pull(), ["c#3"]),
    )


@spec("EOD-03")
def test_only_the_failing_ids_are_named_and_the_others_are_nacked() -> None:
    Exact().play(
        (0, publish(*"ab")),
        (0, pull(), ["a#1", "b#1"]),
        (0, ack("b#1")),
        (0, nack("b#1", "a#1", "a#1"), {"b#1": INVALID}),
        (0, pull(), ["a#2"]),
    )


@spec("EOD-02", "EOD-03", "EOD-04", "ERR-17")
def test_the_error_is_an_error_info_first_and_foremost() -> None:
    story = Exact().play((0, publish("a")), (0, pull(), ["a#1"]))
    stale = story.ack_id("a#1")
    story.play((10, pull(), ["a#2"]))
    error = story.engine.acknowledge(SUBSCRIPTION, [stale, "junk"], now=story.now).value
    assert error is not None
    assert error.code.name == "INVALID_ARGUMENT"
    assert error.message == (
        "Some acknowledgement ids in the request were invalid. This could be because the "
        "acknowledgement ids have expired or the acknowledgement ids were malformed."
    )
    info = ErrorInfo()
    assert error.details[0].Unpack(info)
    assert (info.reason, info.domain) == ("EXACTLY_ONCE_ACKID_FAILURE", "pubsub.googleapis.com")
    assert dict(info.metadata) == {stale: INVALID, "junk": INVALID}


@spec("EOD-08", "DLV-24")
def test_acking_again_is_no_failure() -> None:
    Exact().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, ack("a#1", "a#1")),
        (0, ack("a#1")),
        (1_000, ack("a#1")),
        (1_000, ack("a#1", "junk"), {"junk": INVALID}),
    )


@spec("EOD-01", "EOD-08")
@pytest.mark.parametrize("settle", [nack, partial(modack, 60)])
def test_the_deadline_of_what_is_acked_cannot_be_changed(settle: Any) -> None:
    Exact().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, ack("a#1")),
        (0, settle("a#1"), {"a#1": INVALID}),
        (0, pull(), []),
        (99, pull(), []),
    )


@spec("EOD-08")
def test_only_the_newest_acked_ids_are_remembered() -> None:
    with patch.object(exactly_once_module, "_REMEMBERED", 2):
        Exact().play(
            (0, publish(*"abc")),
            (0, pull(), ["a#1", "b#1", "c#1"]),
            (0, ack("a#1", "b#1")),
            (0, ack("a#1", "b#1")),
            (0, ack("c#1")),
            (0, ack("a#1", "b#1", "c#1"), {"a#1": INVALID}),
        )


@spec("EOD-08", "DLV-07")
def test_what_one_subscription_acked_is_nothing_to_another() -> None:
    exact = {"enable_exactly_once_delivery": True}
    Exact().play(
        (0, subscribe("two", **exact)),
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, pull(subscription="two"), ["a#1"]),
        (0, ack("a#1")),
        (0, ack("sub:a#1", subscription="two"), {"sub:a#1": INVALID}),
        (0, ack("a#1", subscription="two")),
    )


@spec("PUL-06", "EOD-01")
def test_the_id_of_a_lease_that_nobody_got_fails() -> None:
    Exact().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, release("a#1")),
        (0, ack("a#1"), {"a#1": INVALID}),
        (0, pull(), ["a#1"]),
        (0, ack("a#1")),
    )


@spec("EOD-06", "DLV-21")
def test_an_id_is_good_from_its_first_moment_to_its_last() -> None:
    Exact().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, modack(10, "a#1")),
        (9.999999, modack(600, "a#1")),
        (609.999998, modack(10, "a#1")),
        (619.999997, ack("a#1")),
    )


@spec("EOD-02", "DLV-26", "DLV-22", "ERR-02", "ERR-11", "ERR-13")
def test_other_mistakes_are_refused_as_ever() -> None:
    Exact().play(
        (0, ack(), invalid("You have not specified an ack ID in the request.")),
        (
            0,
            ack("x", subscription="none"),
            Refusal("NOT_FOUND", "Resource not found (resource=none)."),
        ),
    )


@spec("EOD-05", "SUB-21")
def test_ids_of_a_detached_subscription_are_accepted_and_do_nothing() -> None:
    Exact().play((0, publish("a")), (0, pull(), ["a#1"]), (0, detach()), (0, ack("a#1")))


# --- the flag, switched ---


@spec("EOD-10", "UPD-06", "EOD-01")
def test_ids_from_before_the_flag_are_good_if_they_are_the_newest() -> None:
    Story().play(
        (0, publish(*"abc")),
        (0, pull(), ["a#1", "b#1", "c#1"]),
        (5, nack("c#1")),
        (5, update(enable_exactly_once_delivery=True)),
        (5, ack("a#1", "c#1"), {"c#1": INVALID}),
        (10, ack("b#1"), {"b#1": INVALID}),
        (10, pull(), ["c#2", "b#2"]),
    )


@spec("EOD-10", "UPD-06", "DLV-23", "DLV-25")
def test_without_the_flag_late_acks_are_taken_again() -> None:
    Exact().play(
        (0, publish(*"ab")),
        (0, pull(), ["a#1", "b#1"]),
        (10, ack("a#1"), {"a#1": INVALID}),
        (10, update(enable_exactly_once_delivery=False)),
        (10, ack("junk"), invalid(MALFORMED)),
        (10, ack("a#1")),
        (10, pull(), ["b#2"]),
        (10, update(enable_exactly_once_delivery=True)),
        (10, ack("b#1"), {"b#1": INVALID}),
        (10, ack("b#2")),
    )


@spec("EOD-10", "STR-06")
def test_streams_learn_of_the_flag() -> None:
    story = Story(enable_message_ordering=True)
    story.play((0, open_stream("s")))

    def flags() -> tuple[bool, ...]:
        return tuple(
            story.engine.holders.lease(story.streams["s"].id, 1, now=story.now).value.properties
        )

    assert flags() == (False, True)
    story.play((0, update(enable_exactly_once_delivery=True)))
    assert flags() == (True, True)
    story.play((0, update(enable_exactly_once_delivery=False)))
    assert flags() == (False, True)


PUSH = {"push_config": {"push_endpoint": "https://example.com/"}}
NEEDS_PULL = invalid(
    "You have passed an invalid argument to the service "
    "(argument=enable_exactly_once_delivery needs a pull subscription)."
)


@spec("SUB-12", "EOD-01")
@pytest.mark.parametrize(
    "config",
    [
        PUSH,
        {"bigquery_config": {"table": "p.d.t"}},
        {"cloud_storage_config": {"bucket": "bucket"}},
        {"bigtable_config": {"table": "projects/p/instances/i/tables/t"}},
    ],
    ids=lambda config: next(iter(config)),
)
def test_only_pull_subscriptions_have_it(config: dict[str, Any]) -> None:
    exact = {"enable_exactly_once_delivery": True}
    Exact().play(
        (0, subscribe("two", **config, **exact), NEEDS_PULL),
        (0, update(**config), NEEDS_PULL),
        (0, subscribe("two", **config)),
        (0, update("two", **exact), NEEDS_PULL),
        (0, shown("enable_exactly_once_delivery", "projects/p/subscriptions/two"), False),
    )


# --- with ordering ---


@spec("EOD-09", "EOD-03")
def test_an_ack_out_of_order_fails_for_now() -> None:
    ExactOrdered().play(
        (0, publish(*"abc", key="k")),
        (0, pull(), ["a#1", "b#1", "c#1"]),
        (0, ack("b#1"), {"b#1": UNORDERED}),
        (0, ack("a#1", "c#1"), {"c#1": UNORDERED}),
        (0, ack("b#1")),
        (0, ack("c#1")),
        (99, pull(), []),
    )


@spec("EOD-09", "ORD-07")
def test_keys_and_messages_without_one_are_in_no_order() -> None:
    ExactOrdered().play(
        (0, publish("a", "b", key="k")),
        (0, publish("x", "y", key="other")),
        (0, publish("u", "v")),
        (0, pull(), ["a#1", "b#1", "x#1", "y#1", "u#1", "v#1"]),
        (0, ack("v#1", "x#1", "b#1"), {"b#1": UNORDERED}),
        (0, ack("y#1", "u#1", "a#1", "b#1")),
        (99, pull(), []),
    )


@spec("EOD-09")
@pytest.mark.parametrize("order", [("c#1", "b#1", "a#1"), ("b#1", "c#1", "a#1", "b#1")])
def test_the_order_of_ids_in_one_request_does_not_matter(order: tuple[str, ...]) -> None:
    ExactOrdered().play(
        (0, publish(*"abc", key="k")),
        (0, pull(), ["a#1", "b#1", "c#1"]),
        (0, ack(*order)),
        (99, pull(), []),
    )


@spec("EOD-09", "EOD-03")
def test_an_unordered_id_an_invalid_one_and_good_ones_in_one_request() -> None:
    ExactOrdered().play(
        (0, publish(*"abcd", key="k")),
        (0, pull(), ["a#1", "b#1", "c#1", "d#1"]),
        (
            0,
            ack("d#1", "b#1", "junk", "a#1"),
            {"d#1": UNORDERED, "junk": INVALID},
        ),
        (0, nack("c#1")),
        (0, pull(), ["c#2", "d#1"]),
    )


@spec("ORD-02", "ORD-03", "EOD-01", "EOD-12")
def test_what_was_acked_does_not_come_again() -> None:
    story = ExactOrdered().play(
        (0, publish(*"abcd", key="k")),
        (0, pull(), ["a#1", "b#1", "c#1", "d#1"]),
        (0, ack("a#1", "b#1")),
        (0, nack("c#1")),
        (0, ack("d#1"), {"d#1": INVALID}),
        (0, nack("d#1"), {"d#1": INVALID}),
        (0, modack(60, "c#1"), {"c#1": INVALID}),
        (0, pull(), ["c#2", "d#1"]),
        (0, ack("d#1'"), {"d#1'": INVALID}),
        (0, ack("c#2", "d#1")),
        (99, pull(), []),
    )
    check_engine(story.engine)


@spec("ORD-02", "EOD-01", "EOD-10")
def test_what_was_acked_out_of_order_before_the_flag_stays_acked_with_it() -> None:
    Story(enable_message_ordering=True).play(
        (0, publish(*"abc", key="k")),
        (0, pull(), ["a#1", "b#1", "c#1"]),
        (0, ack("b#1")),
        (0, update(enable_exactly_once_delivery=True)),
        (0, nack("a#1")),
        (0, pull(), ["a#2", "c#1"]),
        (0, update(enable_exactly_once_delivery=False)),
        (0, nack("a#2")),
        (0, pull(), ["a#3", "c#1"]),
    )


@spec("EOD-09", "EOD-10")
def test_acks_out_of_order_are_no_failure_without_the_flag() -> None:
    ExactOrdered().play(
        (0, publish(*"ab", key="k")),
        (0, pull(), ["a#1", "b#1"]),
        (0, ack("b#1"), {"b#1": UNORDERED}),
        (0, update(enable_exactly_once_delivery=False)),
        (0, ack("b#1")),
        (0, update(enable_exactly_once_delivery=True)),
        (0, ack("a#1")),
        (99, pull(), []),
    )


@spec("EOD-09", "DLQ-02")
def test_a_dead_letter_is_not_waited_for() -> None:
    policy = {"dead_letter_topic": "projects/p/topics/dead"}
    story = ExactOrdered(retry_policy=None).play((0, create_topic("dead")))
    story.play((0, update(dead_letter_policy=policy)), (0, publish(*"ab", key="k")))
    for attempt in range(1, 5):
        story.play((0, pull(1), [f"a#{attempt}"]), (0, nack(f"a#{attempt}")))
    story.play(
        (0, pull(), ["a#5", "b#1"]),
        (0, attempts("a#5", "b#1"), [5, 1]),
        (0, ack("b#1"), {"b#1": UNORDERED}),
        (0, nack("a#5")),
        (0, ack("b#1")),
        (99, pull(), []),
    )


# --- on streams ---


@spec("EOD-07")
def test_a_stream_is_told_what_became_of_its_acks() -> None:
    Exact().play(
        (0, publish(*"abcd")),
        (0, open_stream("s")),
        (0, receive("s"), ["a#1", "b#1", "c#1", "d#1"]),
        (0, nack("b#1")),
        (
            0,
            send("s", ("a#1", "b#1", "junk"), {"c#1": 60, "a#1": 60}),
            {
                "ack.done": ["a#1"],
                "ack.invalid": ["b#1", "junk"],
                "modack.done": ["c#1"],
                "modack.invalid": ["a#1"],
            },
        ),
        (0, send("s", ("a#1",)), {"ack.done": ["a#1"]}),
        (0, send("s", (), {"d#1": 0}), {"modack.done": ["d#1"]}),
        (0, receive("s"), ["b#2", "d#2"]),
        (59, ack("c#1")),
    )


@spec("EOD-07")
def test_the_deadlines_of_one_request_are_each_confirmed() -> None:
    Exact().play(
        (0, publish(*"abc")),
        (0, open_stream("s")),
        (0, receive("s"), ["a#1", "b#1", "c#1"]),
        (0, ack("c#1")),
        (
            0,
            send("s", (), {"a#1": 20, "b#1": 30, "c#1": 20, "junk": 0}),
            {"modack.done": ["a#1", "b#1"], "modack.invalid": ["c#1", "junk"]},
        ),
        (20, receive("s"), ["a#2"]),
        (30, receive("s"), ["b#2", "a#3"]),
    )


@spec("EOD-07", "EOD-09")
def test_a_stream_is_told_which_acks_were_out_of_order() -> None:
    ExactOrdered().play(
        (0, publish(*"abc", key="k")),
        (0, open_stream("s")),
        (0, receive("s"), ["a#1", "b#1", "c#1"]),
        (0, send("s", ("c#1", "a#1")), {"ack.done": ["a#1"], "ack.unordered": ["c#1"]}),
        (0, send("s", ("c#1", "b#1")), {"ack.done": ["b#1", "c#1"]}),
    )


@spec("EOD-07", "STR-04")
def test_without_the_flag_nothing_is_confirmed() -> None:
    Story().play(
        (0, publish(*"ab")),
        (0, open_stream("s")),
        (0, receive("s"), ["a#1", "b#1"]),
        (0, send("s", ("a#1",), {"b#1": 60})),
        (0, send("s", ("junk",)), invalid(MALFORMED)),
        (0, update(enable_exactly_once_delivery=True)),
        (0, send("s", ("junk",)), {"ack.invalid": ["junk"]}),
        (0, send("s", ("b#1",)), {"ack.done": ["b#1"]}),
    )


@spec("EOD-07", "EOD-12")
def test_an_empty_request_is_not_confirmed() -> None:
    Exact().play((0, open_stream("s")), (0, send("s")))


@spec("EOD-01", "STR-07")
def test_failing_ids_free_no_window() -> None:
    story = Exact().play(
        (0, publish(*"ab")),
        (0, open_stream("s", max_outstanding_messages=1)),
        (0, receive("s"), ["a#1"]),
        (9, modack(10, "a#1")),
    )
    story.now = 10 * SECOND_US
    story.play(
        (10, ack("junk"), {"junk": INVALID}),
        (10, receive("s"), []),
        (10, ack("a#1")),
        (10, receive("s"), ["b#1"]),
        (10, ack("a#1")),
        (10, receive("s"), []),
    )
