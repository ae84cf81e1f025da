"""Subscriptions with a filter: what does not match was never there."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.api import pubsub
from tests.engine.story import (
    RETENTION_US,
    SUBSCRIPTION,
    TOPIC,
    Command,
    Refusal,
    Story,
    ack,
    delete_topic,
    invalid,
    message_of,
    nack,
    open_stream,
    publish,
    pull,
    receive,
    refusal_of,
    subscribe,
    unsubscribe,
    update,
)
from tests.property.invariants import backlog_of, check_engine, log_of
from tests.spec import spec

RED = 'attributes.color = "red"'


def undelivered(story: Story) -> int:
    backlog = backlog_of(story.engine, SUBSCRIPTION)
    return backlog.undelivered


def publish_together(*messages: tuple[str, dict[str, str]]) -> Command:
    """Publish messages with attributes of their own in one request."""
    request = pubsub.PublishRequest(topic=TOPIC)
    for text, attributes in messages:
        request.messages.add(data=text.encode(), attributes=attributes)

    def command(story: Story) -> None:
        story.engine.publish(request, request.SerializeToString(), now=story.now)

    return command


@spec("DLV-40", "FLT-04", "DLV-01")
def test_what_does_not_match_is_acked_at_publish() -> None:
    story = Story(filter=RED).play(
        (0, publish("a", color="blue")),
        (0, publish("b")),
        (0, undelivered, 0),
        (0, pull(), []),
        (0, publish("c", color="red")),
        (0, publish("d", color="Red")),
        (0, undelivered, 1),
        (0, pull(), ["c#1"]),
        (10, pull(), ["c#2"]),
        (10, ack("c#2")),
        (99, pull(), []),
        (99, undelivered, 0),
    )
    assert story.engine.next_deadline("p") == RETENTION_US
    check_engine(story.engine)


@spec("DLV-40")
def test_what_matches_is_picked_out_of_a_request() -> None:
    Story(filter=RED).play(
        (
            0,
            publish_together(
                ("a", {"color": "red"}),
                ("b", {"color": "blue"}),
                ("c", {"color": "red", "size": "1"}),
                ("d", {}),
            ),
        ),
        (0, undelivered, 2),
        (0, pull(), ["a#1", "c#1"]),
    )


@spec("DLV-40", "DLV-07")
def test_what_one_filter_rejects_another_subscription_gets() -> None:
    Story(filter=RED).play(
        (0, subscribe("all")),
        (0, subscribe("others", filter=f"NOT {RED}")),
        (0, publish("a", color="red")),
        (0, publish("b", color="blue")),
        (0, pull(), ["a#1"]),
        (0, pull(subscription="all"), ["a#1", "b#1"]),
        (0, pull(subscription="others"), ["b#1"]),
    )


#: Every row of the language's table of truth, by the filters of its columns.
FILTERS = {
    "attributes:n": "FTTTTF",
    'attributes.n="a"': "FTFFFF",
    'attributes.n!="a"': "TFTTTT",
    'hasPrefix(attributes.n,"a")': "FTTFFF",
    "NOT attributes:n": "TFFFFT",
    'NOT hasPrefix(attributes.n,"a")': "TFFTTT",
}
ROWS: list[dict[str, str]] = [{}, {"n": "a"}, {"n": "ab"}, {"n": "b"}, {"n": ""}, {"N": "a"}]


@spec("FLT-05", "FLT-20", "FLT-21", "FLT-22", "DLV-40")
@pytest.mark.parametrize(("text", "verdicts"), FILTERS.items())
@pytest.mark.parametrize("is_ordered", [False, True])
def test_delivery_follows_the_table(text: str, verdicts: str, is_ordered: bool) -> None:
    story = Story(filter=text, enable_message_ordering=is_ordered)
    for number, attributes in enumerate(ROWS):
        story.play((0, publish(str(number), key="k", **attributes)))
    got = "".join(label[0] for label in pull()(story))
    assert got == "".join(str(n) for n, verdict in enumerate(verdicts) if verdict == "T")


@spec("FLT-01")
def test_nothing_but_attributes_is_looked_at() -> None:
    story = Story(filter="attributes:data OR attributes:ordering_key OR attributes:message_id")
    story.play((0, publish("data", key="ordering_key")), (0, undelivered, 0))


@spec("FLT-01")
def test_matching_leaves_a_message_as_it_is() -> None:
    story = Story(filter=RED).play((0, publish("a", key="k", color="red", size="1")))
    [delivery] = story.engine.lease(SUBSCRIPTION, 1, now=0).value
    message = message_of(delivery)
    assert (message.data, message.ordering_key) == (b"a", "k")
    assert dict(message.attributes) == {"color": "red", "size": "1"}


@spec("FLT-02", "SUB-08")
@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_an_empty_filter_delivers_everything(text: str) -> None:
    Story(filter=text).play(
        (0, publish("a")), (0, publish("b", color="red")), (0, pull(), ["a#1", "b#1"])
    )


@spec("FLT-01", "SUB-08", "UPD-06")
def test_a_filter_is_shown_as_given_and_cannot_be_changed() -> None:
    text = f"  {RED}  "
    story = Story(filter=text)
    refusal = refusal_of(lambda: update(filter="attributes:a")(story))
    assert refusal is not None
    assert refusal.code == "INVALID_ARGUMENT"
    assert "'filter' field in the Subscription is not mutable" in refusal.text
    assert story.engine.subscriptions.get(SUBSCRIPTION, now=0).value.filter == text
    story.play((0, update(labels={"a": "b"})), (0, publish("a")), (0, pull(), []))


#: 255 bytes in 135 characters.
LONGEST = 'attributes.a="' + "é" * 120 + '"'


@spec("FLT-01", "FLT-18", "SUB-08", "ERR-19")
def test_a_filter_has_256_bytes_at_most() -> None:
    assert len(LONGEST.encode()) == 255
    Story().play(
        (0, subscribe("two", filter=LONGEST + " ")),
        (
            0,
            subscribe("three", filter=LONGEST + "  "),
            invalid(
                "The value for filter_size is too large. You passed 257 in the request, but the "
                "maximum value is 256."
            ),
        ),
        (0, publish("a", a="é" * 120)),
        (0, pull(subscription="two"), ["a#1"]),
        (
            0,
            pull(subscription="three"),
            Refusal("NOT_FOUND", "Resource not found (resource=three)."),
        ),
    )


@spec("FLT-03", "SUB-08", "ERR-18")
def test_a_filter_that_is_none_makes_no_subscription() -> None:
    Story().play(
        (
            0,
            subscribe("two", filter='attributes.color == "red"'),
            invalid(
                "Invalid filter expression: failed to parse (syntax error at line 1, column 19, "
                "token '=')."
            ),
        ),
        (0, subscribe("two", filter=RED)),
    )


# --- with everything else that a subscription does ---


@spec("DLV-05", "DLV-08", "DLV-40")
def test_redeliveries_go_behind_what_waits() -> None:
    Story(filter=RED).play(
        (0, publish("a", "b", color="red")),
        (0, pull(1), ["a#1"]),
        (0, publish("x", color="blue")),
        (0, nack("a#1")),
        (0, publish("c", color="red")),
        (0, pull(), ["b#1", "a#2", "c#1"]),
    )


@spec("STR-07", "DLV-40")
def test_streams_get_what_matches() -> None:
    Story(filter=RED).play(
        (0, open_stream("s", max_outstanding_messages=2)),
        (0, publish("x", color="blue")),
        (0, publish("a", "b", "c", color="red")),
        (0, receive("s"), ["a#1", "b#1"]),
        (0, ack("a#1")),
        (0, receive("s"), ["c#1"]),
    )


@spec("ORD-01", "DLV-40")
def test_a_key_goes_on_without_what_does_not_match() -> None:
    story = Story(filter=RED, enable_message_ordering=True).play(
        (0, publish("a", key="k", color="red")),
        (0, publish("b", key="k", color="blue")),
        (0, publish("c", key="k", color="red")),
        (0, publish("d", key="other", color="blue")),
        (0, undelivered, 2),
        (0, pull(), ["a#1", "c#1"]),
        (0, nack("a#1")),
        (0, pull(), ["a#2", "c#1"]),
    )
    backlog: Any = backlog_of(story.engine, SUBSCRIPTION)
    assert len(backlog.lanes.by_key) == 1
    check_engine(story.engine)


@spec("SUB-15", "SUB-20", "DLV-40")
def test_a_filtered_subscription_starts_with_what_comes() -> None:
    Story().play(
        (0, publish("a", color="red")),
        (0, subscribe("red", filter=RED)),
        (0, pull(subscription="red"), []),
        (0, publish("b", color="red")),
        (0, unsubscribe("red")),
        (0, subscribe("red", filter=RED)),
        (0, pull(subscription="red"), []),
        (0, publish("c", color="red")),
        (0, pull(subscription="red"), ["c#1"]),
        (0, pull(), ["a#1", "b#1", "c#1"]),
    )


@spec("TOP-11", "DLV-40")
def test_its_backlog_outlives_its_topic() -> None:
    Story(filter=RED).play(
        (0, publish("a", "b", color="red")),
        (0, pull(1), ["a#1"]),
        (0, delete_topic()),
        (10, pull(), ["b#1", "a#2"]),
    )


@spec("DLV-40", "DLV-04")
def test_what_does_not_match_is_not_kept() -> None:
    story = Story(filter=RED)
    for _ in range(50):
        story.play((0, publish(*"x" * 100, color="blue")), (0, publish("a", color="red")))
    log, backlog = log_of(story.engine, TOPIC), backlog_of(story.engine, SUBSCRIPTION)
    assert (log.kept, len(log._entries)) == (0, 0)
    assert backlog.undelivered == 50
    assert len(pull()(story)) == 50


@spec("SUB-20", "SUB-21")
@pytest.mark.parametrize("budget", [1, 7, 1_000])
def test_a_filtered_backlog_is_freed_in_slices(budget: int) -> None:
    story = Story(filter=RED).play((0, publish(*"x" * 20, color="red")))
    labels = story.engine.lease(SUBSCRIPTION, 5, now=0).value
    backlog: Any = backlog_of(story.engine, SUBSCRIPTION)
    story.play((0, nack(*[delivery.ack_id for delivery in labels[:2]])))
    unsubscribe()(story)
    held = 20
    while story.engine.tick("p", now=0, budget=budget).value:
        left = len(backlog.leases.by_ack_id) + backlog.queue.source.count
        assert held - left <= budget
        held = left
    assert (
        len(backlog.leases.by_ack_id),
        len(backlog.queue.redeliveries),
        backlog.queue.source.count,
    ) == (0, 0, 0)
    assert story.engine.next_deadline("p") is None
