"""What is an Avro schema and what is none."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from emulator.schemas.avro.definition import NESTING
from emulator.schemas.avro.schema import AvroSchema
from emulator.schemas.failures import BadDefinition
from tests.schemas.avro_tables import INNER, VALID, Row, array, enum, fixed, map_of, record
from tests.spec import spec


def field(name: str, of_type: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": of_type, **more}


def of(*fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": list(fields)}


def nested(depth: int) -> Any:
    definition: Any = "int"
    for _ in range(depth):
        definition = array(definition)
    return definition


@spec("AVR-01")
@pytest.mark.parametrize("row", VALID, ids=str)
def test_good_definitions(row: Row) -> None:
    AvroSchema(json.dumps(row.definition))


@spec("AVR-08")
@pytest.mark.parametrize(
    "definition",
    [
        of(field("a", "string", default=None)),  # defaults need not be of their type
        of(field("a", ["null", "int"], default=3)),
        {"type": "error", "name": "Failure", "fields": []},
        {"type": {"type": "string"}},
        {"type": ["null", "string"]},
        {"type": "string", "logicalType": "decimal", "doc": "d", "more": 1},
        record("int", name="a.b.C", namespace="ignored"),
        record("int", name="C", namespace=""),
        of(field("a", INNER), field("b", "shop.events.Inner")),
        of(field("a", enum("A", aliases=["Old", "x.Older"])), field("b", "E")),
        of(field("a", "int", aliases=["b"], doc="d", order="ignore")),
        {"type": "record", "name": "R", "namespace": "n", "fields": [field("a", ["null", "R"])]},
        [record("int", name="A"), record("int", name="B")],
        ["int", "long", "float", "double", array("int"), map_of("int"), enum("A"), fixed(1)],
        nested(NESTING),
    ],
    ids=lambda each: str(each)[:60],
)
def test_unusual_definitions(definition: Any) -> None:
    AvroSchema(json.dumps(definition))


@spec("AVR-01", "AVR-08")
@pytest.mark.parametrize(
    ("definition", "said"),
    [
        (3, "not a type"),
        (None, "not a type"),
        ({}, "not a type"),
        ({"type": None}, "not a type"),
        ("nope", "unknown type"),
        ({"type": "nope"}, "unknown type"),
        (array("Later"), "unknown type"),
        ({"type": "array"}, '"items" is missing'),
        ({"type": "map"}, '"values" is missing'),
        ({"type": "record", "name": "R"}, '"fields" is missing'),
        ({"type": "record", "fields": []}, '"name" is missing'),
        ({"type": "record", "name": "R", "fields": {}}, "not a list"),
        ({"type": "record", "name": "R", "fields": ["a"]}, "not an object"),
        (of({"type": "int"}), "not a name"),
        (of({"name": "a"}), "has no type"),
        (of(field("a-b", "int")), "not a name"),
        (of(field("1a", "int")), "not a name"),
        (of(field("ä", "int")), "not a name"),
        (of(field("a.b", "int")), "not a name"),
        (of(field("a", "int"), field("a", "int")), "twice"),
        (of(field("a", "int", aliases="b")), "not a list of texts"),
        (record(name="1R"), "not a name"),
        (record(name="R-"), "not a name"),
        (record(name="a..b"), "not a name"),
        (record(name="R", namespace="a-b"), "not a namespace"),
        (record(name="R", namespace=3), "not a namespace"),
        (record(name=3), "not a name"),  # type: ignore[arg-type]
        (record(name="int"), "may not be called"),
        (["null", "null"], "twice"),
        (["int", {"type": "int", "logicalType": "date"}], "twice"),
        ([array("int"), array("string")], "twice"),
        ([record(name="A"), record(name="A")], "defined twice"),
        ([enum("A"), "E"], "twice"),
        (["null", ["string"]], "another union"),
        (enum("A", "A"), "twice"),
        (enum("A-"), "not a name"),
        (enum("1"), "not a name"),
        ({"type": "enum", "name": "E"}, '"symbols" is missing'),
        ({"type": "enum", "name": "E", "symbols": "AB"}, "not a list of texts"),
        ({"type": "enum", "name": "E", "symbols": [1]}, "not a list of texts"),
        (enum("A", default="Z"), "none of its symbols"),
        (fixed(-1), "not a number of bytes"),
        (fixed("3"), "not a number of bytes"),  # type: ignore[arg-type]
        (fixed(True), "not a number of bytes"),
        ({"type": "fixed", "name": "F"}, '"size" is missing'),
        (nested(NESTING + 1), "levels deep"),
    ],
    ids=lambda each: str(each)[:60],
)
def test_bad_definitions(definition: Any, said: str) -> None:
    with pytest.raises(BadDefinition, match=re.escape(said)):
        AvroSchema(json.dumps(definition))


@spec("AVR-01")
@pytest.mark.parametrize(
    "text",
    ["", "string", "{", '"int" "int"', '{"type": "int",}', "NaN", "[" * 100_000, "1" * 5_000],
    ids=lambda text: text[:20],
)
def test_what_is_not_json(text: str) -> None:
    with pytest.raises(BadDefinition, match="not JSON"):
        AvroSchema(text)


def test_a_long_chain_of_records_is_not_followed_to_its_end() -> None:
    chain: list[Any] = [record("int", name="R0")]
    chain += [record(f"R{number}", name=f"R{number + 1}") for number in range(3_000)]
    schema = AvroSchema(json.dumps(chain))
    assert schema.check_binary(b"\x02\x00") is None  # R1
    problem = schema.check_binary(b"\xf0\x2e\x00")  # R3000
    assert problem == "Nested more than 200 levels deep."
