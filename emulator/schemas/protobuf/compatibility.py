"""May one protobuf definition follow another (SCH-30)?

A field that both have keeps its number, name, type and label; required fields neither come nor go.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from emulator.schemas.protobuf.descriptors import is_map, is_repeated, is_required

_TYPES = {
    value: name.removeprefix("TYPE_").lower()
    for name, value in vars(FieldDescriptor).items()
    if name.startswith("TYPE_")
}


def problems(newer: Any, older: Any) -> list[str]:
    """Return why the message `newer` cannot follow `older`; both are descriptors."""
    # Any: the stubs of descriptors differ between releases of protobuf.
    found: list[str] = []
    seen: set[tuple[str, str]] = set()
    pending = [(newer, older)]
    while pending:
        pair = pending.pop()
        names = (pair[0].full_name, pair[1].full_name)
        if names not in seen:
            seen.add(names)
            found += _differences(*pair)
            pending += _inner_messages(*pair)
    return found


def _differences(newer: Any, older: Any) -> list[str]:
    new, old = newer.fields_by_number, older.fields_by_number
    found = []
    for number in sorted(new.keys() & old.keys()):
        found += _changes(new[number], old[number])
    for name in sorted(newer.fields_by_name.keys() & older.fields_by_name.keys()):
        here, there = newer.fields_by_name[name], older.fields_by_name[name]
        if here.number != there.number:
            found.append(
                f"{_path(here)} of number {here.number} is not compatible with {_path(there)} of "
                f"number {there.number}"
            )
    for only, others, what in ((new, old, "added"), (old, new, "removed")):
        for number in sorted(only.keys() - others.keys()):
            if is_required(only[number]):
                found.append(f"{_path(only[number])} of type {_type(only[number])} is required and "
                             f"cannot be {what}")  # fmt: skip
    return found


def _changes(newer: Any, older: Any) -> list[str]:
    """What differs between two fields of one number."""
    if newer.name != older.name:
        return [
            f"{_path(newer)} of number {newer.number} is not compatible with {_path(older)} of "
            "the same number"
        ]
    if _label(newer) != _label(older):
        return [
            f"{_path(newer)}, which is {_label(newer)}, is not compatible with {_path(older)}, "
            f"which is {_label(older)}"
        ]
    if _type(newer) != _type(older):
        return [
            f"{_path(newer)} of type {_type(newer)} is not compatible with {_path(older)} of type "
            f"{_type(older)}"
        ]
    return []


def _inner_messages(newer: Any, older: Any) -> list[tuple[Any, Any]]:
    """The messages within two messages that are to be compared as well."""
    pairs = []
    for number in newer.fields_by_number.keys() & older.fields_by_number.keys():
        inner = newer.fields_by_number[number].message_type
        of_older = older.fields_by_number[number].message_type
        if inner is not None and of_older is not None:
            pairs.append((inner, of_older))
    return pairs


def _label(field: Any) -> str:
    if is_required(field):
        return "required"
    return "repeated" if is_repeated(field) else "optional"


def _type(field: Any) -> str:
    """The type by name; those of messages and enums as they are called within the schema."""
    if is_map(field):
        entry = field.message_type.fields_by_name
        return f"map<{_type(entry['key'])}, {_type(entry['value'])}>"
    named = field.message_type if field.message_type is not None else field.enum_type
    return _TYPES[field.type] if named is None else f"{_TYPES[field.type]} {_path(named)}"


def _path(descriptor: Any) -> str:
    """A name without its package, which may change."""
    package = descriptor.file.package
    return str(descriptor.full_name.removeprefix(f"{package}.") if package else
               descriptor.full_name)  # fmt: skip
