"""Publish: what a request must be, and how its messages come into the log (PUB-*).

This is the hottest code of the house. A message is encoded once, by appending the server's two
fields to the bytes that the client sent; nothing is copied field by field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from emulator.api import pubsub
from emulator.api.raw import RawPublishRequest
from emulator.api.wkt import Timestamp
from emulator.engine.log.message_ids import message_id
from emulator.engine.log.message_log import Message
from emulator.engine.values import durations, errors, limits

_MESSAGE_ID_TAG = b"\x1a\x10"  # PubsubMessage.message_id, sixteen bytes
_PUBLISH_TIME_TAG = b"\x22"  # PubsubMessage.publish_time, length to follow
_MILLISECOND_US = 1_000


def check_sizes(request: pubsub.PublishRequest, size_bytes: int) -> None:
    """Raise for what the service refuses before it looks for the topic (ERR-90, PUB-05, 20, 21)."""
    if size_bytes > limits.PUBLISH_REQUEST_BYTES:
        raise errors.too_large("request_size", size_bytes, limits.PUBLISH_REQUEST_BYTES)
    count = len(request.messages)
    if count == 0:
        raise errors.too_small("message_count", 0, 1)
    if count > limits.MESSAGES_PER_PUBLISH:
        raise errors.too_large("message_count", count, limits.MESSAGES_PER_PUBLISH)


def encoded_messages(request: pubsub.PublishRequest, encoded_request: bytes) -> list[bytes]:
    """Check every message and return the encoded ones, without ids and times (PUB-03, PUB-06).

    Raises INVALID_ARGUMENT or FAILED_PRECONDITION for the first message that the service refuses.
    """
    messages = request.messages
    encoded = list(RawPublishRequest.FromString(encoded_request).messages)
    ordering_key = messages[0].ordering_key
    if len(ordering_key) > limits.ORDERING_KEY_BYTES // 4:
        _check_ordering_key(ordering_key)
    # A character has at most four bytes, so short texts need no measuring.
    short_key, short_value = limits.ATTRIBUTE_KEY_BYTES // 4, limits.ATTRIBUTE_VALUE_BYTES // 4
    for index, message in enumerate(messages):
        attributes = message.attributes
        if attributes:
            _check_attributes(attributes, short_key, short_value)
        elif not message.data:
            raise errors.empty_message()
        if message.ordering_key != ordering_key:
            raise errors.mixed_ordering_keys()
        if message.message_id or message.HasField("publish_time"):
            encoded[index] = _without_server_fields(message)
    return encoded


def _check_ordering_key(ordering_key: str) -> None:
    length = len(ordering_key.encode())
    if length > limits.ORDERING_KEY_BYTES:
        raise errors.too_large("ordering_key length", length, limits.ORDERING_KEY_BYTES)  # ERR-55


def _without_server_fields(message: pubsub.PubsubMessage) -> bytes:
    message.ClearField("message_id")
    message.ClearField("publish_time")
    return message.SerializeToString()


def _check_attributes(attributes: Mapping[str, str], short_key: int, short_value: int) -> None:
    """Raise INVALID_ARGUMENT for the first attribute that breaks PUB-24..26 or PUB-28.

    Keys and values of no more than `short_...` characters are short enough.
    """
    if len(attributes) > limits.ATTRIBUTES_PER_MESSAGE:
        raise errors.too_large("attribute_count", len(attributes), limits.ATTRIBUTES_PER_MESSAGE)
    for key, value in attributes.items():
        if len(key) > short_key or len(value) > short_value:
            _check_attribute_size(key, value)
        if key[:1] in "gG" and _is_forbidden(key):
            raise errors.bad_attribute_key(key)


def _is_forbidden(key: str) -> bool:
    """PUB-28 and its exceptions, PUB-29; the empty key is forbidden too."""
    return not key or (key[:4].lower() == "goog" and key not in limits.CLIENT_ATTRIBUTE_KEYS)


def _check_attribute_size(key: str, value: str) -> None:
    length = len(key.encode())
    if length > limits.ATTRIBUTE_KEY_BYTES:
        raise errors.long_attribute("", "key", length, limits.ATTRIBUTE_KEY_BYTES)
    length = len(value.encode())
    if length > limits.ATTRIBUTE_VALUE_BYTES:
        raise errors.long_attribute(key, "value", length, limits.ATTRIBUTE_VALUE_BYTES)


def publish_time_us(now: int, last_us: int) -> int:
    """Whole milliseconds, never before the topic's last (PUB-08)."""
    return max(now - now % _MILLISECOND_US, last_us)


def finish(
    encoded: Iterable[bytes], *, position: int, number: int, time_us: int, ordering_key: str
) -> tuple[list[Message], list[str]]:
    """Give checked messages their ids and time: return them with the ids.

    `position` is the first one's place in the log, `number` its place among all of the engine's.
    """
    timestamp: Timestamp = durations.to_timestamp(time_us)
    time = timestamp.SerializeToString()
    time_field = _PUBLISH_TIME_TAG + bytes([len(time)]) + time
    messages, ids = [], []
    for content in encoded:
        new_id = message_id(number)
        content = b"%b%b%b%b" % (content, _MESSAGE_ID_TAG, new_id, time_field)
        messages.append(Message(position, time_us, ordering_key, content))
        ids.append(new_id.decode())
        position += 1
        number += 1
    return messages, ids
