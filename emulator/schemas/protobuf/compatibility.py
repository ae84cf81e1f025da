"""May one protobuf definition follow another (SCH-30)?

A field that both have keeps its number, name, type and label; required fields neither come nor go.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from emulator.schemas.protobuf.descriptors import is_map, is_repeated, is_required

# Any, throughout: the stubs of descriptors differ between releases of protobuf.


def problems(newer: Any, older: Any) -> list[str]:
    """Return why the message `newer` cannot follow `older`; both are descriptors."""
    return _Comparison(newer, older).run()


class _Comparison:
    """Compares two roots and the messages within them, each pair once."""

    def __init__(self, newer: Any, older: Any) -> None:
        self._roots = newer, older
        self._found: list[str] = []

    def run(self) -> list[str]:
        seen: set[tuple[str, str]] = set()
        pending = [self._roots]
        while pending:
            newer, older = pending.pop()
            names = (newer.full_name, older.full_name)
            if names not in seen:
                seen.add(names)
                pending += self._compare(newer, older)
        return self._found

    def _compare(self, newer: Any, older: Any) -> list[tuple[Any, Any]]:
        """Compare two messages; return the pairs of messages that are their fields' types."""
        new, old = _by_number(newer), _by_number(older)
        inner = []
        for number in sorted(new.keys() & old.keys()):
            self._compare_fields(new[number], old[number])
            types = (new[number].message_type, old[number].message_type)
            if None not in types:
                inner.append(types)
        self._compare_numbers(newer, older)
        for number in sorted(new.keys() ^ old.keys()):
            field, what = (new[number], "added") if number in new else (old[number], "removed")
            if is_required(field):
                self._found.append(
                    f"{_path(field)} of type {_type(field)} is required and cannot be {what}"
                )
        return inner

    def _compare_fields(self, newer: Any, older: Any) -> None:
        """Compare two fields of one number."""
        if newer.name != older.name:
            self._refuse(newer, older, f"of number {newer.number}", "of the same number")
        elif _label(newer) != _label(older):
            self._refuse(
                newer, older, f", which is {_label(newer)},", f", which is {_label(older)}"
            )
        elif not self._have_one_type(newer, older):
            self._refuse(newer, older, f"of type {_type(newer)}", f"of type {_type(older)}")

    def _compare_numbers(self, newer: Any, older: Any) -> None:
        """Compare the fields of one name."""
        older_fields = {field.name: field for field in older.fields}
        for field in newer.fields:
            other = older_fields.get(field.name)
            if other is not None and other.number != field.number:
                self._refuse(field, other, f"of number {field.number}", f"of number {other.number}")

    def _have_one_type(self, newer: Any, older: Any) -> bool:
        if newer.type != older.type or is_map(newer) != is_map(older):
            return False
        if is_map(newer):
            return all(
                self._have_one_type(_entry(newer, part), _entry(older, part))
                for part in ("key", "value")
            )
        types = [field.message_type or field.enum_type for field in (newer, older)]
        if None in types:
            return True
        names = [_within(*each) for each in zip(types, self._roots, strict=True)]
        return names[0] == names[1]

    def _refuse(self, newer: Any, older: Any, how: str, how_older: str) -> None:
        text = f"{_path(newer)} {how} is not compatible with {_path(older)} {how_older}"
        self._found.append(text.replace(" ,", ","))


def _by_number(message: Any) -> dict[int, Any]:
    return {field.number: field for field in message.fields}


def _entry(field: Any, part: str) -> Any:
    return field.message_type.fields_by_name[part]


def _label(field: Any) -> str:
    if is_required(field):
        return "required"
    return "repeated" if is_repeated(field) else "optional"


def _type(field: Any) -> str:
    """The type as errors spell it."""
    if is_map(field):
        return f"map<{_type(_entry(field, 'key'))}, {_type(_entry(field, 'value'))}>"
    kind = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    named = field.message_type or field.enum_type
    return kind if named is None else f"{kind} {_path(named)}"


def _path(descriptor: Any) -> str:
    """A name without its package."""
    package = descriptor.file.package
    name: str = descriptor.full_name
    return name.removeprefix(f"{package}.") if package else name


def _within(descriptor: Any, root: Any) -> str:
    """A type's name within a schema, whose own name may change."""
    if f"{descriptor.full_name}.".startswith(f"{root.full_name}."):
        return str(descriptor.full_name.removeprefix(root.full_name))
    return _path(descriptor)
