"""Does a payload hold exactly one datum in Avro's JSON encoding (AVR-03..07)?

That encoding is not plain JSON: a union's value names its branch, bytes are text of one character
a byte, and nothing is converted or filled in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from emulator.schemas import json_text
from emulator.schemas.avro import types
from emulator.schemas.avro.binary_payload import NESTING
from emulator.schemas.failures import BadPayload

if TYPE_CHECKING:
    from typing import TypeAlias

#: Takes a value and how deep it lies; raises BadPayload.
Check: TypeAlias = Callable[[Any, int], None]

_INT_MAX = 2**31 - 1
_LONG_MAX = 2**63 - 1
_BYTE_MAX = 255


def make_check(schema: types.Type) -> Callable[[bytes], str | None]:
    """Return what tells of a payload why it does not fit; it returns None for one that does."""
    check_value = _Compiler().check(schema)

    def check(payload: bytes) -> str | None:
        try:
            check_value(json_text.parse(payload), 0)
        except BadPayload as error:
            return str(error)
        return None

    return check


class _Compiler:
    def __init__(self) -> None:
        self._records: dict[int, Check] = {}

    def check(self, schema: types.Type) -> Check:
        match schema:
            case types.Primitive():
                return _PRIMITIVES[schema.name]
            case types.Fixed():
                return _fixed(schema)
            case types.Enum():
                return _enum(schema)
            case types.Array():
                return _array(self.check(schema.items))
            case types.Map():
                return _map(self.check(schema.values))
            case types.Union():
                return _union({branch.name: self.check(branch) for branch in schema.branches})
            case types.Record():
                return self._record(schema)
        raise AssertionError(schema)

    def _record(self, record: types.Record) -> Check:
        known = self._records.get(id(record))
        if known is not None:
            return known
        fields: list[tuple[str, Check]] = []

        def check(value: Any, depth: int) -> None:
            if depth > NESTING:
                raise BadPayload(f"Nested more than {NESTING} levels deep.")
            _expect(value, dict, "object")
            depth += 1
            for name, check_field in fields:
                if name not in value:
                    raise BadPayload(f"Field was not found in JSON object: {name}")  # AVR-05
                check_field(value[name], depth)

        self._records[id(record)] = check  # for fields of the record's own type
        fields += [(field.name, self.check(field.type)) for field in record.fields]
        return check


def _expect(value: Any, kind: type, name: str) -> None:
    if type(value) is not kind:
        raise BadPayload(f"expected {name}, got {json_text.snippet(value)}")


def _check_null(value: Any, depth: int) -> None:
    _expect(value, type(None), "null")


def _check_boolean(value: Any, depth: int) -> None:
    _expect(value, bool, "boolean")


def _integer(largest: int) -> Check:
    def check(value: Any, depth: int) -> None:
        _expect(value, int, "number_integer")
        if not -largest - 1 <= value <= largest:
            raise BadPayload(f"number out of range: {json_text.snippet(value)}")

    return check


def _check_number(value: Any, depth: int) -> None:
    if type(value) is not int:  # AVR-04: an integer does
        _expect(value, float, "number_float")
    try:
        is_finite = math.isfinite(value)
    except OverflowError:
        is_finite = False
    if not is_finite:
        raise BadPayload(f"number out of range: {json_text.snippet(value)}")


def _check_string(value: Any, depth: int) -> None:
    _expect(value, str, "string")
    json_text.check_text(value)


def _check_bytes(value: Any, depth: int) -> None:
    _expect(value, str, "string")
    if value and max(map(ord, value)) > _BYTE_MAX:
        raise BadPayload("a text for bytes has characters above U+00FF")


_PRIMITIVES: Mapping[str, Check] = {
    "null": _check_null,
    "boolean": _check_boolean,
    "int": _integer(_INT_MAX),
    "long": _integer(_LONG_MAX),
    "float": _check_number,
    "double": _check_number,
    "bytes": _check_bytes,
    "string": _check_string,
}


def _fixed(fixed: types.Fixed) -> Check:
    def check(value: Any, depth: int) -> None:
        _check_bytes(value, depth)
        if len(value) != fixed.size_bytes:
            raise BadPayload(f"{fixed.name} has {fixed.size_bytes} bytes, got {len(value)}")

    return check


def _enum(enum: types.Enum) -> Check:
    symbols = frozenset(enum.symbols)

    def check(value: Any, depth: int) -> None:
        _expect(value, str, "string")
        if value not in symbols:
            raise BadPayload(f"Invalid enum index without default value: {enum.name}")

    return check


def _array(check_item: Check) -> Check:
    def check(value: Any, depth: int) -> None:
        _expect(value, list, "array")
        for item in value:
            check_item(item, depth + 1)

    return check


def _map(check_value: Check) -> Check:
    def check(value: Any, depth: int) -> None:
        _expect(value, dict, "object")
        for key, item in value.items():
            json_text.check_text(key)
            check_value(item, depth + 1)

    return check


def _union(branches: Mapping[str, Check]) -> Check:
    def check(value: Any, depth: int) -> None:
        if value is None:
            if "null" not in branches:
                raise BadPayload("a union without a branch null is null")
            return
        if type(value) is not dict or len(value) != 1:
            raise BadPayload(
                "expected a union's value as an object with the name of its branch, got "
                + json_text.snippet(value)
            )
        [(name, item)] = value.items()
        if name == "null" or name not in branches:
            raise BadPayload(f"a union has no branch {json_text.snippet(name)}")
        branches[name](item, depth + 1)

    return check
