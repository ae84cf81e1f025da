"""How many elements a request may have: what is refused before it is decoded, and at what cost."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.api import iam, pubsub
from emulator.engine.values.errors import InvalidArgument
from emulator.service import request_limits
from emulator.service.request_limits import EncodedCount, check_encoded
from emulator.transport.grpc_codec import decode
from tests.spec import spec

MEGABYTE = 1_000_000


def length(size: int) -> bytes:
    encoded = bytearray()
    while size > 0x7F:
        encoded.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*encoded, size])


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + length(len(content)) + content


def too_large(name: str, given: object, most: int) -> str:
    return (
        f"The value for {name} is too large. You passed {given} in the request, but the maximum "
        f"value is {most}."
    )


EMPTY = b"\x00"
TOPIC = field(1, b"projects/p/topics/t")
ENTRY = field(1, b"k") + field(2, b"v")
HEAVY: list[tuple[str, Any, bytes, str]] = [
    (
        "messages",
        pubsub.PublishRequest,
        TOPIC + (b"\x12" + EMPTY) * 3_500_000,
        too_large("message_count", "more than 1000", 1_000),
    ),
    (
        "messages whose tags are longer than they need be",
        pubsub.PublishRequest,
        TOPIC + (b"\x92\x00" + EMPTY) * 3_000_000,
        too_large("message_count", "more than 1000", 1_000),
    ),
    (
        "attributes of one message",
        pubsub.PublishRequest,
        TOPIC + field(2, field(2, ENTRY) * MEGABYTE),
        too_large("attribute_count", "more than 100", 100),
    ),
    (
        "attributes of many messages",
        pubsub.PublishRequest,
        TOPIC + field(2, (b"\x12" + EMPTY) * 4_500) * 1_000,
        too_large("attribute_count", 4_500, 100),
    ),
    (
        "ids of a stream",
        pubsub.StreamingPullRequest,
        field(2, b"") * MEGABYTE,
        too_large("ack_ids", "more than 30000", 30_000),
    ),
    (
        "ids to modify of a stream",
        pubsub.StreamingPullRequest,
        field(4, b"id") * MEGABYTE,
        too_large("modify_deadline_ack_ids", "more than 30000", 30_000),
    ),
    (
        "labels",
        pubsub.Topic,
        field(2, ENTRY) * MEGABYTE,
        too_large("labels", "more than 64", 64),
    ),
    (
        "bindings",
        iam.SetIamPolicyRequest,
        field(2, field(4, b"") * 700_000),
        too_large("bindings", "more than 1500", 1_500),
    ),
    (
        "members",
        iam.SetIamPolicyRequest,
        field(2, field(4, field(2, b"a") * 700_000)),
        "The number of members in the policy (more than 1500) is larger than the maximum allowed "
        "size 1,500.",
    ),
    (
        "paths",
        pubsub.UpdateTopicRequest,
        field(2, field(1, b"labels") * MEGABYTE),
        too_large("paths", "more than 1000", 1_000),
    ),
    (
        "permissions",
        iam.TestIamPermissionsRequest,
        field(2, b"") * MEGABYTE,
        too_large("permissions", "more than 1000", 1_000),
    ),
    (
        "fields that nobody knows",
        pubsub.Topic,
        b"\x98\x06\x01" * MEGABYTE,
        too_large("element_count", "more than 20000", 20_000),
    ),
    (
        "groups that nobody knows, then messages",
        pubsub.PublishRequest,
        b"\x9b\x06\x9c\x06" * 10_000 + (b"\x12" + EMPTY) * 3_000_000,
        too_large("message_count", "more than 1000", 1_000),
    ),
]


@spec("PUB-20", "PUB-24", "LBL-01", "ERR-51", "ERR-55")
@pytest.mark.parametrize(
    ("request_class", "encoded", "text"),
    [case[1:] for case in HEAVY],
    ids=[case[0] for case in HEAVY],
)
def test_what_has_too_many_parts_is_refused_early(
    request_class: Any, encoded: bytes, text: str
) -> None:
    counting = EncodedCount(encoded, request_class.DESCRIPTOR)
    with pytest.raises(InvalidArgument) as caught:
        counting.check()
    assert caught.value.message == text
    assert counting.steps <= 41_000  # of millions


class Untouched:
    """A request that must not be decoded."""

    DESCRIPTOR = pubsub.PublishRequest.DESCRIPTOR

    @staticmethod
    def FromString(encoded: bytes) -> None:
        raise AssertionError("it was decoded")


def test_what_is_refused_early_is_not_decoded() -> None:
    with pytest.raises(InvalidArgument):
        decode(Untouched, (b"\x12" + EMPTY) * 2_000_000)  # type: ignore[type-var]


@spec("ERR-51")
@pytest.mark.parametrize("count", [1_001, 10_000])
def test_a_little_too_many_are_counted(count: int) -> None:
    request = pubsub.PublishRequest(messages=[pubsub.PubsubMessage(data=b"x" * 300)] * count)
    with pytest.raises(InvalidArgument) as caught:
        EncodedCount(request.SerializeToString(), request.DESCRIPTOR).check()
    assert caught.value.message == too_large("message_count", count, 1_000)


@spec("DLV-27", "ERR-14")
@pytest.mark.parametrize(
    "request_class", [pubsub.AcknowledgeRequest, pubsub.ModifyAckDeadlineRequest]
)
def test_acks_have_a_size(request_class: Any) -> None:
    check_encoded(request_class, field(2, b"x" * 524_284))
    with pytest.raises(InvalidArgument) as caught:
        check_encoded(request_class, field(2, b"x" * 524_285))
    assert caught.value.message == "Request payload size exceeds the limit: 524288 bytes."


def largest_publish() -> pubsub.PublishRequest:
    attributes = {f"{number:02}": "" for number in range(100)}
    return pubsub.PublishRequest(
        topic="projects/p/topics/t",
        messages=[pubsub.PubsubMessage(data=b"x", attributes=attributes)] * 1_000,
    )


VALID = [
    largest_publish(),
    pubsub.PublishRequest(messages=[pubsub.PubsubMessage(data=b"\x12\x00" * 4_990)] * 1_000),
    pubsub.PublishRequest(messages=[pubsub.PubsubMessage(data=b"\x12" * 9_999_900)]),
    pubsub.StreamingPullRequest(
        ack_ids=["x" * 30] * 10_000,
        modify_deadline_ack_ids=["y" * 30] * 10_000,
        modify_deadline_seconds=[10] * 10_000,
    ),
    pubsub.AcknowledgeRequest(ack_ids=["x" * 30] * 16_000),
    iam.SetIamPolicyRequest(
        policy=iam.Policy(bindings=[iam.Binding(role="r", members=["user:a@b.example"])] * 1_500)
    ),
    pubsub.Topic(labels={f"k{number}": "v" * 63 for number in range(64)}, name="x" * 20_000),
]


@pytest.mark.parametrize("request_message", VALID)
def test_what_is_valid_passes(request_message: Any) -> None:
    encoded = request_message.SerializeToString()
    counting = EncodedCount(encoded, request_message.DESCRIPTOR)
    counting.check()
    assert decode(type(request_message), encoded) == request_message


def test_payloads_are_not_looked_into() -> None:
    """A large message costs a step for itself and one for its data."""
    request = pubsub.PublishRequest(messages=[pubsub.PubsubMessage(data=b"\x12" * 9_000)] * 1_000)
    counting = EncodedCount(request.SerializeToString(), request.DESCRIPTOR)
    counting.check()
    assert counting.steps == 2_000


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the requests that were looked into."""
    sizes: list[int] = []

    class Counting(EncodedCount):
        def check(self) -> None:
            sizes.append(len(self._encoded))

    monkeypatch.setattr(request_limits, "EncodedCount", Counting)
    return sizes


