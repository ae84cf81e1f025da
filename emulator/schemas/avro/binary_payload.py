"""Does a payload hold exactly one datum in Avro's binary encoding (AVR-02)?

A schema becomes a chain of readers, each of which moves over the bytes of its type and builds
nothing. fastavro's decoder, which builds the datum, is no measure of what is valid: it takes
enum indices below 0, ints of 64 bits and booleans of 2, and a record that contains itself some
thousand times ends the process (the stack runs over in C).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from emulator.schemas.avro import types
from emulator.schemas.failures import BadPayload

if TYPE_CHECKING:
    from typing import TypeAlias

#: Takes the payload, a position and how deep it lies; returns the position behind the value.
#: Raises BadPayload, or IndexError where the bytes end too early.
Reader: TypeAlias = Callable[[bytes, int, int], int]

#: Types within types in one payload, of which only those that contain themselves have many.
NESTING = 200
_INT_MAX = 2**31 - 1
_LONG_BITS = 64


def make_check(schema: types.Type) -> Callable[[bytes], str | None]:
    """Return what tells of a payload why it does not fit; it returns None for one that does."""
    read = _Compiler().reader(schema)

    def check(payload: bytes) -> str | None:
        try:
            end = read(payload, 0, 0)
        except BadPayload as error:
            return str(error)
        except IndexError:
            return "Unexpected end of data."
        return None if end == len(payload) else "Too much data to parse for schema."

    return check


class _Compiler:
    """Knows the readers of records that were made, and which records never have a byte."""

    def __init__(self) -> None:
        self._records: dict[int, Reader] = {}
        self._empty: dict[int, bool] = {}

    def reader(self, schema: types.Type) -> Reader:
        match schema:
            case types.Primitive():
                return _PRIMITIVES[schema.name]
            case types.Fixed():
                return _of_size(schema.size_bytes)
            case types.Enum():
                return _enum(schema)
            case types.Array():
                return _blocks(self.reader(schema.items), self._is_empty(schema.items))
            case types.Map():
                return _blocks(_entry(self.reader(schema.values)), False)
            case types.Union():
                return _union([self.reader(branch) for branch in schema.branches])
            case types.Record():
                return self._record(schema)
        raise AssertionError(schema)

    def _record(self, record: types.Record) -> Reader:
        known = self._records.get(id(record))
        if known is not None:
            return known
        fields: list[Reader] = []

        def read(payload: bytes, at: int, depth: int) -> int:
            if depth > NESTING:
                raise BadPayload(f"Nested more than {NESTING} levels deep.")
            depth += 1
            for field in fields:
                at = field(payload, at, depth)
            return at

        self._records[id(record)] = read  # for fields of the record's own type
        # A few nested records can have more fields without bytes than could ever be counted.
        fields += [
            self.reader(field.type) for field in record.fields if not self._is_empty(field.type)
        ]
        return read

    def _is_empty(self, schema: types.Type) -> bool:
        """Whether no value of the type has a byte, so that any number of them is read at once."""
        match schema:
            case types.Primitive():
                return schema.name == "null"
            case types.Fixed():
                return schema.size_bytes == 0
            case types.Record():
                known = self._empty.get(id(schema))
                if known is None:
                    self._empty[id(schema)] = False  # if it contains itself, it has no value
                    known = all(self._is_empty(field.type) for field in schema.fields)
                    self._empty[id(schema)] = known
                return known
        return False


def _long(payload: bytes, at: int) -> tuple[int, int]:
    """Return a number of up to 64 bits and the position behind it."""
    byte = payload[at]
    at += 1
    if byte < 128:
        return (byte >> 1) ^ -(byte & 1), at
    value, shift = byte & 127, 7
    while True:
        byte = payload[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift >= _LONG_BITS:
            raise BadPayload("A number has more than 64 bits.")
    if value >> _LONG_BITS:
        raise BadPayload("A number has more than 64 bits.")
    return (value >> 1) ^ -(value & 1), at


def _read_null(payload: bytes, at: int, depth: int) -> int:
    return at


def _read_boolean(payload: bytes, at: int, depth: int) -> int:
    if payload[at] > 1:
        raise BadPayload("A boolean is neither 0 nor 1.")
    return at + 1


def _read_int(payload: bytes, at: int, depth: int) -> int:
    if payload[at] < 128:
        return at + 1
    value, at = _long(payload, at)
    if not -_INT_MAX - 1 <= value <= _INT_MAX:
        raise BadPayload("An int has more than 32 bits.")
    return at


def _read_long(payload: bytes, at: int, depth: int) -> int:
    if payload[at] < 128:
        return at + 1
    return _long(payload, at)[1]


def _sized(payload: bytes, at: int) -> tuple[int, int]:
    """Return where the content begins that has its length before it, and where it ends."""
    size = payload[at]
    if size < 128 and not size & 1:
        at += 1
        end = at + (size >> 1)
    else:
        size, at = _long(payload, at)
        if size < 0:
            raise BadPayload("A length is below 0.")
        end = at + size
    if end > len(payload):
        raise IndexError
    return at, end


def _read_bytes(payload: bytes, at: int, depth: int) -> int:
    return _sized(payload, at)[1]


def _read_string(payload: bytes, at: int, depth: int) -> int:
    start, end = _sized(payload, at)
    text = payload[start:end]
    if not text.isascii():
        _check_utf8(text)
    return end


def _check_utf8(text: bytes) -> None:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise BadPayload("A string is not UTF-8.") from error


def _of_size(size_bytes: int) -> Reader:
    def read(payload: bytes, at: int, depth: int) -> int:
        end = at + size_bytes
        if end > len(payload):
            raise IndexError
        return end

    return read


_PRIMITIVES: Mapping[str, Reader] = {
    "null": _read_null,
    "boolean": _read_boolean,
    "int": _read_int,
    "long": _read_long,
    "float": _of_size(4),
    "double": _of_size(8),
    "bytes": _read_bytes,
    "string": _read_string,
}


def _enum(enum: types.Enum) -> Reader:
    count = len(enum.symbols)

    def read(payload: bytes, at: int, depth: int) -> int:
        index, at = _long(payload, at)
        if not 0 <= index < count:
            raise BadPayload(f"Invalid enum index without default value: {enum.name}")
        return at

    return read


def _union(branches: list[Reader]) -> Reader:
    def read(payload: bytes, at: int, depth: int) -> int:
        index, at = _long(payload, at)
        if not 0 <= index < len(branches):
            raise BadPayload("A union has no such branch.")
        return branches[index](payload, at, depth + 1)

    return read


def _entry(read_value: Reader) -> Reader:
    def read(payload: bytes, at: int, depth: int) -> int:
        return read_value(payload, _read_string(payload, at, depth), depth)

    return read


def _blocks(read_item: Reader, is_empty: bool) -> Reader:
    """Arrays and maps come in blocks; one of a negative count has its size, which nobody needs."""

    def read(payload: bytes, at: int, depth: int) -> int:
        while True:
            count, at = _long(payload, at)
            if count == 0:
                return at
            if count < 0:
                count = -count
                _, at = _long(payload, at)
            # Values without bytes cost nothing, however many a payload claims to have.
            for _ in range(0 if is_empty else count):
                at = read_item(payload, at, depth + 1)

    return read
