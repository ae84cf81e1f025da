"""Values that protobuf carries but that mean nothing: refused before they are stored.

gRPC takes any nanos in a duration and NaN in a struct; JSON has no words for either, so a resource
that held one could not be shown over REST.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

from emulator.engine.values import errors

_NANOS = 1_000_000_000
#: The years 1 to 9999, and as many to either side, in seconds.
_DURATION_S = 315_576_000_000
_TIMESTAMP_S = range(-62_135_596_800, 253_402_300_800)


def check(message: Message) -> None:
    """Raise INVALID_ARGUMENT for the first value in `message` that JSON could not say."""
    for path, value in _values(message, ""):
        if not _is_sayable(value):
            raise errors.invalid_argument(f"{path}: {value.DESCRIPTOR.name} out of range")


def _is_sayable(value: Any) -> bool:
    match value.DESCRIPTOR.full_name:
        case "google.protobuf.Duration":
            has_one_sign = value.seconds * value.nanos >= 0
            in_range = abs(value.nanos) < _NANOS and abs(value.seconds) <= _DURATION_S
            return bool(has_one_sign and in_range)
        case "google.protobuf.Timestamp":
            return 0 <= value.nanos < _NANOS and value.seconds in _TIMESTAMP_S
        case "google.protobuf.Value":
            is_number = value.WhichOneof("kind") == "number_value"
            return not is_number or math.isfinite(value.number_value)
    return True


def _values(message: Message, path: str) -> Iterator[tuple[str, Message]]:
    """Every message that is set within `message`, itself included, with its path."""
    yield path, message
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        name = f"{path}.{field.name}".lstrip(".")
        for child in _children(value):
            yield from _values(child, name)


def _children(value: Any) -> list[Message]:
    if isinstance(value, Message):
        return [value]
    items = list(value.values() if hasattr(value, "values") else value)
    return [item for item in items if isinstance(item, Message)]