@pytest.mark.parametrize(
    ("request_class", "size"),
    [
        (pubsub.AcknowledgeRequest, 262_144),
        (pubsub.StreamingPullRequest, 262_144),
        (pubsub.Topic, 16_384),
    ],
)
def test_small_requests_are_not_looked_into(
    looked: list[int], request_class: Any, size: int
) -> None:
    check_encoded(request_class, bytes(size))
    assert looked == []
    check_encoded(request_class, bytes(size + 1))
    assert looked == [size + 1]


def test_a_publish_is_looked_into_only_if_it_is_large_and_dense(looked: list[int]) -> None:
    message = pubsub.PubsubMessage(data=b"\x12\x92" * 100 + b"x" * 8_000, attributes={"a": "b"})
    check_encoded(pubsub.PublishRequest, b"\x12\x00" * 524_288)
    check_encoded(
        pubsub.PublishRequest, pubsub.PublishRequest(messages=[message] * 300).SerializeToString()
    )
    assert looked == []
    for dense in (b"\x12\x00", b"\x92\x00"):
        check_encoded(pubsub.PublishRequest, dense * 524_289)
    assert looked == [1_048_578] * 2


@pytest.mark.parametrize(
    "encoded",
    [
        b"\x92" * 3_000_000,
        b"\x12" + b"\xff\xff\xff\x7f" + b"x" * 300_000,  # longer than what there is
        field(1, b"x" * 300_000)[:-1],
        b"\x12\x80" * 3_000_000,
        b"\x12\xff" * 3_000_000,
        b"\x12\x05\x12\xff\xff\xff\x7f" + b"\x00" * 3_000_000,
    ],
)
def test_what_is_no_request_is_left_to_the_decoder(encoded: bytes) -> None:
    with pytest.raises(InvalidArgument):
        decode(pubsub.PublishRequest, encoded)
