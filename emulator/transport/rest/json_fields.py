"""The fields of a message as JSON knows them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

#: A message's descriptor: the stubs know two classes of them, and fields that may have none.
Descriptor = Any


class JsonField:
    """`message` describes a field's messages, or is None; `oneof` is the name of the group of
    which only one member may be set, or ""."""

    __slots__ = ("descriptor", "is_map", "is_repeated", "json_name", "message", "name", "oneof")

    def __init__(self, descriptor: FieldDescriptor) -> None:
        oneof = descriptor.containing_oneof
        self.descriptor = descriptor
        self.message: Descriptor = descriptor.message_type
        self.name = descriptor.name
        self.json_name = descriptor.json_name
        self.oneof = oneof.name if oneof is not None else ""
        self.is_map = self.message is not None and self.message.GetOptions().map_entry
        self.is_repeated = not self.is_map and _is_repeated(descriptor)


def _is_repeated(field: Any) -> bool:
    # Any: `is_repeated` is new, and `label` on its way out of protobuf.
    newer = getattr(field, "is_repeated", None)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED if newer is None else newer)


@cache
def fields_of(descriptor: Descriptor) -> Mapping[str, JsonField]:
    """Return a message's fields by their names, of which most have two (RST-20)."""
    fields = [JsonField(each) for each in descriptor.fields]
    return {name: field for field in fields for name in (field.name, field.json_name)}
