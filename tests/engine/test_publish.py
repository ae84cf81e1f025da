"""Publish: what is taken, what is refused and in which words, and what a message becomes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import pytest

from emulator.api import pubsub
from emulator.engine.delivery.outcome import Available, Effect, Fired, Outcome
from emulator.engine.engine import Engine
from emulator.engine.log.message_ids import message_id
from tests.engine.story import (
    SECOND_US,
    SUBSCRIPTION,
    TOPIC,
    Refusal,
    Story,
    invalid,
    message_of,
    not_found,
    publish,
    pull,
    refusal_of,
    subscribe,
)
from tests.spec import spec

Messages = list[pubsub.PubsubMessage]
Message = pubsub.PubsubMessage

GOOD = Message(data=b"good")
EMPTY = invalid(
    "One or more messages in the publish request is empty. Each message must contain either "
    "non-empty data, or at least one attribute."
)
MIXED_KEYS = Refusal(
    "FAILED_PRECONDITION",
    "In a single publish request, all messages must have no ordering key or they must all have "
    "the same ordering key. [code=539b]",
)
NAME_HINT = (
    "Refer to https://cloud.google.com/pubsub/docs/pubsub-basics#resource_names for more "
    "information."
)


def too_large(what: str, given: int, maximum: int) -> Refusal:
    return invalid(
        f"The value for {what} is too large. You passed {given} in the request, but the maximum "
        f"value is {maximum}."
    )


def long_attribute(key: str, part: str, length: int, limit: int) -> Refusal:
    return invalid(
        f'The attribute "{key}" in the request has a {part} that is too long. The length is '
        f"{length} characters, but the maximum allowed is {limit}. Refer to "
        "https://cloud.google.com/pubsub/quotas for more information."
    )


def bad_key(key: str) -> Refusal:
    return invalid(
        f"The request contains an attribute key that is not valid (key={key}). Attribute keys "
        "must be non-empty and must not begin with 'goog' (case-insensitive)."
    )


def with_attributes(**attributes: str) -> Message:
    return Message(attributes=attributes)


def request_of(messages: Messages, topic: str = TOPIC) -> pubsub.PublishRequest:
    return pubsub.PublishRequest(topic=topic, messages=messages)


def send(engine: Engine, request: pubsub.PublishRequest, now: int = 0) -> list[str]:
    return engine.publish(request, request.SerializeToString(), now=now).value


def received(engine: Engine, now: int = 0) -> Messages:
    return [message_of(d) for d in engine.lease(SUBSCRIPTION, 1_000, now=now).value]


def of_request_size(size_bytes: int) -> pubsub.PublishRequest:
    """A request of one message that has exactly `size_bytes` bytes."""
    framing = request_of([Message(data=b"x" * 9_000_000)]).ByteSize() - 9_000_000
    request = request_of([Message(data=b"x" * (size_bytes - framing))])
    assert request.ByteSize() == size_bytes
    return request


def in_bytes(count: int, character: str) -> str:
    """Text of `count` bytes of UTF-8, as much of it as can be in `character`."""
    width = len(character.encode())
    return character * (count // width) + "x" * (count % width)


CHARACTERS = ["a", "é", "€", "🐘"]  # one to four bytes each
CLIENT_KEYS = [
    "googclient_traceparent",
    "googclient_tracestate",
    "googclient_OpenCensusTraceContextKey",
    "googclient_OpenCensusTagContextKey",
    "googclient_OpenTelemetrySpanContext",
]

ACCEPTED: list[tuple[str, Messages]] = [
    ("data alone", [Message(data=b"x")]),
    ("one attribute alone", [with_attributes(k="")]),
    ("1 message", [GOOD]),
    ("1000 messages", [GOOD] * 1_000),
    ("100 attributes", [Message(attributes={f"k{n}": "" for n in range(100)})]),
    *((f"key of 256 bytes of {c}", [Message(attributes={in_bytes(256, c): "v"})])
      for c in CHARACTERS),
    *((f"value of 1024 bytes of {c}", [with_attributes(k=in_bytes(1_024, c))])
      for c in CHARACTERS),
    *((f"ordering key of 1024 bytes of {c}",
       [Message(data=b"x", ordering_key=in_bytes(1_024, c))]) for c in CHARACTERS),
    *((f"key {key}", [Message(attributes={key: "v"})])
      for key in ["goo", "go", "g", "xgoog", "gooXfoo", "_goog", *CLIENT_KEYS]),
    ("one ordering key for all", [Message(data=b"x", ordering_key="k")] * 3),
]  # fmt: skip

REFUSED: list[tuple[str, Messages, Refusal]] = [
    ("no messages", [], invalid(
        "The value for message_count is too small. You passed 0 in the request, but the minimum "
        "value is 1.")),
    ("1001 messages", [GOOD] * 1_001, too_large("message_count", 1_001, 1_000)),
    ("an empty message", [Message()], EMPTY),
    ("an ordering key alone", [Message(ordering_key="k")], EMPTY),
    ("id and time alone", [Message(message_id="1", publish_time={"seconds": 1})], EMPTY),
    ("101 attributes", [Message(attributes={f"k{n}": "" for n in range(101)})],
     too_large("attribute_count", 101, 100)),
    *((f"key of 257 bytes of {c}", [Message(attributes={in_bytes(257, c): "v"})],
       long_attribute("", "key", 257, 256)) for c in CHARACTERS),
    *((f"value of 1025 bytes of {c}", [with_attributes(k=in_bytes(1_025, c))],
       long_attribute("k", "value", 1_025, 1_024)) for c in CHARACTERS),
    *((f"ordering key of 1025 bytes of {c}",
       [Message(data=b"x", ordering_key=in_bytes(1_025, c))],
       too_large("ordering_key length", 1_025, 1_024)) for c in CHARACTERS),
    *((f"key {key!r}", [Message(attributes={key: "v"})], bad_key(key))
      for key in ["", "goog", "GOOG", "GooGle", "googclient_", "googclient_deliveryattempt",
                  "googclient_x-cloud-trace-context", "googclient_schemaname",
                  "GOOGCLIENT_TRACEPARENT", "googclient_traceparent2"]),
    ("an empty key beside data", [Message(data=b"x", attributes={"": "v"})], bad_key("")),
    ("two ordering keys", [Message(data=b"x", ordering_key=k) for k in "aab"], MIXED_KEYS),
    ("a key and none", [Message(data=b"x", ordering_key="a"), GOOD], MIXED_KEYS),
    ("none and a key", [GOOD, Message(data=b"x", ordering_key="a")], MIXED_KEYS),
]  # fmt: skip


@spec("PUB-01", "PUB-04", "PUB-20", "PUB-24", "PUB-25", "PUB-26", "PUB-27", "PUB-28", "PUB-29")
@spec("PUB-42")
@pytest.mark.parametrize("messages", [pytest.param(m, id=name) for name, m in ACCEPTED])
def test_accepted(messages: Messages) -> None:
    story = Story()
    ids = send(story.engine, request_of(messages))
    got = received(story.engine)
    assert [m.message_id for m in got] == ids
    assert [(m.data, dict(m.attributes), m.ordering_key) for m in got] == [
        (m.data, dict(m.attributes), m.ordering_key) for m in messages
    ]


@spec("PUB-03", "PUB-04", "PUB-05", "PUB-20", "PUB-24", "PUB-25", "PUB-26", "PUB-27", "PUB-28")
@spec("PUB-29", "PUB-40", "ERR-50", "ERR-51", "ERR-52", "ERR-55", "ERR-56", "ERR-57", "ERR-58")
@pytest.mark.parametrize(
    ("messages", "expected"), [pytest.param(m, r, id=name) for name, m, r in REFUSED]
)
def test_refused_whole(messages: Messages, expected: Refusal) -> None:
    story = Story()
    assert refusal_of(lambda: send(story.engine, request_of(messages))) == expected
    assert received(story.engine) == []
    assert send(story.engine, request_of([GOOD])) == [message_id(0).decode()]


@spec("PUB-03")
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_bad_message_refuses_all(place: int) -> None:
    messages = [GOOD] * 2
    messages.insert(place, Message())
    story = Story()
    assert refusal_of(lambda: send(story.engine, request_of(messages))) == EMPTY
    story.play((0, pull(), []))


@spec("PUB-21", "PUB-23", "PUB-30", "ERR-53")
@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [
        (10_000_000, None),
        (10_000_001, too_large("request_size", 10_000_001, 10_000_000)),
        (10_485_760, too_large("request_size", 10_485_760, 10_000_000)),
    ],
)
def test_a_request_may_have_ten_million_bytes(size_bytes: int, expected: Refusal | None) -> None:
    story = Story()
    request = of_request_size(size_bytes)
    assert refusal_of(lambda: send(story.engine, request)) == expected
    assert len(received(story.engine)) == (expected is None)


@spec("ERR-90", "PUB-02", "TOP-13")
@pytest.mark.parametrize(
    ("topic", "messages", "expected"),
    [
        ("projects/p/topics/none", [GOOD], not_found("none")),
        ("projects/p/topics/none", [GOOD] * 1_001, too_large("message_count", 1_001, 1_000)),
        ("projects/p/topics/none", [Message()], not_found("none")),
        (
            "projects/p/topics/x",
            [],
            invalid(f"Invalid resource name given (name=projects/p/topics/x). {NAME_HINT}"),
        ),
        (
            SUBSCRIPTION,
            [GOOD],
            invalid(f"Invalid resource name given (name={SUBSCRIPTION}). {NAME_HINT}"),
        ),
    ],
)
def test_names_come_before_sizes_before_existence_before_values(
    topic: str, messages: Messages, expected: Refusal
) -> None:
    assert refusal_of(lambda: send(Story().engine, request_of(messages, topic))) == expected


@spec("PUB-06")
def test_a_forged_id_and_time_are_replaced() -> None:
    story = Story()
    forged = Message(
        data=b"x", attributes={"k": "v"}, ordering_key="o", message_id="7", publish_time=None
    )
    forged.publish_time.FromNanoseconds(9_000_000_007)
    only_time = Message(data=b"y", ordering_key="o")
    only_time.publish_time.FromNanoseconds(7)
    ids = send(story.engine, request_of([forged, only_time]), now=1_234 * SECOND_US)
    first, second = received(story.engine, now=1_234 * SECOND_US)
    assert [first.message_id, second.message_id] == ids
    assert "7" not in ids
    times = [message.publish_time.ToNanoseconds() for message in (first, second)]
    assert times == [1_234 * 10**9] * 2
    assert (first.data, dict(first.attributes), first.ordering_key) == (b"x", {"k": "v"}, "o")


@spec("PUB-06")
def test_a_message_is_stored_with_one_id_and_one_time_on_the_wire() -> None:
    story = Story()
    forged = Message(data=b"x", message_id="1" * 500)
    send(story.engine, request_of([forged]))
    [delivery] = story.engine.lease(SUBSCRIPTION, 1, now=0).value
    assert len(delivery.message.encoded) < 40
    assert message_of(delivery).SerializeToString() == delivery.message.encoded


@spec("PUB-07")
def test_message_ids_are_sixteen_digits_unique_and_not_in_order() -> None:
    numbers = range(100_000)
    ids = [message_id(n).decode() for n in numbers]
    assert all(re.fullmatch(r"[1-9]\d{15}", text) for text in ids)
    assert len(set(ids)) == len(ids)
    rising = sum(a < b for a, b in itertools.pairwise(ids))
    assert 0.2 < rising / len(ids) < 0.8
    assert not any(int(b) - int(a) == 1 for a, b in itertools.pairwise(ids))


@spec("PUB-07", "GEN-01")
def test_the_same_commands_give_the_same_ids() -> None:
    def ids() -> list[str]:
        engine = Story().engine
        return [i for _ in range(3) for i in send(engine, request_of([GOOD, GOOD]))]

    assert ids() == ids()


@spec("PUB-09", "PUB-07")
def test_equal_messages_are_two_messages_even_on_two_topics() -> None:
    story = Story()
    other = "projects/q/topics/other"
    story.engine.topics.create(pubsub.Topic(name=other), now=0)
    ids = send(story.engine, request_of([GOOD, GOOD]))
    ids += send(story.engine, request_of([GOOD]))
    ids += send(story.engine, request_of([GOOD], other))
    assert len(set(ids)) == 4
    assert len(received(story.engine)) == 3


@spec("PUB-07")
def test_ids_are_not_used_again_after_a_reset() -> None:
    story = Story()
    before = send(story.engine, request_of([GOOD] * 10))
    story.engine.reset(nonce=b"another", now=0)
    story.engine.topics.create(pubsub.Topic(name=TOPIC), now=0)
    assert set(before).isdisjoint(send(story.engine, request_of([GOOD] * 10)))


@spec("PUB-08")
def test_publish_time_is_in_milliseconds_and_the_same_for_all() -> None:
    story = Story().play((0, subscribe("two")))
    now = 1_700_000_000_123_987
    send(story.engine, request_of([GOOD, GOOD]), now=now)
    times = [
        (message.publish_time.seconds, message.publish_time.nanos)
        for name in (SUBSCRIPTION, "projects/p/subscriptions/two")
        for message in map(message_of, story.engine.lease(name, 9, now=now).value)
    ]
    assert times == [(1_700_000_000, 123_000_000)] * 4


@spec("PUB-08")
def test_publish_time_never_goes_back_on_a_topic() -> None:
    story = Story()
    other = "projects/p/topics/other"
    story.engine.topics.create(pubsub.Topic(name=other), now=0)
    for now_ms, topic in [(5_000, TOPIC), (4_000, TOPIC), (4_500, other), (6_000, TOPIC)]:
        send(story.engine, request_of([GOOD], topic), now=now_ms * 1_000)
    seconds = [m.publish_time.ToMilliseconds() for m in received(story.engine)]
    assert seconds == [5_000, 5_000, 6_000]


@spec("PUB-10")
@pytest.mark.parametrize(
    "message",
    [
        Message(data=bytes(range(256))),
        Message(data=b"\xff\xfe\x00"),
        Message(data=b"x" * 100_000, attributes={"ключ": "значение", "🐘": ""}),
        Message(data=b'{"json": true}', ordering_key="ключ 🐘"),
    ],
)
def test_content_is_opaque(message: Message) -> None:
    story = Story()
    [new_id] = send(story.engine, request_of([message]))
    [got] = received(story.engine)
    got.ClearField("publish_time")
    assert got == Message(
        data=message.data,
        attributes=message.attributes,
        ordering_key=message.ordering_key,
        message_id=new_id,
    )


@spec("PUB-41", "PUB-01", "PUB-42")
def test_messages_of_one_key_keep_the_order_of_requests_and_within_them() -> None:
    story = Story()
    batches = [["a", "b"], ["c"], ["d", "e", "f"]]
    for batch in batches:
        send(
            story.engine,
            request_of([Message(data=text.encode(), ordering_key="k") for text in batch]),
        )
    got = received(story.engine)
    assert [m.data.decode() for m in got] == list("abcdef")
    assert {m.ordering_key for m in got} == {"k"}


@spec("TOP-14", "TOP-15")
def test_without_subscriptions_messages_are_accepted_and_discarded() -> None:
    story = Story(is_empty=True)
    story.engine.topics.create(pubsub.Topic(name=TOPIC), now=0)
    assert len(send(story.engine, request_of([GOOD] * 5))) == 5
    story.play((0, subscribe()), (0, pull(), []))


@spec("NAM-02", "NAM-04")
def test_the_topic_that_is_named_gets_the_message() -> None:
    Story().play(
        (0, publish("to top")),
        (0, pull(), ["to top#1"]),
        (0, publish("nowhere", topic="other"), not_found("other")),
    )


@spec("TOP-15")
def test_publish_wakes_each_subscription_of_the_topic() -> None:
    story = Story().play((0, subscribe("two")), (0, subscribe("projects/q/subscriptions/far")))
    request = request_of([GOOD])
    outcome = story.engine.publish(request, request.SerializeToString(), now=0)
    assert set(outcome.effects) == {
        Available(SUBSCRIPTION),
        Available("projects/p/subscriptions/two"),
        Available("projects/q/subscriptions/far"),
    }


@spec("TOP-15")
@pytest.mark.parametrize(
    ("settle", "fired"),
    [
        (lambda engine, ack_id: engine.modify_ack_deadline(SUBSCRIPTION, [ack_id], 0, now=0), ()),
        (
            lambda engine, _: engine.tick("p", now=10 * SECOND_US),
            (Fired(10 * SECOND_US, "ack deadline", SUBSCRIPTION, 1),),
        ),
    ],
    ids=["nack", "deadline"],
)
def test_a_lease_that_ends_wakes_its_subscription(
    settle: Callable[[Engine, str], Outcome[object]], fired: tuple[Effect, ...]
) -> None:
    story = Story().play((0, publish("a")))
    [delivery] = story.engine.lease(SUBSCRIPTION, 1, now=0).value
    assert settle(story.engine, delivery.ack_id).effects == (Available(SUBSCRIPTION), *fired)
