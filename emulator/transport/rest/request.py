"""The request message of a call, from its path, its query and its body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from google.protobuf.message import Message

from emulator.transport.rest import json_input, parameters
from emulator.transport.rest.bindings import Binding
from emulator.transport.rest.json_check import check_message
from emulator.transport.rest.json_count import JsonCount
from emulator.transport.rest.json_fields import Descriptor
from emulator.transport.rest.violations import Violations


def build(
    request: Message,
    binding: Binding,
    values: Mapping[tuple[str, ...], str],
    of_request: Mapping[str, Sequence[str]],
    body: bytes,
) -> Message:
    """Fill `request`, which is empty, and return it; raises INVALID_ARGUMENT (RST-13, RST-32)."""
    content = _placed(body, binding, request.DESCRIPTOR)
    violations = Violations()
    query = parameters.as_json(of_request, request.DESCRIPTOR, violations)
    for part in (content, query):
        check_message(request.DESCRIPTOR, part, "", violations)
    violations.check()
    for part in (content, query):
        json_input.fill(request, part)
    for field, value in values.items():
        # TOP-03: the resource that PUT names is the one that is made.
        _bind(request, field, value, violations, is_overriding=binding.method == "PUT")
    violations.check()
    return request


def _placed(body: bytes, binding: Binding, descriptor: Descriptor) -> dict[str, Any]:
    """Return a body's JSON as that of the whole request.

    Methods that take none ignore it, but for POST, with which clients send one by habit.
    """
    if not binding.body and binding.method != "POST":
        return {}
    is_whole = binding.body in ("", "*")
    part = descriptor if is_whole else descriptor.fields_by_name[binding.body].message_type
    JsonCount(body, part).check()
    value = json_input.parse(body)
    return value if is_whole else {binding.body: value}


def _bind(
    request: Message,
    field: Sequence[str],
    value: str,
    violations: Violations,
    *,
    is_overriding: bool,
) -> None:
    target = _descend(request, field[:-1])
    name = field[-1]
    given = getattr(target, name)
    if given not in ("", value) and not is_overriding:  # UPD-13
        problem = f'"{given}" is not what the path says'
        violations.wrong(".".join(field), "TYPE_STRING", problem)
    setattr(target, name, value)


def _descend(message: Message, names: Iterable[str]) -> Any:
    for name in names:
        message = getattr(message, name)
    return message
