"""Goes once over the JSON of a request and says what is wrong with it (RST-27..29, ERR-70..72).

What passes is ready for protobuf's own converter, whose errors name no field and which lets things
pass that the service does not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from emulator.service.request_limits import Limit, limit_of
from emulator.transport.rest import scalars
from emulator.transport.rest.json_fields import Descriptor, JsonField, fields_of
from emulator.transport.rest.known_types import KNOWN_TYPES
from emulator.transport.rest.violations import Violations

#: Takes a value and its path; returns the value to go on with.
Check = Callable[[Any, str, Violations], Any]

_VALUE = "google.protobuf.Value"
_MESSAGE = FieldDescriptor.TYPE_MESSAGE
_ENUM = FieldDescriptor.TYPE_ENUM


def check_message(
    descriptor: Descriptor, value: dict[str, Any], at: str, violations: Violations
) -> dict[str, Any]:
    """Check the object that is at `at`; values in it may be replaced."""
    checks = _checks_of(descriptor)
    given: dict[str, str] = {}
    for key, item in value.items():
        entry = checks.get(key)
        if entry is None:
            violations.unknown(key, at)
            continue
        field, check = entry
        path = f"{at}.{field.name}" if at else field.name
        if field.name in given:
            violations.unknown(key, at, f'The field is set already, as "{given[field.name]}".')
        given[field.name] = key
        if item is None and not _takes_null(field):
            continue  # RST-27
        if field.oneof and given.setdefault(f"oneof {field.oneof}", key) != key:
            problem = f"oneof field '{field.oneof}' is already set. Cannot set '{key}'"
            violations.wrong(at, "oneof", problem)
        value[key] = check(item, path, violations)
    return value


@cache
def _checks_of(descriptor: Descriptor) -> dict[str, tuple[JsonField, Check]]:
    return {name: (field, _check_of(field)) for name, field in fields_of(descriptor).items()}


def _takes_null(field: JsonField) -> bool:
    is_value = field.message is not None and field.message.full_name == _VALUE
    return is_value and not field.is_repeated


def _check_of(field: JsonField) -> Check:
    if field.is_map:
        return _map(field.message, limit_of(field.descriptor))
    check = _single(field.descriptor)
    if not field.is_repeated:
        return check
    return _list(check, _kind(field.descriptor), limit_of(field.descriptor))


def _list(check: Check, kind: str, limit: Limit) -> Check:
    def check_list(value: Any, at: str, violations: Violations) -> Any:
        if type(value) is not list:
            violations.wrong_value(at, kind, value)
            return value
        limit.check(len(value))
        for index, item in enumerate(value):
            value[index] = check(item, f"{at}[{index}]", violations)
        return value

    return check_list


def _map(entry: Descriptor, limit: Limit) -> Check:
    check = _single(entry.fields_by_name["value"])
    kind = _url(entry)

    def check_map(value: Any, at: str, violations: Violations) -> Any:
        if type(value) is list:
            name = at.rpartition(".")[2]
            violations.wrong(at, "Map", f"Cannot bind a list to map for field '{name}'.")
        elif type(value) is not dict:
            violations.wrong_value(at, kind, value)
        else:
            limit.check(len(value))
            for index, (key, item) in enumerate(value.items()):
                value[key] = check(item, f"{at}[{index}].value", violations)
        return value

    return check_map


def _single(field: Any) -> Check:
    kind = _kind(field)
    if field.type == _ENUM:
        return _valued(kind, scalars.enum(field.enum_type))
    if field.type != _MESSAGE:
        return _valued(kind, scalars.SCALARS[field.type][1])
    known = KNOWN_TYPES.get(field.message_type.full_name)
    if known is not None:
        return _valued(kind, known)
    return _message(kind, field.message_type)


def _valued(kind: str, check: Callable[[Any], Any]) -> Check:
    def check_value(value: Any, at: str, violations: Violations) -> Any:
        try:
            return check(value)
        except scalars.BadBase64:
            violations.wrong(at, kind, f'Base64 decoding failed for "{value[:100]}"')
        except (ValueError, KeyError, TypeError):
            violations.wrong_value(at, kind, value)
        return value

    return check_value


def _message(kind: str, descriptor: Descriptor) -> Check:
    def check_object(value: Any, at: str, violations: Violations) -> Any:
        if type(value) is dict:
            return check_message(descriptor, value, at, violations)
        violations.wrong_value(at, kind, value)
        return value

    return check_object


def _kind(field: Any) -> str:
    """A field's type as texts name it."""
    if field.type == _ENUM:
        return _url(field.enum_type)
    if field.type == _MESSAGE:
        return _url(field.message_type)
    return scalars.SCALARS[field.type][0]


def _url(descriptor: Any) -> str:
    # Any: a message's or an enum's.
    return f"type.googleapis.com/{descriptor.full_name}"
