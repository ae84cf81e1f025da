"""Which definition may follow which (SCH-30..34)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from emulator.schemas.avro import compatibility
from emulator.schemas.avro.schema import AvroSchema
from tests.schemas.avro_tables import NODE, array, enum, fixed, map_of, record
from tests.schemas.protobuf import compiled
from tests.spec import spec


def avro(definition: Any) -> AvroSchema:
    return AvroSchema(json.dumps(definition))


def of(*fields: dict[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def field(name: str, of_type: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": of_type, **more}


ID = field("id", "string")
NOTE = field("note", ["null", "string"], default=None)


@spec("SCH-32")
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (of(ID), of(ID)),
        (of(ID), of(ID, NOTE)),
        (of(ID, NOTE), of(ID)),
        (of(ID, NOTE), of(NOTE, ID)),
        (of(ID), of(ID, doc := field("more", array("int"), default=[]))),
        (of(ID), of(field("id", "string", default="x", doc="d"))),
        (of(field("id", "string")), of(field("id", "bytes"))),  # either can be read as the other
        (of(field("e", enum("A", "B"))), of(field("e", enum("B", "A")))),
        (
            of(field("e", enum("A", default="A"))),
            of(field("e", enum("A", "B", default="A"))),
        ),
        (of(field("u", ["null", "int"])), of(field("u", ["int", "null"]))),
        (of(ID, name="x.R"), of(ID, name="y.R")),
        (NODE, NODE),
        ("string", {"type": "string", "logicalType": "uuid"}),
        (map_of(of(ID, doc)), map_of(of(ID))),
    ],
    ids=str,
)
def test_compatible_avro(older: Any, newer: Any) -> None:
    assert avro(newer).incompatibilities(avro(older)) == []


@spec("SCH-32", "ERR-61")
@pytest.mark.parametrize(
    ("older", "newer", "said"),
    [
        (of(ID), of(ID, field("more", "int")), "R.more of type int has no default and is not in R"),
        (of(ID, field("more", "int")), of(ID), "R.more of type int has no default and is not in R"),
        (
            of(field("n", "int")),
            of(field("n", "long")),  # one way only
            "R.n of type int is not compatible with R.n of type long",
        ),
        (
            of(field("n", "long")),
            of(field("n", "double")),
            "R.n of type long is not compatible with R.n of type double",
        ),
        (
            of(field("n", "string")),
            of(field("n", "int")),
            "R.n of type int is not compatible with R.n of type string",
        ),
        (of(ID), of(field("ident", "string")), "R.ident of type string has no default"),
        (
            of(ID),
            of(
                field("ident", "string", aliases=["id"])
            ),  # the older one does not know the new name
            "R.id of type string has no default and is not in R",
        ),
        (of(ID, name="Old"), of(ID, name="New"), "record New is not compatible"),
        (
            of(field("e", enum("A"))),
            of(field("e", enum("A", "B"))),
            "R.e of type enum E has no default and lacks the symbols B of R.e",
        ),
        (
            of(field("f", fixed(2))),
            of(field("f", fixed(3))),
            "R.f of type fixed F of 3 bytes is not compatible with R.f of type fixed F of 2 bytes",
        ),
        (
            of(field("u", "string")),
            of(field("u", ["null", "string"])),
            "R.u of type string is not compatible with R.u of type null",
        ),
        (
            of(field("u", ["null", "string"])),
            of(field("u", ["null", "int"])),
            "R.u of type union<null, int> is not compatible with R.u of type string",
        ),
        (
            of(field("a", array("int"))),
            of(field("a", array("string"))),
            "R.a[] of type string is not compatible with R.a[] of type int",
        ),
        (
            of(field("m", map_of("int"))),
            of(field("m", map_of("string"))),
            "R.m{} of type string is not compatible with R.m{} of type int",
        ),
        (of(field("a", array("int"))), of(field("a", map_of("int"))), "map<int>"),
        (NODE, record("string", ["null", "Node"], name="Node"), "Node.f0 of type string"),
        ("string", "int", "schema of type int is not compatible with schema of type string"),
    ],
    ids=str,
)
def test_incompatible_avro(older: Any, newer: Any, said: str) -> None:
    problems = avro(newer).incompatibilities(avro(older))
    assert any(said in problem for problem in problems), problems


@spec("SCH-32")
def test_records_that_contain_each_other_are_compared_to_the_end() -> None:
    """What was taken for compatible on the way is looked at again once it turns out not to be."""

    def ring(inner: str) -> Any:
        second = of(field("back", ["null", "A"]), field("n", inner), name="B")
        return of(field("b", ["null", second]), field("b2", ["null", "B"]), name="A")

    assert avro(ring("int")).incompatibilities(avro(ring("int"))) == []
    assert avro(ring("int")).incompatibilities(avro(ring("string")))


def test_comparing_ends_whatever_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    branches = [fixed(1, f"F{number}") for number in range(2_000)]
    others = [fixed(1, f"G{number}") for number in range(2_000)]
    assert avro(branches).incompatibilities(avro(branches)) == []
    assert len(avro(branches).incompatibilities(avro(others))) == 10  # five each way
    nested, name = record("int", name="R"), "R"
    for number in range(15):  # without memory of what was compared it would take 4^15 steps
        both = field("a", ["null", nested]), field("b", ["null", name])
        nested, name = of(*both, name=f"R{number}"), f"R{number}"
    assert avro(nested).incompatibilities(avro(nested)) == []
    monkeypatch.setattr(compatibility, "STEPS", 50)
    [first, _] = avro(branches).incompatibilities(avro(branches))
    assert first == "The schemas are too large to be compared"


def message(*fields: str, name: str = "M", syntax: str = "proto3", package: str = "") -> str:
    head = f"package {package}; " if package else ""
    return f'syntax = "{syntax}"; {head}message {name} {{ {"; ".join((*fields, ""))} }}'


@spec("SCH-30")
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (message("string a = 1"), message("string a = 1")),
        (message("string a = 1"), message("string a = 1", "int32 b = 2")),
        (message("string a = 1", "int32 b = 2"), message("string a = 1")),
        (message("string a = 1"), message("string a = 1", "repeated int32 b = 2")),
        (message("string a = 1"), message("string a = 1", "map<string, int32> b = 2")),
        (message("string a = 1"), message("optional string a = 1")),
        (message("string a = 1", name="Old"), message("string a = 1", name="New")),
        (message("string a = 1", package="old"), message("string a = 1", package="new.one")),
        (message("M m = 1", package="a"), message("M m = 1", package="b")),
        (
            message("Old o = 1", "N n = 2", "message N { N n = 1; }", name="Old"),
            message("New o = 1", "N n = 2", "message N { N n = 1; }", name="New"),
        ),
        (
            message("required string a = 1", syntax="proto2"),
            message("required string a = 1", "optional int32 b = 2", syntax="proto2"),
        ),
        (
            message("N n = 1", "message N { string a = 1; }"),
            message("N n = 1", "message N { string a = 1; int32 b = 2; }"),
        ),
        (
            message("E e = 1", "enum E { A = 0; }"),
            message("E e = 1", "enum E { A = 0; B = 1; }"),
        ),
    ],
    ids=str,
)
def test_compatible_protobuf(older: str, newer: str) -> None:
    assert compiled(newer).incompatibilities(compiled(older)) == []


@spec("SCH-30", "ERR-61")
@pytest.mark.parametrize(
    ("older", "newer", "said"),
    [
        (
            message("string a = 1"),
            message("int32 a = 1"),
            "M.a of type int32 is not compatible with M.a of type string",
        ),
        (
            message("int32 a = 1"),
            message("int64 a = 1"),
            "M.a of type int64 is not compatible with M.a of type int32",
        ),
        (message("string a = 1"), message("string b = 1"), "M.b of number 1 is not compatible"),
        (message("string a = 1"), message("string a = 2"), "M.a of number 2 is not compatible"),
        (
            message("string a = 1"),
            message("repeated string a = 1"),
            "M.a, which is repeated, is not compatible with M.a, which is optional",
        ),
        (
            message("optional int32 a = 1", syntax="proto2"),
            message("required int32 a = 1", syntax="proto2"),
            "M.a, which is required, is not compatible",
        ),
        (
            message("optional int32 a = 1", syntax="proto2"),
            message("optional int32 a = 1", "required int32 b = 2", syntax="proto2"),
            "M.b of type int32 is required and cannot be added",
        ),
        (
            message("optional int32 a = 1", "required int32 b = 2", syntax="proto2"),
            message("optional int32 a = 1", syntax="proto2"),
            "M.b of type int32 is required and cannot be removed",
        ),
        (
            message("N n = 1", "message N { string a = 1; }"),
            message("N n = 1", "message N { bytes a = 1; }"),
            "M.N.a of type bytes is not compatible with M.N.a of type string",
        ),
        (
            message("N n = 1", "message N { string a = 1; }"),
            message("O n = 1", "message O { string a = 1; }"),
            "M.n of type message M.O is not compatible with M.n of type message M.N",
        ),
        (
            message("E e = 1", "enum E { A = 0; }"),
            message("int32 e = 1"),
            "M.e of type int32 is not compatible with M.e of type enum M.E",
        ),
        (
            message("map<string, int32> m = 1"),
            message("map<string, int64> m = 1"),
            "M.m of type map<string, int64> is not compatible with M.m of type map<string, int32>",
        ),
        (
            message("map<string, N> m = 1", "message N { string a = 1; }"),
            message("map<string, N> m = 1", "message N { bytes a = 1; }"),
            "M.N.a of type bytes",
        ),
        (
            'edition = "2023"; message M { int32 a = 1; }',
            'edition = "2023"; message M { int32 a = 1; '
            "int32 b = 2 [features.field_presence = LEGACY_REQUIRED]; }",
            "M.b of type int32 is required and cannot be added",
        ),
    ],
    ids=str,
)
def test_incompatible_protobuf(older: str, newer: str, said: str) -> None:
    problems = compiled(newer).incompatibilities(compiled(older))
    assert any(said in problem for problem in problems), problems


@spec("SCH-34")
def test_the_other_type_is_never_compatible() -> None:
    one, other = avro("string"), compiled(message("string a = 1"))
    assert one.incompatibilities(other)
    assert other.incompatibilities(one)
