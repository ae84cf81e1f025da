"""Random Avro schemas and data, held against the libraries for Avro."""

from __future__ import annotations

import io
import json
from typing import Any

import avro.schema
import fastavro
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from fastavro.validation import validate
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.schemas.avro.compatibility import problems
from emulator.schemas.avro.definition import parse
from emulator.schemas.avro.schema import AvroSchema
from tests.spec import spec

Draw = Any
_INT = 2**31
_LONG = 2**63
DATA: dict[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(-_INT, _INT - 1),
    "long": st.integers(-_LONG, _LONG - 1),
    "float": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "bytes": st.binary(max_size=80),
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=80),
}
PRIMITIVES = sorted(DATA)
SYMBOLS = ["A", "B", "C"]


class Definition:
    """Draws a definition and, with it, one that a developer might make of it."""

    def __init__(self, draw: Draw, *, is_changed: bool) -> None:
        self._draw = draw
        self._is_changed = is_changed
        self._names = 0

    def _changes(self) -> bool:
        return self._is_changed and self._draw(st.integers(0, 7)) == 7

    def _name(self) -> str:
        self._names += 1
        return f"N{self._names}"

    def pair(self, depth: int = 0) -> tuple[Any, Any]:
        if depth < 3 and self._changes():
            return self.pair(depth + 1)[0], self.pair(depth + 1)[1]
        kinds = ["primitive", "enum", "fixed", "union"]
        if depth < 3:
            kinds += ["record", "record", "array", "map"]
        return getattr(self, f"_{self._draw(st.sampled_from(kinds))}")(depth)

    def _primitive(self, depth: int) -> tuple[Any, Any]:
        kind = st.sampled_from(PRIMITIVES)
        older = self._draw(kind)
        return older, self._draw(kind) if self._changes() else older

    def _enum(self, depth: int) -> tuple[Any, Any]:
        symbols = self._draw(st.lists(st.sampled_from(SYMBOLS), min_size=1, unique=True))
        older = {"type": "enum", "name": self._name(), "symbols": symbols}
        newer = dict(older)
        if self._changes():
            newer["symbols"] = SYMBOLS
        if self._draw(st.booleans()):
            newer["default"] = symbols[0]
        return older, newer

    def _fixed(self, depth: int) -> tuple[Any, Any]:
        older = {"type": "fixed", "name": self._name(), "size": self._draw(st.integers(1, 4))}
        return older, older | {"size": 5} if self._changes() else older

    def _union(self, depth: int) -> tuple[Any, Any]:
        kinds = st.lists(st.sampled_from(PRIMITIVES), min_size=1, max_size=3, unique=True)
        older = self._draw(kinds)
        return older, self._draw(kinds) if self._changes() else older

    def _array(self, depth: int) -> tuple[Any, Any]:
        older, newer = self.pair(depth + 1)
        return {"type": "array", "items": older}, {"type": "array", "items": newer}

    def _map(self, depth: int) -> tuple[Any, Any]:
        older, newer = self.pair(depth + 1)
        return {"type": "map", "values": older}, {"type": "map", "values": newer}

    def _record(self, depth: int) -> tuple[Any, Any]:
        name = self._name()
        older, newer = [], []
        for number in range(self._draw(st.integers(1, 4))):
            old, new = self.pair(depth + 1)
            has_default = self._draw(st.booleans())
            more = {"default": _default(old)} if has_default and _has_default(old) else {}
            if not self._changes():
                older.append({"name": f"f{number}", "type": old} | more)
            more = {"default": _default(new)} if has_default and _has_default(new) else {}
            if not self._changes():
                newer.append({"name": f"f{number}", "type": new} | more)
        made = [{"type": "record", "name": name, "fields": fields} for fields in (older, newer)]
        return made[0], made[1]


_DEFAULTS: dict[str, Any] = {
    "null": None, "boolean": False, "int": 0, "long": 0, "float": 0.0, "double": 0.0, "bytes": "",
    "string": "",
}  # fmt: skip


def _has_default(definition: Any) -> bool:
    return isinstance(definition, str) or (
        isinstance(definition, dict) and definition["type"] in ("array", "map")
    )


def _default(definition: Any) -> Any:
    if isinstance(definition, str):
        return _DEFAULTS[definition]
    return [] if definition["type"] == "array" else {}


@st.composite
def definitions(draw: Draw) -> Any:
    return Definition(draw, is_changed=False).pair()[0]


