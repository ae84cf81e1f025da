"""Responses put together from encoded messages, without decoding a single one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from emulator.api import pubsub
from emulator.engine.delivery.delivery import Delivery
from emulator.engine.operations.holders import Properties

_RECEIVED_MESSAGES = b"\x0a"  # PullResponse.received_messages
_ACK_ID = b"\x0a"  # ReceivedMessage.ack_id
_MESSAGE = b"\x12"  # ReceivedMessage.message
_DELIVERY_ATTEMPT = b"\x18"  # ReceivedMessage.delivery_attempt


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


_SMALL = tuple(_varint(number) for number in range(1 << 14))


def length(number: int) -> bytes:
    """A length as it stands before a field's content."""
    return _SMALL[number] if number < 1 << 14 else _varint(number)


def _encoded(properties: Properties) -> bytes:
    return pubsub.StreamingPullResponse(
        subscription_properties={
            "exactly_once_delivery_enabled": properties.is_exactly_once,
            "message_ordering_enabled": properties.is_ordered,
        }
    ).SerializeToString()


#: What every response of a stream says of its subscription, encoded (STR-06).
_PROPERTIES = {
    properties: _encoded(properties)
    for properties in (Properties(once, order) for once in (False, True) for order in (False, True))
}


def streaming_pull_response(
    deliveries: Iterable[Delivery],
    attempts: Sequence[int] | None,
    properties: Properties,
) -> bytes:
    """The encoded `StreamingPullResponse`; its messages stand as those of a `PullResponse`."""
    return pull_response(deliveries, attempts) + _PROPERTIES[properties]


def pull_response(deliveries: Iterable[Delivery], attempts: Sequence[int] | None) -> bytes:
    """The encoded `PullResponse` that hands out `deliveries` (PUL-05).

    `attempts` says which attempt each of them is, where that is counted (DLQ-01).
    """
    if attempts is not None:
        return _with_attempts(deliveries, attempts)
    parts: list[bytes] = []
    for delivery in deliveries:
        head, message = _head(delivery), delivery.message.encoded
        parts += (_RECEIVED_MESSAGES, length(len(head) + len(message)), head, message)
    return b"".join(parts)


def _with_attempts(deliveries: Iterable[Delivery], attempts: Sequence[int]) -> bytes:
    parts: list[bytes] = []
    for delivery, attempt in zip(deliveries, attempts, strict=True):
        head, message = _head(delivery), delivery.message.encoded
        tail = _DELIVERY_ATTEMPT + length(attempt)
        size = len(head) + len(message) + len(tail)
        parts += (_RECEIVED_MESSAGES, length(size), head, message, tail)
    return b"".join(parts)


def _head(delivery: Delivery) -> bytes:
    """What stands in a `ReceivedMessage` before its message's own bytes."""
    ack_id, size = delivery.ack_id.encode(), len(delivery.message.encoded)
    return b"%b%b%b%b%b" % (_ACK_ID, length(len(ack_id)), ack_id, _MESSAGE, length(size))
