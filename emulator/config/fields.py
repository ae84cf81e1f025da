"""Messages of the API from nodes: proto3 JSON, in camel or snake case, with errors that point."""

from __future__ import annotations

import base64
import binascii
import difflib
import json
from functools import cache
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from emulator.api.pool import POOL
from emulator.config.problems import Place, Problem
from emulator.config.yaml_text import Node

_EXPECTED = {
    FieldDescriptor.TYPE_BOOL: "true or false",
    FieldDescriptor.TYPE_BYTES: "base64 text",
    FieldDescriptor.TYPE_STRING: "a text",
    "google.protobuf.Duration": 'a duration like "600s"',
    "google.protobuf.Timestamp": 'a time like "2024-01-31T12:00:00Z"',
}


def fill(message: Message, node: Node, place: Place, problems: list[Problem]) -> None:
    """Set the fields that an object has; what is wrong is added to `problems`."""
    if not isinstance(node.value, dict):
        problems.append(Problem(place, "an object is expected here"))
        return
    names = fields_of(message.DESCRIPTOR)
    given: dict[str, str] = {}
    for key, child in node.value.items():
        at = place.at(child.line, key)
        field = names.get(key)
        if field is None:
            problems.append(Problem(at, f"there is no such field{_hint(key, names)}"))
        elif field.name in given:
            problems.append(Problem(at, f'the same field as "{given[field.name]}"'))
        elif child.value is not None:
            given[field.name] = key
            rival = _rival(message, field)
            if rival:
                problems.append(Problem(at, f'not together with "{rival}"'))
            else:
                _set(message, field, child, at, problems)


@cache
def fields_of(descriptor: Any) -> dict[str, Any]:
    """The fields of a message by both of their names."""
    fields = {field.json_name: field for field in descriptor.fields}
    return fields | {field.name: field for field in descriptor.fields}


def _hint(key: str, names: dict[str, Any]) -> str:
    close = difflib.get_close_matches(key, names, 1)
    return f'; did you mean "{close[0]}"?' if close else ""


def _rival(message: Message, field: Any) -> str | None:
    """The other member of a field's oneof that is set already."""
    oneof = field.containing_oneof
    return message.WhichOneof(oneof.name) if oneof is not None else None


def _set(message: Message, field: Any, node: Node, at: Place, problems: list[Problem]) -> None:
    if is_map(field):
        _set_map(message, field, node, at, problems)
    elif is_repeated(field):
        _set_list(message, field, node, at, problems)
    elif is_plain_message(field):
        child = getattr(message, field.name)
        child.SetInParent()
        fill(child, node, at, problems)
    else:
        _parse(message, field, node, node.value, at, problems)


def _set_map(message: Message, field: Any, node: Node, at: Place, problems: list[Problem]) -> None:
    if not isinstance(node.value, dict):
        problems.append(Problem(at, "an object is expected here"))
        return
    value_field = field.message_type.fields_by_name["value"]
    for key, item in node.value.items():
        there = at.at(item.line, key)
        wrong = _wrong(value_field, item)
        if wrong:
            problems.append(Problem(there, wrong))
        else:
            getattr(message, field.name)[key] = item.value


def _set_list(message: Message, field: Any, node: Node, at: Place, problems: list[Problem]) -> None:
    if not isinstance(node.value, list):
        problems.append(Problem(at, "a list is expected here"))
        return
    for index, item in enumerate(node.value):
        there = at.at(item.line, index)
        if is_plain_message(field):
            fill(getattr(message, field.name).add(), item, there, problems)
        else:
            _parse(message, field, item, [item.value], there, problems)


def _parse(
    message: Message, field: Any, node: Node, value: Any, at: Place, problems: list[Problem]
) -> None:
    wrong = _wrong(field, node)
    if not wrong:
        try:
            json_format.ParseDict({field.json_name: value}, message, descriptor_pool=POOL)
        except (json_format.ParseError, ValueError, TypeError, ArithmeticError):
            wrong = f"{_shown(node)} is not {_expected(field)}"
    if wrong:
        problems.append(Problem(at, wrong))


def _wrong(field: Any, node: Node) -> str:
    """What protobuf's own parser would let pass, or not explain."""
    value = node.value
    if field.type == FieldDescriptor.TYPE_STRING and not isinstance(value, str):
        is_word = value is not None and not isinstance(value, dict | list)
        quoted = f"; put it in quotes: {json.dumps(node.text)}" if is_word else ""
        return f"{_shown(node)} is not a text{quoted}"
    if field.type == FieldDescriptor.TYPE_BOOL and not isinstance(value, bool):
        return f"{_shown(node)} is not true or false"
    if field.type == FieldDescriptor.TYPE_BYTES and not is_base64(value):
        return f'{_shown(node)} is not base64 text; plain text goes into "text"'
    return ""


def is_base64(value: Any) -> bool:
    """Tell whether a value is base64 of either alphabet, with or without padding."""
    if not isinstance(value, str):
        return False
    try:
        text = value.rstrip("=").translate(str.maketrans("-_", "+/"))
        base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _shown(node: Node) -> str:
    if isinstance(node.value, dict):
        return "an object"
    if isinstance(node.value, list):
        return "a list"
    if node.value is None:
        return "null"
    text = json.dumps(node.value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _expected(field: Any) -> str:
    if field.enum_type is not None:
        return "one of " + ", ".join(value.name for value in field.enum_type.values)
    kind = field.message_type.full_name if field.message_type is not None else field.type
    return _EXPECTED.get(kind, "a number" if field.message_type is None else kind)


def is_repeated(field: Any) -> bool:
    """Tell whether a field is a list or a map."""
    # `is_repeated` is new, and `label` on its way out of protobuf.
    newer = getattr(field, "is_repeated", None)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED if newer is None else newer)


def is_map(field: Any) -> bool:
    """Tell whether a field is a map."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def is_plain_message(field: Any) -> bool:
    """Tell whether a field holds messages that JSON writes as objects."""
    kind = field.message_type
    return kind is not None and not kind.full_name.startswith("google.protobuf.")
