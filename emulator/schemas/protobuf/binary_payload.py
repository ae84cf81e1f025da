"""Is a payload a message of a type, with nothing in it that the type does not have (PRO-02)?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf.message import DecodeError, EncodeError, Message

from emulator.schemas.protobuf.descriptors import is_map


def make_check(message_class: type[Message]) -> Callable[[bytes], str | None]:
    """Return what tells of a payload why it does not fit; it returns None for one that does."""

    def check(payload: bytes) -> str | None:
        try:
            message = message_class.FromString(payload)
        except (DecodeError, EncodeError) as error:
            return f"The data is not an encoded {message_class.DESCRIPTOR.full_name}: {error}"
        missing = missing_fields(message)
        if missing is not None or not _discards_any(message):
            return missing
        return _unknown_fields(message_class.FromString(payload))

    return check


def missing_fields(message: Any) -> str | None:
    """Name the required fields of a message that are not set."""
    # Any, here and below: the stubs lack what is asked for.
    if message.IsInitialized():
        return None
    missing = ", ".join(message.FindInitializationErrors())
    return f"Required fields are not set: {missing}"


def _discards_any(message: Any) -> bool:
    """Discard what a message has of unknown fields; tell whether there was anything."""
    size_bytes = message.ByteSize()
    message.DiscardUnknownFields()
    return bool(message.ByteSize() != size_bytes)


def _unknown_fields(message: Message) -> str:
    numbers = sorted({field.field_number for field in _unknown(message)})
    shown = ", ".join(map(str, numbers[:10]))
    return f"The data has fields that the schema does not have: {shown}"


def _unknown(message: Message) -> Iterator[Any]:
    from google.protobuf.unknown_fields import UnknownFieldSet

    unknown: Any = UnknownFieldSet(message)
    yield from unknown
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if is_map(field):
            if field.message_type.fields_by_name["value"].message_type is not None:
                for item in value.values():
                    yield from _unknown(item)
        elif isinstance(value, Message):
            yield from _unknown(value)
        else:
            for item in value:
                yield from _unknown(item)