@st.composite
def changed(draw: Draw) -> tuple[Any, Any]:
    return Definition(draw, is_changed=True).pair()


def data(definition: Any) -> st.SearchStrategy[Any]:
    """What fits a definition; of a union's branches, what names itself."""
    if isinstance(definition, str):
        return DATA[definition]
    if isinstance(definition, list):
        return st.one_of(*(st.tuples(st.just(name), DATA[name]) for name in definition))
    match definition["type"]:
        case "enum":
            return st.sampled_from(definition["symbols"])
        case "fixed":
            return st.binary(min_size=definition["size"], max_size=definition["size"])
        case "array":
            return st.lists(data(definition["items"]), max_size=3)
        case "map":
            # fastavro's JSON writer does not take the empty key.
            keys = DATA["string"].filter(bool)
            return st.dictionaries(keys, data(definition["values"]), max_size=3)
    fields = {field["name"]: data(field["type"]) for field in definition["fields"]}
    return st.fixed_dictionaries(fields)


@st.composite
def with_data(draw: Draw) -> tuple[Any, Any]:
    definition = draw(definitions())
    return definition, draw(data(definition))


def binary(definition: Any, datum: Any) -> bytes:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(definition), datum)
    return buffer.getvalue()


def has_zero_width_items(definition: Any) -> bool:
    """Whether a few bytes can claim more items than any library ends to read."""
    return '"items": "null"' in json.dumps(definition)


@spec("AVR-02", "AVR-03")
@given(with_data())
def test_what_a_writer_writes_is_accepted(pair: tuple[Any, Any]) -> None:
    definition, datum = pair
    schema = AvroSchema(json.dumps(definition))
    assert schema.check_binary(binary(definition, datum)) is None
    text = io.StringIO()
    fastavro.json_writer(text, fastavro.parse_schema(definition), [datum])
    assert schema.check_json(text.getvalue().encode()) is None


@st.composite
def mutated(draw: Draw) -> tuple[Any, bytes]:
    definition, datum = draw(with_data().filter(lambda pair: not has_zero_width_items(pair[0])))
    payload = bytearray(binary(definition, datum))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(payload)))
        match draw(st.sampled_from(["change", "insert", "cut", "drop"])):
            case "insert":
                payload.insert(at, draw(st.integers(0, 255)))
            case "change" if at < len(payload):
                payload[at] = draw(st.integers(0, 255))
            case "drop" if at < len(payload):
                del payload[at]
            case "cut":
                del payload[at:]
    return definition, bytes(payload)


@spec("AVR-02")
@settings(max_examples=300)
@given(mutated())
def test_other_bytes_are_accepted_only_if_they_decode_exactly(pair: tuple[Any, bytes]) -> None:
    definition, payload = pair
    is_accepted = AvroSchema(json.dumps(definition)).check_binary(payload) is None
    parsed = fastavro.parse_schema(definition)
    buffer = io.BytesIO(payload)
    try:
        datum = fastavro.schemaless_reader(buffer, parsed, None, return_named_type=True)
    except Exception:
        assert not is_accepted
        return
    if buffer.tell() != len(payload):
        assert not is_accepted
    elif _is_written_the_same(parsed, datum, payload):
        # What is not can be valid too (a number with a byte too many), or be one of fastavro's
        # leniencies (an int of 64 bits, an enum's index below 0).
        assert is_accepted


def _is_written_the_same(parsed: Any, datum: Any, payload: bytes) -> bool:
    if not validate(datum, parsed, raise_errors=False):
        return False
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, parsed, datum)
    return buffer.getvalue() == payload


@spec("SCH-32")
@settings(max_examples=300)
@given(changed())
def test_compatibility_is_that_of_avro(pair: tuple[Any, Any]) -> None:
    older, newer = (json.dumps(definition) for definition in pair)
    for reader, writer in ((older, newer), (newer, older)):
        # Its results are shared between calls, and merging changes them: a checker each.
        wanted = ReaderWriterCompatibilityChecker().get_compatibility(
            avro.schema.parse(reader), avro.schema.parse(writer)
        )
        is_compatible = wanted.compatibility is SchemaCompatibilityType.compatible
        found = problems(parse(reader), parse(writer))
        assert (not found) == is_compatible, (reader, writer, found, wanted.messages)


@spec("SCH-32")
@given(definitions())
def test_a_definition_may_follow_itself(definition: Any) -> None:
    text = json.dumps(definition)
    assert AvroSchema(text).incompatibilities(AvroSchema(text)) == []
