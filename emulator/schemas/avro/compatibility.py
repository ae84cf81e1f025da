"""Can data written by one Avro schema be read by another (SCH-32)?

These are the rules of Avro's schema resolution, looked at without data. The texts name fields and
their types.
"""

from __future__ import annotations

from collections.abc import Iterator

from emulator.schemas.avro import types

#: What a reader's primitive type may have been written as, itself aside.
_PROMOTIONS = {
    "long": {"int"},
    "float": {"int", "long"},
    "double": {"int", "long", "float"},
    "string": {"bytes"},
    "bytes": {"string"},
}


#: How many pairs of types one comparison may look at; a limit of ours, so that it ends soon.
STEPS = 100_000
_PROBLEMS = 5  # a few say enough
_SHOWN_CHARACTERS = 120


def problems(reader: types.Type, writer: types.Type) -> list[str]:
    """Return why `reader` cannot read everything that `writer` writes; nothing if it can."""
    try:
        readable = _Readable()
        if readable.holds(reader, writer):
            return []
        report = _Report(readable)
        report.compare(reader, writer, "schema", "schema")
        return report.problems
    except RecursionError:
        return ["The schemas are nested too deeply to be compared"]
    except _TooManySteps:
        return ["The schemas are too large to be compared"]


class _TooManySteps(Exception):
    pass


class _Readable:
    """Which type can read which.

    Records contain themselves, so a pair that is being looked at counts as readable. What was
    found readable meanwhile may rest on that: when a pair turns out not to be, all is done again.
    """

    def __init__(self) -> None:
        self._refused: set[tuple[int, int]] = set()
        self._accepted: set[tuple[int, int]] = set()
        self._steps = 0

    def holds(self, reader: types.Type, writer: types.Type) -> bool:
        """Whether `reader` can read everything that `writer` writes."""
        while True:
            refused = len(self._refused)
            self._accepted.clear()
            answer = self.look(reader, writer)
            if len(self._refused) == refused:
                return answer

    def look(self, reader: types.Type, writer: types.Type) -> bool:
        """As `holds`, by what is known so far."""
        self._steps += 1
        if self._steps > STEPS:
            raise _TooManySteps
        match reader, writer:
            case _, types.Union():
                return all(self.look(reader, branch) for branch in writer.branches)
            case types.Union(), _:
                # The branch of that name is mostly the one, whatever their number.
                same = reader.by_name.get(writer.name)
                if same is not None and self.look(same, writer):
                    return True
                return any(self.look(branch, writer) for branch in reader.branches)
            case types.Array(), types.Array():
                return self.look(reader.items, writer.items)
            case types.Map(), types.Map():
                return self.look(reader.values, writer.values)
            case types.Record(), types.Record():
                return _is_called(reader, writer) and self._look_at_records(reader, writer)
        return _is_plainly_readable(reader, writer)

    def _look_at_records(self, reader: types.Record, writer: types.Record) -> bool:
        pair = (id(reader), id(writer))
        if pair in self._refused:
            return False
        if pair in self._accepted:
            return True
        self._accepted.add(pair)
        for field, source in _fields(reader, writer):
            if not (self.look(field.type, source.type) if source else field.has_default):
                self._refused.add(pair)
                return False
        return True


def _is_plainly_readable(reader: types.Type, writer: types.Type) -> bool:
    """The rule for types without others in them."""
    match reader, writer:
        case types.Enum(), types.Enum():
            return _is_called(reader, writer) and (
                reader.default is not None or not _missing_symbols(reader, writer)
            )
        case types.Fixed(), types.Fixed():
            return _is_called(reader, writer) and reader.size_bytes == writer.size_bytes
        case types.Primitive(), types.Primitive():
            return writer.name == reader.name or writer.name in _PROMOTIONS.get(reader.name, ())
    return False


class _Report:
    """Puts into words why one type cannot read another, given that it cannot."""

    def __init__(self, readable: _Readable) -> None:
        self.problems: list[str] = []
        self._readable = readable
        self._seen: set[tuple[int, int]] = set()

    def compare(self, reader: types.Type, writer: types.Type, at: str, writer_at: str) -> None:
        if len(self.problems) >= _PROBLEMS or self._readable.holds(reader, writer):
            return
        match reader, writer:
            case _, types.Union():
                for branch in writer.branches:
                    self.compare(reader, branch, at, writer_at)
            case types.Array(), types.Array():
                self.compare(reader.items, writer.items, f"{at}[]", f"{writer_at}[]")
            case types.Map(), types.Map():
                self.compare(reader.values, writer.values, f"{at}{{}}", f"{writer_at}{{}}")
            case types.Record(), types.Record() if _is_called(reader, writer):
                self._compare_records(reader, writer)
            case types.Enum(), types.Enum() if _is_called(reader, writer):
                missing = ", ".join(_missing_symbols(reader, writer))
                self.problems.append(
                    f"{at} of type {_text(reader)} has no default and lacks the symbols {missing} "
                    f"of {writer_at}"
                )
            case _:
                self.problems.append(
                    f"{at} of type {_text(reader)} is not compatible with {writer_at} of type "
                    f"{_text(writer)}"
                )

    def _compare_records(self, reader: types.Record, writer: types.Record) -> None:
        pair = (id(reader), id(writer))
        if pair in self._seen:
            return
        self._seen.add(pair)
        for field, source in _fields(reader, writer):
            at = f"{reader.name}.{field.name}"
            if source is not None:
                self.compare(field.type, source.type, at, f"{writer.name}.{source.name}")
            elif not field.has_default:
                self.problems.append(
                    f"{at} of type {_text(field.type)} has no default and is not in {writer.name}"
                )


def _fields(
    reader: types.Record, writer: types.Record
) -> Iterator[tuple[types.Field, types.Field | None]]:
    """Yield the fields of the reader, each with that of the writer which it is read from."""
    written = {field.name: field for field in writer.fields}
    for field in reader.fields:
        names = (field.name, *sorted(field.aliases))
        yield field, next((written[name] for name in names if name in written), None)


def _missing_symbols(reader: types.Enum, writer: types.Enum) -> list[str]:
    known = frozenset(reader.symbols)
    return [symbol for symbol in writer.symbols if symbol not in known]


def _is_called(reader: types.Named, writer: types.Named) -> bool:
    """Whether the names match: without their namespaces, or by an alias of the reader's."""
    own, given = (each.name.rpartition(".")[2] for each in (reader, writer))
    return own == given or writer.name in reader.aliases


def _text(schema: types.Type) -> str:
    """Spell a type as errors do."""
    text = _full_text(schema)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def _full_text(schema: types.Type) -> str:
    match schema:
        case types.Array():
            return f"array<{_full_text(schema.items)}>"
        case types.Map():
            return f"map<{_full_text(schema.values)}>"
        case types.Union():
            return f"union<{', '.join(_full_text(branch) for branch in schema.branches)}>"
        case types.Fixed():
            return f"fixed {schema.name} of {schema.size_bytes} bytes"
        case types.Enum():
            return f"enum {schema.name}"
        case types.Record():
            return f"record {schema.name}"
    return schema.name
