"""In which order messages go out: nearly as published, redeliveries behind, nobody starved."""

from __future__ import annotations

from emulator.api import pubsub
from emulator.engine.values.limits import PUBLISH_REQUEST_BYTES, PULL_MESSAGES, RESPONSE_BYTES
from tests.engine.story import (
    SECOND_US,
    SUBSCRIPTION,
    TOPIC,
    Story,
    ack,
    invalid,
    message_of,
    nack,
    publish,
    pull,
    subscribe,
    unsubscribe,
)
from tests.spec import spec


@spec("DLV-08", "PUB-41")
def test_messages_go_out_as_they_were_published() -> None:
    Story().play(
        (0, publish("a", "b")),
        (0, publish("c")),
        (0, publish("d", "e")),
        (0, pull(2), ["a#1", "b#1"]),
        (0, pull(), ["c#1", "d#1", "e#1"]),
    )


@spec("DLV-08")
def test_a_redelivery_goes_behind_what_was_waiting_when_its_lease_ended() -> None:
    Story().play(
        (0, publish("a", "b", "c")),
        (0, pull(1), ["a#1"]),
        (0, nack("a#1")),
        (0, publish("d")),
        (0, pull(), ["b#1", "c#1", "a#2", "d#1"]),
    )


@spec("DLV-08")
def test_expired_leases_go_behind_what_was_waiting_too() -> None:
    Story().play(
        (0, publish("a", "b", "c")),
        (0, pull(2), ["a#1", "b#1"]),
        (10, publish("d")),
        (10, pull(2), ["c#1", "a#2"]),
        (10, pull(2), ["b#2", "d#1"]),
    )


@spec("DLV-08")
def test_a_message_that_is_always_nacked_does_not_starve_the_others() -> None:
    story = Story().play((0, publish("bad", *"abcde")))
    order = []
    for _ in range(12):
        [delivery] = story.engine.lease(SUBSCRIPTION, 1, now=0).value
        text = message_of(delivery).data.decode()
        settle = nack if text == "bad" else ack
        story.play((0, settle(delivery.ack_id)))
        order.append(text)
    assert order == ["bad", *"abcde", *["bad"] * 6]


@spec("DLV-08", "DLV-05")
def test_a_steady_flow_of_new_messages_does_not_starve_a_redelivery() -> None:
    story = Story().play(
        (0, publish("old", "n0", "n1", "n2")), (0, pull(1), ["old#1"]), (0, nack("old#1"))
    )
    for number in range(3):
        story.play(
            (0, publish(f"n{number + 3}", f"n{number + 6}")),
            (0, pull(1), [f"n{number}#1"]),
        )
    story.play((0, pull(1), ["old#2"]))


@spec("PUL-02")
def test_a_pull_takes_redeliveries_and_new_messages_together() -> None:
    Story().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (10, publish("b")),
        (10, pull(), ["a#2", "b#1"]),
        (20, pull(), ["a#3", "b#2"]),
    )


@spec("DLV-08")
def test_a_settled_redelivery_is_passed_over() -> None:
    Story().play(
        (0, publish("a", "b", "c")),
        (0, pull(), ["a#1", "b#1", "c#1"]),
        (0, nack("a#1", "b#1", "c#1")),
        (0, ack("a#1", "b#1")),
        (0, pull(1), ["c#2"]),
        (0, pull(), []),
    )


@spec("PUL-01", "ERR-15")
def test_max_messages_must_be_positive() -> None:
    text = "You have passed an invalid argument to the service (argument=max_messages)."
    Story().play(
        (0, publish("a", "b")),
        (0, pull(0), invalid(text)),
        (0, pull(-1), invalid(text)),
        (0, pull(1), ["a#1"]),
    )


@spec("PUL-01")
def test_a_pull_returns_1000_messages_at_most() -> None:
    story = Story()
    story.play((0, publish(*map(str, range(1_000)))), (0, publish("1000", "1001")))
    assert len(story.engine.lease(SUBSCRIPTION, 2**31 - 1, now=0).value) == PULL_MESSAGES
    story.play((0, pull(2**31 - 1), ["1000#1", "1001#1"]))


@spec("PUL-02")
def test_a_pull_of_nothing_is_empty_and_leases_nothing() -> None:
    story = Story().play((0, pull(), []))
    assert story.engine.next_deadline("p") is None


@spec("STR-09", "PUL-02")
def test_large_messages_are_spread_over_responses() -> None:
    size = RESPONSE_BYTES // 4
    story = Story()
    for letter in "abcdefg":
        story.play((0, publish(letter * size)))
    counts = []
    while leased := story.engine.lease(SUBSCRIPTION, 1_000, now=0).value:
        assert sum(len(d.message.encoded) for d in leased) <= RESPONSE_BYTES
        counts.append(len(leased))
    assert counts == [3, 3, 1]


@spec("STR-09")
def test_large_redeliveries_are_spread_over_responses() -> None:
    size = RESPONSE_BYTES // 4
    story = Story()
    for letter in "abcde":
        story.play((0, publish(letter * size)))
    while story.engine.lease(SUBSCRIPTION, 1_000, now=0).value:
        pass
    story.now = 10 * SECOND_US
    story.catch_up()
    story.play((10, publish("small")))
    counts = []
    while leased := story.engine.lease(SUBSCRIPTION, 1_000, now=story.now).value:
        counts.append([len(d.message.encoded) > 100 for d in leased])
    assert counts == [[True] * 3, [True, True, False]]


@spec("STR-09")
def test_one_message_is_delivered_whatever_its_size() -> None:
    # Its id and publish time make it larger than a response, though the request was not.
    story = Story()
    framing = pubsub.PublishRequest(topic=TOPIC, messages=[{"data": b"x" * 9_000_000}])
    largest = "x" * (PUBLISH_REQUEST_BYTES - framing.ByteSize() + 9_000_000)
    now = 1_700_000_000.123
    story.play((now, publish(largest)), (now, publish("next")))
    [delivery] = story.engine.lease(SUBSCRIPTION, 1_000, now=story.now).value
    assert len(delivery.message.encoded) > RESPONSE_BYTES
    story.play((now, pull(), ["next#1"]))
    story.now += 10 * SECOND_US
    story.catch_up()
    [delivery] = story.engine.lease(SUBSCRIPTION, 1_000, now=story.now).value
    assert delivery.attempt == 2


@spec("SUB-15")
def test_a_new_subscription_starts_with_what_is_published_from_then_on() -> None:
    Story().play(
        (0, publish("before")),
        (0, subscribe("late")),
        (0, publish("after")),
        (0, pull(subscription="late"), ["after#1"]),
        (0, pull(), ["before#1", "after#1"]),
    )


@spec("SUB-20")
def test_a_subscription_made_again_has_nothing_of_the_former() -> None:
    Story().play(
        (0, publish("a", "b", "c")),
        (0, pull(2), ["a#1", "b#1"]),
        (0, nack("a#1")),
        (0, unsubscribe()),
        (0, subscribe()),
        (0, pull(), []),
        (100, pull(), []),
        (100, publish("d")),
        (100, pull(), ["d#1"]),
    )
