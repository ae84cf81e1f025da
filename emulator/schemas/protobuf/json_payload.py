"""Is a payload a message of a type in protobuf's JSON (PRO-03)?

protobuf's own converter for Python does most of it. It is lenient where the service is not: it
takes true for 1.0, "1_0" for 10, any characters within base64. A walk before it refuses those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from emulator.schemas import json_text
from emulator.schemas.failures import BadPayload
from emulator.schemas.protobuf.binary_payload import missing_fields
from emulator.schemas.protobuf.descriptors import Root, is_map, is_repeated

#: As deep as protobuf itself goes.
NESTING = 100
_KNOWN_TYPES = "google.protobuf."  # Timestamp and its kind, which the converter spells alone
_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|NaN|-?Infinity", re.ASCII)
_BASE64 = re.compile(r"([A-Za-z0-9+/]*|[A-Za-z0-9_-]*)(={0,2})", re.ASCII)


def make_check(root: Root) -> Callable[[bytes], str | None]:
    """Return what tells of a payload why it does not fit; it returns None for one that does."""

    def check(payload: bytes) -> str | None:
        message = root.message()
        try:
            value = json_text.parse(payload)
            _check_message(root.message.DESCRIPTOR, value, 0)
            json_format.ParseDict(value, message, descriptor_pool=root.pool)
        except RecursionError:
            return f"Nested more than {NESTING} levels deep."
        except (json_format.ParseError, BadPayload) as error:
            return str(error)
        except (ValueError, TypeError, ArithmeticError, AttributeError) as error:
            return f"The data is not protobuf JSON: {error}"  # what the converter lets through
        return missing_fields(message)

    return check


def _check_message(descriptor: Any, value: Any, depth: int) -> None:
    # Any: the stubs of descriptors differ between releases of protobuf.
    if descriptor.full_name.startswith(_KNOWN_TYPES):
        return
    if type(value) is not dict:
        raise BadPayload(f"expected an object for {descriptor.name}, got {_shown(value)}")
    if depth > NESTING:
        raise BadPayload(f"Nested more than {NESTING} levels deep.")
    fields = {field.json_name: field for field in descriptor.fields}
    given: set[int] = set()
    for key, item in value.items():
        field = fields.get(key) or descriptor.fields_by_name.get(key)
        if field is None:
            raise BadPayload(f"{descriptor.name} has no field {_shown(key)}")
        if field.number in given:
            raise BadPayload(f"{_shown(key)} is the second value of {field.name}")
        given.add(field.number)
        if item is not None:
            _check_field(field, item, depth)


def _check_field(field: Any, value: Any, depth: int) -> None:
    if is_map(field):
        if type(value) is not dict:
            raise BadPayload(f"expected an object for {field.name}, got {_shown(value)}")
        entry = field.message_type.fields_by_name
        for key, item in value.items():
            _check_key(entry["key"], key)
            _check_single(entry["value"], item, depth)
    elif is_repeated(field):
        if type(value) is not list:
            raise BadPayload(f"expected an array for {field.name}, got {_shown(value)}")
        for item in value:
            _check_single(field, item, depth)
    else:
        _check_single(field, value, depth)


def _check_key(field: Any, key: str) -> None:
    if field.type == FieldDescriptor.TYPE_BOOL:
        is_good = key in ("true", "false")
    elif field.type == FieldDescriptor.TYPE_STRING:
        json_text.check_text(key)
        is_good = True
    else:
        is_good = bool(_INTEGER.fullmatch(key))
    if not is_good:
        raise BadPayload(f"not a key of its map: {_shown(key)}")


def _check_single(field: Any, value: Any, depth: int) -> None:
    if field.message_type is not None:
        _check_message(field.message_type, value, depth + 1)
    elif field.enum_type is not None:
        _check_enum(field, value)
    elif not _SCALARS[field.type](value):
        kind = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
        raise BadPayload(f"expected {kind} for {field.name}, got {_shown(value)}")


def _check_enum(field: Any, value: Any) -> None:
    if field.enum_type.full_name.startswith(_KNOWN_TYPES) and value is None:
        return
    known = field.enum_type.values_by_name
    if not (value in known if type(value) is str else type(value) is int):
        raise BadPayload(f"{field.enum_type.name} has no value {_shown(value)}")


def _is_integer(value: Any) -> bool:
    if type(value) is str:
        return bool(_INTEGER.fullmatch(value))
    return type(value) is int or (type(value) is float and value.is_integer())


def _is_number(value: Any) -> bool:
    if type(value) is str:
        return bool(_NUMBER.fullmatch(value))
    return type(value) in (int, float)


def _is_bool(value: Any) -> bool:
    return type(value) is bool


def _is_text(value: Any) -> bool:
    if type(value) is not str:
        return False
    json_text.check_text(value)
    return True


def _is_base64(value: Any) -> bool:
    found = _BASE64.fullmatch(value) if type(value) is str else None
    if found is None:
        return False
    digits, padding = len(found[1]), len(found[2])
    return digits % 4 != 1 and (not padding or (digits + padding) % 4 == 0)


_SCALARS: Mapping[int, Callable[[Any], bool]] = {
    FieldDescriptor.TYPE_BOOL: _is_bool,
    FieldDescriptor.TYPE_BYTES: _is_base64,
    FieldDescriptor.TYPE_STRING: _is_text,
    FieldDescriptor.TYPE_DOUBLE: _is_number,
    FieldDescriptor.TYPE_FLOAT: _is_number,
    FieldDescriptor.TYPE_FIXED32: _is_integer,
    FieldDescriptor.TYPE_FIXED64: _is_integer,
    FieldDescriptor.TYPE_INT32: _is_integer,
    FieldDescriptor.TYPE_INT64: _is_integer,
    FieldDescriptor.TYPE_SFIXED32: _is_integer,
    FieldDescriptor.TYPE_SFIXED64: _is_integer,
    FieldDescriptor.TYPE_SINT32: _is_integer,
    FieldDescriptor.TYPE_SINT64: _is_integer,
    FieldDescriptor.TYPE_UINT32: _is_integer,
    FieldDescriptor.TYPE_UINT64: _is_integer,
}
_shown = json_text.snippet
