"""Dead letters: what fails too often goes to another topic, once, and is gone here."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.api import iam, pubsub
from emulator.engine.delivery.outcome import Available, Forward
from tests.engine.story import (
    RETENTION_US,
    SECOND_US,
    SUBSCRIPTION,
    TOPIC,
    Command,
    Story,
    ack,
    attempts,
    create_topic,
    delete_topic,
    full_name,
    invalid,
    message_of,
    modack,
    nack,
    not_found,
    open_stream,
    publish,
    pull,
    receive,
    refusal_of,
    release,
    send,
    subscribe,
    update,
)
from tests.property.invariants import backlog_of, check_engine
from tests.spec import spec

DEAD = "projects/p/topics/dead"
MORGUE = "projects/p/subscriptions/morgue"
SOURCE = "CloudPubSubDeadLetterSource"
#: 2023-11-14T22:13:20Z
START_S = 1_700_000_000
POLICY = {"dead_letter_topic": DEAD}


def mortal(topic: str = DEAD, max_attempts: int = 5, **fields: Any) -> Story:
    """`sub` has a policy; its dead-letter topic has the subscription `morgue`."""
    policy = {"dead_letter_topic": topic, "max_delivery_attempts": max_attempts}
    story = Story(is_empty=True, is_strict=fields.pop("is_strict", False))
    return story.play(
        (0, create_topic(topic)),
        (0, subscribe("morgue", topic)),
        (0, create_topic()),
        (0, subscribe(dead_letter_policy=policy, **fields)),
    )


def fail(label: str, first: int, last: int, subscription: str = SUBSCRIPTION) -> Command:
    """Pull and nack a message, which is always the next: attempts `first` to `last`."""

    def command(story: Story) -> None:
        for attempt in range(first, last + 1):
            assert pull(1, subscription)(story) == [f"{label}#{attempt}"]
            nack(f"{label}#{attempt}", subscription=subscription)(story)

    return command


def buried(story: Story, subscription: str = MORGUE) -> list[pubsub.PubsubMessage]:
    """What a subscription gets now."""
    leased = story.engine.lease(subscription, 1_000, now=story.now).value
    return [message_of(delivery) for delivery in leased]


def undelivered(subscription: str = SUBSCRIPTION) -> Command:
    name = full_name("subscriptions", subscription)
    return lambda story: backlog_of(story.engine, name).undelivered


# --- attempts ---


@spec("DLQ-01", "PUL-05")
def test_attempts_are_told_only_with_a_policy() -> None:
    mortal().play(
        (0, subscribe("plain")),
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (0, attempts("a#1"), [1]),
        (0, pull(subscription="plain"), ["a#1"]),
        (0, attempts("a#1", subscription="plain"), None),
    )


@spec("DLQ-01")
def test_attempts_count_nacks_and_expiries() -> None:
    mortal().play(
        (0, publish("a", "b")),
        (0, pull(), ["a#1", "b#1"]),
        (0, nack("a#1")),
        (0, pull(), ["a#2"]),
        (0, attempts("b#1", "a#2"), [1, 2]),
        (10, pull(), ["b#2", "a#3"]),
        (10, attempts("b#2", "a#3"), [2, 3]),
        (20, pull(), ["b#3", "a#4"]),
        (20, attempts("b#3", "a#4"), [3, 4]),
    )


@spec("DLQ-01", "PUL-06", "ORD-02")
def test_what_was_no_failure_is_not_counted() -> None:
    mortal(enable_message_ordering=True).play(
        (0, publish("a", "b", key="k")),
        (0, pull(), ["a#1", "b#1"]),
        (0, nack("a#1")),
        (0, pull(), ["a#2", "b#1"]),
        (0, attempts("a#2", "b#1"), [2, 1]),
        (0, release("a#2", "b#1")),
        (0, pull(), ["a#2", "b#1"]),
        (0, attempts("a#2", "b#1"), [2, 1]),
    )


@spec("DLQ-01", "DLQ-10")
def test_attempts_do_not_grow_under_an_extended_lease() -> None:
    story = mortal().play((0, publish("a")), (0, pull(), ["a#1"]))
    for time_s in range(5, 300, 5):
        story.play((time_s, modack(10, "a#1")))
    story.play((305, pull(), ["a#2"]), (305, attempts("a#2"), [2]))


# --- forwarding ---


@spec("DLQ-02", "DLQ-01")
def test_the_fifth_nack_forwards_with_nobody_pulling() -> None:
    story = mortal().play(
        (0, publish("a")),
        (0, fail("a", 1, 4)),
        (0, pull(subscription="morgue"), []),
        (0, pull(), ["a#5"]),
        (0, attempts("a#5"), [5]),
        (0, undelivered("morgue"), 0),
        (0, nack("a#5")),
        (0, undelivered("morgue"), 1),
        (0, undelivered(), 0),
        (0, pull(subscription="morgue"), ["a#1"]),
        (0, ack("morgue:a#1", subscription="morgue")),
        (1_000, pull(subscription="morgue"), []),
        (1_000, pull(), []),
    )
    assert story.engine.next_deadline("p") == RETENTION_US
    check_engine(story.engine)


@spec("DLQ-02", "DLQ-01")
def test_the_fifth_expiry_forwards_at_its_very_moment() -> None:
    story = mortal().play((0, publish("a")))
    for attempt in range(1, 6):
        story.play((attempt * 10 - 10, pull(), [f"a#{attempt}"]))
    story.play(
        (49.999999, undelivered("morgue"), 0),
        (49.999999, undelivered(), 1),
        (50, undelivered("morgue"), 1),
        (50, undelivered(), 0),
        (50, pull(subscription="morgue"), ["a#1"]),
        (50, pull(), []),
    )
    assert backlog_of(story.engine, SUBSCRIPTION).leases.by_ack_id == {}
    check_engine(story.engine)


@spec("DLQ-02", "SUB-09")
@pytest.mark.parametrize("max_attempts", [5, 6, 100])
def test_nothing_is_delivered_more_often_than_allowed(max_attempts: int) -> None:
    mortal(max_attempts=max_attempts).play(
        (0, publish("a")),
        (0, fail("a", 1, max_attempts - 1)),
        (0, undelivered("morgue"), 0),
        (0, fail("a", max_attempts, max_attempts)),
        (0, undelivered("morgue"), 1),
        (0, pull(), []),
    )


@spec("DLQ-02")
def test_the_effects_are_one_forward_and_those_of_the_failure() -> None:
    story = mortal().play((0, publish("a", "b")), (0, pull(1), ["a#1"]), (0, nack("a#1")))
    story.play((0, pull(), ["b#1", "a#2"]), (0, ack("b#1")), (0, nack("a#2")))
    story.play((0, fail("a", 3, 4)), (0, pull(), ["a#5"]))
    outcome = story.engine.modify_ack_deadline(SUBSCRIPTION, [story.ack_id("a#5")], 0, now=0)
    [effect] = outcome.effects
    assert isinstance(effect, Forward)
    assert effect.topic == DEAD
    assert story.engine.forward(effect, now=0).effects == (Available(MORGUE),)
    assert refusal_of(lambda: story.engine.acknowledge(SUBSCRIPTION, ["junk"], now=0)) is not None
    assert story.engine.release(SUBSCRIPTION, [], now=0).effects == ()


@spec("DLQ-02")
def test_many_dead_letters_of_one_tick_are_all_forwarded() -> None:
    texts = [str(number) for number in range(50)]
    story = mortal().play((0, publish(*texts)))
    for attempt in range(5):
        assert len(pull()(story)) == 50
        story.play((attempt * 10 + 10, undelivered("morgue"), 50 if attempt == 4 else 0))
    assert sorted(message.data.decode() for message in buried(story)) == sorted(texts)
    story.play((50, undelivered(), 0))


@spec("DLQ-02", "DLV-23", "DLV-24")
def test_an_id_of_a_dead_letter_is_stale() -> None:
    mortal().play(
        (0, publish("a")),
        (0, fail("a", 1, 5)),
        (0, ack("a#5")),
        (0, nack("a#5")),
        (0, undelivered("morgue"), 1),
        (0, undelivered(), 0),
    )


@spec("DLV-23", "DLQ-02")
def test_an_ack_before_the_last_failure_is_the_end_of_it() -> None:
    mortal().play(
        (0, publish("a")),
        (0, fail("a", 1, 4)),
        (0, ack("a#4")),
        (99, pull(), []),
        (99, pull(subscription="morgue"), []),
    )


@spec("DLQ-02", "STR-07")
def test_a_dead_letter_leaves_its_streams_window() -> None:
    story = mortal().play((0, publish("a", "b")), (0, fail("a", 1, 1)))
    story.play((0, pull(1), ["b#1"]), (0, fail("a", 2, 4)), (0, nack("b#1")))
    story.play(
        (0, open_stream("s", max_outstanding_messages=1)),
        (0, receive("s"), ["a#5"]),
        (0, receive("s"), []),
        (0, send("s", (), {"a#5": 0})),
        (0, undelivered("morgue"), 1),
        (0, receive("s"), ["b#2"]),
    )


@spec("DLQ-02", "RTY-02", "RTY-03")
def test_the_last_failure_waits_for_no_backoff() -> None:
    story = mortal(retry_policy={"minimum_backoff": {"seconds": 1}}).play((0, publish("a")))
    for attempt, time_s in enumerate([0, 1, 3, 7, 15], 1):
        story.play((time_s, pull(), [f"a#{attempt}"]), (time_s, nack(f"a#{attempt}")))
    story.play((15, undelivered("morgue"), 1), (15, undelivered(), 0))
    assert story.engine.next_deadline("p") == RETENTION_US


@spec("DLV-07", "DLQ-01")
def test_each_subscription_counts_and_forwards_by_itself() -> None:
    story = mortal().play(
        (0, subscribe("two", dead_letter_policy=POLICY)),
        (0, publish("a")),
        (0, fail("a", 1, 4)),
        (0, pull(subscription="two"), ["a#1"]),
        (0, attempts("a#1", subscription="two"), [1]),
        (0, nack("two:a#1", subscription="two")),
        (0, fail("a", 5, 5)),
        (0, undelivered("two"), 1),
        (0, fail("a", 2, 5, "projects/p/subscriptions/two")),
    )
    sources = [message.attributes[f"{SOURCE}Subscription"] for message in buried(story)]
    assert sources == ["sub", "two"]


# --- what is forwarded ---


@spec("DLQ-03", "DLQ-04", "DLQ-05")
def test_a_copy_has_four_more_attributes_a_new_id_and_a_new_time() -> None:
    story = mortal(enable_message_ordering=True)
    story.play((START_S + 0.123, publish("a", key="k", color="red")))
    [delivery] = story.engine.lease(SUBSCRIPTION, 1, now=story.now).value
    original = message_of(delivery)
    story.play((START_S + 1, nack(delivery.ack_id)), (START_S + 60, fail("a", 2, 5)))
    [delivery] = story.engine.lease(MORGUE, 10, now=story.now).value
    copy = message_of(delivery)
    assert copy.ByteSize() == len(delivery.message.encoded)  # nothing is in it twice
    assert (copy.data, copy.ordering_key) == (b"a", "k")
    assert dict(copy.attributes) == {
        "color": "red",
        f"{SOURCE}DeliveryCount": "5",
        f"{SOURCE}Subscription": "sub",
        f"{SOURCE}SubscriptionProject": "p",
        f"{SOURCE}TopicPublishTime": "2023-11-14T22:13:20.123+00:00",
    }
    assert copy.message_id
    assert copy.message_id != original.message_id
    assert copy.publish_time.ToMilliseconds() == (START_S + 60) * 1_000
    assert dict(original.attributes) == {"color": "red"}


@spec("DLQ-04")
@pytest.mark.parametrize(
    ("time_s", "text"),
    [
        (START_S, "2023-11-14T22:13:20.000+00:00"),
        (START_S + 0.1, "2023-11-14T22:13:20.100+00:00"),
        (START_S + 0.05, "2023-11-14T22:13:20.050+00:00"),
        (START_S + 0.007, "2023-11-14T22:13:20.007+00:00"),
        (START_S + 0.999999, "2023-11-14T22:13:20.999+00:00"),
        (0, "1970-01-01T00:00:00.000+00:00"),
    ],
)
def test_the_time_of_publishing_has_milliseconds_and_an_offset(time_s: float, text: str) -> None:
    story = mortal().play((time_s, publish("a")), (time_s, fail("a", 1, 5)))
    [copy] = buried(story)
    assert copy.attributes[f"{SOURCE}TopicPublishTime"] == text


@spec("DLQ-05", "DLQ-03", "PUB-24")
def test_a_hundred_attributes_of_its_own_do_not_block_a_message() -> None:
    attributes = {f"a{number}": "x" for number in range(100)}
    story = mortal().play((0, publish("a", **attributes)), (0, fail("a", 1, 5)))
    [copy] = buried(story)
    assert len(copy.attributes) == 104
    assert attributes.items() <= dict(copy.attributes).items()


@spec("DLQ-05", "PUB-08")
def test_the_new_time_is_never_before_the_topics_last() -> None:
    story = mortal().play((5, publish("a")), (9, publish("b", topic=DEAD)))
    story.play((5, fail("a", 1, 5)))
    assert [message.publish_time.seconds for message in buried(story)] == [9, 9]


@spec("DLQ-03", "DLQ-06")
def test_the_target_may_be_in_another_project() -> None:
    far = "projects/far/topics/dead"
    story = Story(is_empty=True).play(
        (0, create_topic(far)),
        (0, subscribe("projects/far/subscriptions/morgue", far)),
        (0, create_topic("projects/mid/topics/top")),
        (
            0,
            subscribe(
                topic="projects/mid/topics/top", dead_letter_policy={"dead_letter_topic": far}
            ),
        ),
        (0, publish("a", topic="projects/mid/topics/top")),
        (0, fail("a", 1, 5)),
    )
    [copy] = buried(story, "projects/far/subscriptions/morgue")
    assert copy.attributes[f"{SOURCE}SubscriptionProject"] == "p"
    assert copy.attributes[f"{SOURCE}Subscription"] == "sub"


@spec("DLQ-05", "DLQ-06")
def test_the_new_time_is_that_of_the_targets_project() -> None:
    story = mortal().play((START_S, publish("a")), (START_S, fail("a", 1, 4)))
    story.play((START_S, pull(), ["a#5"]))
    [effect] = story.engine.modify_ack_deadline(
        SUBSCRIPTION, [story.ack_id("a#5")], 0, now=story.now
    ).effects
    assert isinstance(effect, Forward)
    story.engine.forward(effect, now=story.now + 3_600 * SECOND_US)
    assert [message.publish_time.seconds for message in buried(story)] == [START_S + 3_600]


@spec("DLQ-06")
def test_without_a_subscription_on_the_target_a_dead_letter_is_lost() -> None:
    mortal().play(
        (0, create_topic("empty")),
        (0, update(dead_letter_policy={"dead_letter_topic": "projects/p/topics/empty"})),
        (0, publish("a")),
        (0, fail("a", 1, 5)),
        (0, subscribe("late", "empty")),
        (0, pull(subscription="late"), []),
        (0, undelivered(), 0),
    )


@spec("DLQ-06", "FLT-04")
def test_the_targets_subscriptions_filter_dead_letters_by_all_their_attributes() -> None:
    by_source = f'attributes.{SOURCE}Subscription = "sub"'
    mortal().play(
        (0, subscribe("mine", DEAD, filter=by_source)),
        (0, subscribe("not-mine", DEAD, filter=f"NOT {by_source}")),
        (0, publish("a")),
        (0, fail("a", 1, 5)),
        (0, pull(subscription="mine"), ["a#1"]),
        (0, undelivered("not-mine"), 0),
    )


@spec("DLQ-07", "DLQ-02")
def test_chains_overwrite_the_attributes() -> None:
    policy = {"dead_letter_topic": "projects/p/topics/last", "max_delivery_attempts": 6}
    story = mortal().play(
        (START_S, create_topic("last")),
        (START_S, subscribe("final", "last")),
        (START_S, update("morgue", dead_letter_policy=policy)),
        (START_S, publish("a", color="red")),
        (START_S, fail("a", 1, 5)),
        (START_S + 1, fail("a", 1, 6, MORGUE)),
        (START_S + 1, undelivered("morgue"), 0),
    )
    [copy] = buried(story, "projects/p/subscriptions/final")
    assert dict(copy.attributes) == {
        "color": "red",
        f"{SOURCE}DeliveryCount": "6",
        f"{SOURCE}Subscription": "morgue",
        f"{SOURCE}SubscriptionProject": "p",
        f"{SOURCE}TopicPublishTime": "2023-11-14T22:13:20.000+00:00",
    }


@spec("SUB-10", "DLQ-02")
def test_a_subscription_may_forward_to_its_own_topic() -> None:
    story = Story(dead_letter_policy={"dead_letter_topic": TOPIC}).play(
        (0, subscribe("two")),
        (0, publish("a")),
        (0, fail("a", 1, 5)),
        (0, pull(), ["a#1"]),
        (0, attempts("a#1"), [1]),
        (0, pull(subscription="two"), ["a#1", "a#1"]),
        (0, nack("a#1")),
        (0, fail("a", 2, 5)),
        (0, undelivered(), 1),
    )
    check_engine(story.engine)


# --- targets that are gone ---


@spec("DLQ-09")
def test_without_its_target_a_message_stays_and_is_counted_on() -> None:
    story = mortal().play(
        (0, publish("a")),
        (0, fail("a", 1, 3)),
        (0, delete_topic(DEAD)),
        (0, fail("a", 4, 6)),
        (0, pull(), ["a#7"]),
        (0, attempts("a#7"), [7]),
        (0, undelivered("morgue"), 0),
        (0, undelivered(), 1),
        (0, ack("a#7")),
        (0, undelivered(), 0),
    )
    check_engine(story.engine)


@spec("DLQ-09")
def test_a_deleted_target_is_shown_as_deleted_and_stays_so() -> None:
    story = mortal().play(
        (0, subscribe("other", DEAD, dead_letter_policy={"dead_letter_topic": TOPIC}))
    )

    def targets() -> list[str]:
        found = story.engine.subscriptions
        return [
            found.get(
                f"projects/p/subscriptions/{name}", now=0
            ).value.dead_letter_policy.dead_letter_topic
            for name in ("sub", "other")
        ]

    assert targets() == [DEAD, TOPIC]
    story.play((0, delete_topic(DEAD)))
    assert targets() == ["_deleted-topic_", TOPIC]
    story.play(
        (0, create_topic(DEAD)),
        (0, publish("a")),
        (0, fail("a", 1, 6)),
        (0, undelivered(), 1),
    )
    assert targets() == ["_deleted-topic_", TOPIC]
    morgue = story.engine.subscriptions.get(MORGUE, now=0).value
    assert not morgue.HasField("dead_letter_policy")


@spec("DLQ-09", "UPD-06")
def test_a_new_target_takes_at_the_next_failure_what_failed_too_often() -> None:
    mortal().play(
        (0, publish("a")),
        (0, delete_topic(DEAD)),
        (0, fail("a", 1, 7)),
        (0, create_topic("second")),
        (0, subscribe("grave", "second")),
        (0, update(dead_letter_policy={"dead_letter_topic": "projects/p/topics/second"})),
        (0, pull(subscription="grave"), []),
        (0, fail("a", 8, 8)),
        (0, pull(subscription="grave"), ["a#1"]),
        (0, undelivered(), 0),
    )


@spec("DLQ-09", "ORD-08")
def test_without_its_target_a_message_holds_its_key() -> None:
    mortal(enable_message_ordering=True).play(
        (0, publish("a", "b", key="k")),
        (0, delete_topic(DEAD)),
        (0, fail("a", 1, 6)),
        (0, pull(), ["a#7", "b#1"]),
    )


@spec("DLQ-09")
def test_a_target_deleted_between_the_failure_and_the_forwarding_loses_the_message() -> None:
    story = mortal().play((0, publish("a")), (0, fail("a", 1, 4)), (0, pull(), ["a#5"]))
    [effect] = story.engine.modify_ack_deadline(
        SUBSCRIPTION, [story.ack_id("a#5")], 0, now=0
    ).effects
    assert isinstance(effect, Forward)
    story.engine.topics.delete(DEAD, now=0)
    assert story.engine.forward(effect, now=0).effects == ()
    story.play((0, undelivered("morgue"), 0))


# --- policies that change ---


@spec("DLQ-11", "UPD-06")
def test_a_policy_added_later_counts_from_then() -> None:
    story = mortal().play(
        (0, update(dead_letter_policy=None)),
        (0, publish("a", "b")),
        (0, pull(), ["a#1", "b#1"]),
        (0, ack("b#1")),
        (0, nack("a#1")),
        (0, fail("a", 2, 7)),
        (0, pull(), ["a#8"]),
        (0, update(dead_letter_policy=POLICY)),
        (0, attempts("a#8"), [1]),
        (0, nack("a#8")),
        (0, pull(), ["a#9"]),
        (0, attempts("a#9"), [2]),
        (0, nack("a#9")),
        (0, fail("a", 10, 11)),
        (0, undelivered("morgue"), 0),
        (0, fail("a", 12, 12)),
    )
    [copy] = buried(story)
    assert copy.attributes[f"{SOURCE}DeliveryCount"] == "5"
    story.play((0, undelivered(), 0))


@spec("DLQ-11", "UPD-06")
def test_without_a_policy_attempts_are_not_told_and_nothing_is_forwarded() -> None:
    story = mortal().play(
        (0, publish("a")),
        (0, fail("a", 1, 4)),
        (0, update(dead_letter_policy=None)),
        (0, pull(), ["a#5"]),
        (0, attempts("a#5"), None),
    )
    story.play(
        (0, nack("a#5")),
        (0, fail("a", 6, 9)),
        (0, undelivered("morgue"), 0),
    )


@spec("DLQ-11", "UPD-06")
def test_a_policy_removed_and_added_again_counts_anew() -> None:
    mortal().play(
        (0, publish("a")),
        (0, fail("a", 1, 4)),
        (0, update(dead_letter_policy=None)),
        (0, update(dead_letter_policy=POLICY)),
        (0, pull(), ["a#5"]),
        (0, attempts("a#5"), [1]),
        (0, nack("a#5")),
        (0, fail("a", 6, 8)),
        (0, undelivered("morgue"), 0),
        (0, fail("a", 9, 9)),
        (0, undelivered("morgue"), 1),
    )


@spec("UPD-06", "DLQ-02")
def test_a_policy_that_is_changed_goes_on_counting() -> None:
    mortal(max_attempts=10).play(
        (0, publish("a", "b")),
        (0, pull(), ["a#1", "b#1"]),
        (0, ack("b#1")),
        (0, nack("a#1")),
        (0, fail("a", 2, 6)),
        (0, update(dead_letter_policy=POLICY | {"max_delivery_attempts": 8})),
        (0, fail("a", 7, 7)),
        (0, pull(), ["a#8"]),
        (0, attempts("a#8"), [8]),
        (0, update(dead_letter_policy=POLICY)),
        (0, undelivered(), 1),  # only a failure forwards
        (0, nack("a#8")),
        (0, undelivered(), 0),
        (0, undelivered("morgue"), 1),
    )


# --- with ordering ---


@spec("ORD-08", "DLQ-02", "DLQ-05")
def test_a_dead_letter_lets_its_key_go_on() -> None:
    story = mortal(enable_message_ordering=True).play(
        (0, publish("a", "b", "c", key="k")),
        (0, fail("a", 1, 4)),
        (0, pull(2), ["a#5", "b#1"]),
        (0, nack("a#5")),
        (0, pull(), []),  # b is still out
        (0, attempts("b#1"), [1]),
        (0, ack("b#1")),
        (0, pull(), ["c#1"]),
        (0, ack("c#1")),
        (0, undelivered(), 0),
    )
    backlog: Any = backlog_of(story.engine, SUBSCRIPTION)
    assert not backlog.lanes.by_key
    [copy] = buried(story)
    assert (copy.data, copy.ordering_key) == (b"a", "k")
    check_engine(story.engine)


@spec("ORD-08", "DLQ-02")
def test_the_last_of_a_key_leaves_nothing_when_it_dies() -> None:
    story = mortal(enable_message_ordering=True)
    story.play((0, publish("a", key="k")), (0, fail("a", 1, 5)), (0, undelivered(), 0))
    backlog: Any = backlog_of(story.engine, SUBSCRIPTION)
    assert not backlog.lanes.by_key
    check_engine(story.engine)


@spec("ORD-02", "ORD-08", "DLQ-02")
def test_a_dead_letter_does_not_come_again_with_one_before_it() -> None:
    story = mortal(enable_message_ordering=True).play(
        (0, publish("a", "b", "c", key="k")),
        (0, open_stream("s", deadline_s=600)),
        (0, receive("s"), ["a#1", "b#1", "c#1"]),
    )
    for attempt in range(1, 6):
        again = ["c#1"] if attempt == 5 else [f"b#{attempt + 1}", "c#1"]
        story.play((0, nack(f"b#{attempt}")), (0, receive("s"), again if attempt < 5 else []))
    story.play(
        (0, undelivered("morgue"), 1),
        (0, nack("a#1")),
        (0, receive("s"), ["a#2", "c#1"]),
    )
    check_engine(story.engine)


@spec("ORD-08", "DLQ-02")
def test_one_dies_and_others_of_its_key_only_fail() -> None:
    story = mortal(enable_message_ordering=True).play(
        (0, publish("a", "b", "c", key="k")),
        (0, fail("a", 1, 4)),
        (0, pull(), ["a#5", "b#1", "c#1"]),
        (0, nack("c#1", "b#1", "a#5")),
        (0, undelivered("morgue"), 1),
        (0, pull(), ["b#2", "c#2"]),
        (10, pull(), ["b#3", "c#3"]),
    )
    check_engine(story.engine)


@spec("ORD-08", "DLQ-02", "DLQ-01")
def test_a_whole_key_dies_together() -> None:
    story = mortal(enable_message_ordering=True).play((0, publish(*"abc", key="k")))
    for attempt in range(1, 6):
        labels = [f"{letter}#{attempt}" for letter in "abc"]
        story.play((attempt * 10, pull(), labels))
    story.play((60, undelivered(), 0))
    assert [message.data for message in buried(story)] == [b"a", b"b", b"c"]
    check_engine(story.engine)


# --- the strict profile ---

AGENT = "serviceAccount:service-123@gcp-sa-pubsub.iam.gserviceaccount.com"


def grant(resource: str, role: str, member: str = AGENT) -> Command:
    """Set a policy with that one binding."""
    policy = iam.Policy(bindings=[{"role": role, "members": ["user:x@example.com", member]}])

    def command(story: Story) -> None:
        story.engine.policies.set(resource, policy, now=story.now)

    return command


PUBLISHER = grant(DEAD, "roles/pubsub.publisher")
SUBSCRIBER = grant(SUBSCRIPTION, "roles/pubsub.subscriber")


@spec("DLQ-08")
@pytest.mark.parametrize(
    "grants",
    [
        [PUBLISHER, SUBSCRIBER],
        [grant(DEAD, "roles/pubsub.editor"), grant(SUBSCRIPTION, "roles/pubsub.admin")],
        [grant(DEAD, "roles/pubsub.admin"), grant(SUBSCRIPTION, "roles/pubsub.editor")],
    ],
)
def test_with_its_rights_the_agent_forwards(grants: list[Command]) -> None:
    story = mortal(is_strict=True).play(*((0, grant) for grant in grants))
    story.play((0, publish("a")), (0, fail("a", 1, 5)), (0, undelivered("morgue"), 1))


@spec("DLQ-08")
@pytest.mark.parametrize(
    "grants",
    [
        [],
        [PUBLISHER],
        [SUBSCRIBER],
        [grant(DEAD, "roles/pubsub.subscriber"), SUBSCRIBER],
        [PUBLISHER, grant(SUBSCRIPTION, "roles/pubsub.publisher")],
        [PUBLISHER, grant(SUBSCRIPTION, "roles/pubsub.viewer")],
        [grant(TOPIC, "roles/pubsub.publisher"), SUBSCRIBER],
        [grant(DEAD, "roles/pubsub.publisher", "user:agent@example.com"), SUBSCRIBER],
        [grant(DEAD, "roles/pubsub.publisher", AGENT + ".example.com"), SUBSCRIBER],
        [PUBLISHER, grant(SUBSCRIPTION, "roles/pubsub.subscriber", "group:" + AGENT)],
    ],
)
def test_without_its_rights_nothing_is_forwarded_and_attempts_count_on(
    grants: list[Command],
) -> None:
    story = mortal(is_strict=True).play(*((0, grant) for grant in grants))
    story.play(
        (0, publish("a")),
        (0, fail("a", 1, 6)),
        (0, pull(), ["a#7"]),
        (0, attempts("a#7"), [7]),
        (0, undelivered("morgue"), 0),
        (0, PUBLISHER),
        (0, SUBSCRIBER),
        (0, nack("a#7")),
        (0, undelivered("morgue"), 1),
        (0, undelivered(), 0),
    )


@spec("DLQ-08")
def test_the_relaxed_profile_takes_rights_for_granted() -> None:
    story = mortal().play((0, grant(DEAD, "roles/pubsub.viewer", "user:x@example.com")))
    story.play((0, publish("a")), (0, fail("a", 1, 5)), (0, undelivered("morgue"), 1))


# --- what a policy may be ---


def shown(story: Story) -> tuple[str, int]:
    policy = story.engine.subscriptions.get(SUBSCRIPTION, now=0).value.dead_letter_policy
    return policy.dead_letter_topic, policy.max_delivery_attempts


@spec("SUB-09", "UPD-06")
@pytest.mark.parametrize(("given", "used"), [(0, 5), (5, 5), (6, 6), (100, 100)])
def test_five_attempts_unless_said_otherwise(given: int, used: int) -> None:
    policy = POLICY | {"max_delivery_attempts": given}
    story = mortal(max_attempts=given)
    assert shown(story) == (DEAD, used)
    story.play((0, update(dead_letter_policy=None)), (0, update(dead_letter_policy=policy)))
    assert shown(story) == (DEAD, used)


BOUND = "The value for max_delivery_attempts is too {}. You passed {} in the request, but the {}."


@spec("SUB-09", "UPD-09", "ERR-24")
@pytest.mark.parametrize(
    ("given", "text"),
    [
        (-1, BOUND.format("small", -1, "minimum value is 5")),
        (1, BOUND.format("small", 1, "minimum value is 5")),
        (4, BOUND.format("small", 4, "minimum value is 5")),
        (101, BOUND.format("large", 101, "maximum value is 100")),
    ],
)
def test_other_numbers_of_attempts_are_refused(given: int, text: str) -> None:
    policy = POLICY | {"max_delivery_attempts": given}
    story = mortal(max_attempts=7).play(
        (0, subscribe("two", dead_letter_policy=policy), invalid(text)),
        (0, update(dead_letter_policy=policy), invalid(text)),
    )
    assert shown(story) == (DEAD, 7)


@spec("SUB-09", "UPD-09", "ERR-01", "ERR-02")
@pytest.mark.parametrize("given", ["", "dead", "projects/p/subscriptions/sub", "_deleted-topic_"])
def test_a_target_needs_a_topics_name(given: str) -> None:
    story = mortal()
    policy = {"dead_letter_topic": given, "max_delivery_attempts": 9}
    for command in (
        subscribe("two", dead_letter_policy=policy),
        update(dead_letter_policy=policy),
    ):
        refusal = refusal_of(lambda command=command: command(story))
        assert refusal is not None
        assert refusal.code == "INVALID_ARGUMENT"
        assert refusal.text.startswith(f"Invalid resource name given (name={given}).")
    assert shown(story) == (DEAD, 5)


@spec("SUB-09", "UPD-09", "ERR-02")
def test_a_target_must_exist() -> None:
    policy = {"dead_letter_topic": "projects/p/topics/none"}
    story = mortal().play(
        (0, subscribe("two", dead_letter_policy=policy), not_found("none")),
        (0, update(dead_letter_policy=policy), not_found("none")),
        (0, publish("a")),
        (0, fail("a", 1, 5)),
        (0, undelivered("morgue"), 1),
    )
    assert shown(story) == (DEAD, 5)


@spec("UPD-06", "DLQ-09")
def test_other_fields_can_be_changed_while_the_target_is_gone() -> None:
    story = mortal().play((0, delete_topic(DEAD)), (0, update(ack_deadline_seconds=20)))
    assert shown(story) == ("_deleted-topic_", 5)


@spec("UPD-10", "UPD-06")
def test_the_attempts_alone_can_be_changed() -> None:
    story = mortal()
    given = pubsub.Subscription(name=SUBSCRIPTION, dead_letter_policy={"max_delivery_attempts": 6})
    paths = ["dead_letter_policy.max_delivery_attempts"]
    story.engine.subscriptions.update(given, paths, now=0)
    assert shown(story) == (DEAD, 6)
    story.play((0, publish("a")), (0, fail("a", 1, 6)), (0, undelivered("morgue"), 1))
