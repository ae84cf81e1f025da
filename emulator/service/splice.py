"""Responses put together from encoded messages, without decoding a single one."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.api import pubsub
from emulator.engine.delivery.leases import Lease
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
    leases: Iterable[Lease],
    properties: Properties,
    *,
    is_attempt_shown: bool = False,
) -> bytes:
    """The encoded `StreamingPullResponse`; its messages stand as those of a `PullResponse`."""
    return pull_response(leases, is_attempt_shown=is_attempt_shown) + _PROPERTIES[properties]


def pull_response(leases: Iterable[Lease], *, is_attempt_shown: bool) -> bytes:
    """The encoded `PullResponse` that hands out `leases` (PUL-05).

    `is_attempt_shown`: it says which attempt each of them is (DLQ-01).
    """
    if is_attempt_shown:
        return _with_attempts(leases)
    parts: list[bytes] = []
    for ack_id, stored, _ in leases:
        message = stored.encoded
        head = _head(ack_id, len(message))
        parts += (_RECEIVED_MESSAGES, length(len(head) + len(message)), head, message)
    return b"".join(parts)


def _with_attempts(leases: Iterable[Lease]) -> bytes:
    parts: list[bytes] = []
    for ack_id, stored, attempt in leases:
        message = stored.encoded
        head = _head(ack_id, len(message))
        tail = _DELIVERY_ATTEMPT + length(attempt)
        size = len(head) + len(message) + len(tail)
        parts += (_RECEIVED_MESSAGES, length(size), head, message, tail)
    return b"".join(parts)


def _head(ack_id: str, size_bytes: int) -> bytes:
    """What stands in a `ReceivedMessage` before its message's own bytes."""
    encoded = ack_id.encode()
    return b"%b%b%b%b%b" % (_ACK_ID, length(len(encoded)), encoded, _MESSAGE, length(size_bytes))
