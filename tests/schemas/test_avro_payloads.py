"""Which payloads fit an Avro schema."""

from __future__ import annotations

import io
import json
from typing import Any

import avro.io
import avro.schema
import pytest

from emulator.schemas.avro.schema import AvroSchema
from tests.schemas.avro_tables import (
    INVALID_BINARY,
    INVALID_JSON,
    NODE,
    VALID,
    Row,
    array,
    map_of,
    record,
)
from tests.spec import spec


def compiled(definition: Any) -> AvroSchema:
    return AvroSchema(json.dumps(definition))


def written(definition: Any, datum: Any) -> bytes:
    """A datum as the `avro` package writes it."""
    schema = avro.schema.parse(json.dumps(definition))
    buffer = io.BytesIO()
    avro.io.DatumWriter(schema).write(datum, avro.io.BinaryEncoder(buffer))
    return buffer.getvalue()


def test_the_tables_are_large_enough() -> None:
    assert min(map(len, (VALID, INVALID_JSON, INVALID_BINARY))) >= 60


@spec("AVR-03", "AVR-04", "AVR-06")
@pytest.mark.parametrize("row", VALID, ids=str)
def test_good_json(row: Row) -> None:
    assert compiled(row.definition).check_json(row.text.encode()) is None


@spec("AVR-02")
@pytest.mark.parametrize("row", VALID, ids=str)
def test_good_binary(row: Row) -> None:
    payload = written(row.definition, row.datum)
    assert compiled(row.definition).check_binary(payload) is None


@spec("AVR-03", "AVR-04", "AVR-05", "AVR-07")
@pytest.mark.parametrize(
    ("definition", "text", "said"), INVALID_JSON, ids=lambda each: str(each)[:60]
)
def test_bad_json(definition: Any, text: str, said: str) -> None:
    problem = compiled(definition).check_json(text.encode())
    assert problem is not None
    assert said in problem
    assert len(problem) < 200


@spec("AVR-02")
@pytest.mark.parametrize(
    ("definition", "digits", "said"), INVALID_BINARY, ids=lambda each: str(each)[:60]
)
def test_bad_binary(definition: Any, digits: str, said: str) -> None:
    problem = compiled(definition).check_binary(bytes.fromhex(digits))
    assert problem is not None
    assert said in problem


@spec("AVR-02")
@pytest.mark.parametrize("row", VALID, ids=str)
def test_a_byte_more_is_too_much_and_a_byte_less_too_little(row: Row) -> None:
    payload = written(row.definition, row.datum)
    check = compiled(row.definition).check_binary
    assert check(payload + b"\0") == "Too much data to parse for schema."
    if payload:
        assert check(payload[:-1]) is not None


@spec("AVR-02")
@pytest.mark.parametrize(
    ("definition", "digits"),
    [
        (array("int"), "03040204" + "00"),  # a block that says how long it is
        (array("int"), "0202" + "0204" + "00"),  # two blocks
        (array("null"), "feffffffffffffffff01" + "00"),  # more items than could be counted
        (array(record()), "feffffffffffffffff01" + "00"),
        (map_of("null"), "010402 61".replace(" ", "") + "00"),
        ("long", "8000"),  # a number with more bytes than it needs
        ("string", "8200" + "61"),
        (NODE, "0202" * 95 + "0200"),
    ],
)
def test_unusual_but_good_binary(definition: Any, digits: str) -> None:
    assert compiled(definition).check_binary(bytes.fromhex(digits)) is None


@spec("AVR-03")
@pytest.mark.parametrize(
    ("logical", "base", "text", "digits"),
    [
        ("timestamp-micros", "long", "1700000000000000", "80c0caf1bcb18506"),
        ("date", "int", "19000", "f0a802"),
        ("decimal", "bytes", '"\\u0001\\u00ff"', "0401ff"),
        ("uuid", "string", '"not-checked"', "166e6f742d636865636b6564"),
        ("a-type-of-ours", "string", '"a"', "0261"),
    ],
)
def test_logical_types_are_written_as_what_they_rest_on(
    logical: str, base: str, text: str, digits: str
) -> None:
    schema = compiled({"type": base, "logicalType": logical, "precision": 4})
    assert schema.check_json(text.encode()) is None
    assert schema.check_binary(bytes.fromhex(digits)) is None


@spec("AVR-07")
@pytest.mark.parametrize("payload", [b'"\xff"', b'\xff\xfe"\0a\0"\0', b"\x00", b""])
def test_json_is_utf_8(payload: bytes) -> None:
    problem = compiled("string").check_json(payload)
    assert problem is not None
    assert "not JSON" in problem


@spec("SCH-22")
def test_an_empty_payload_fits_only_what_has_no_bytes() -> None:
    assert compiled(record()).check_binary(b"") is None
    assert compiled(record("string")).check_binary(b"") is not None
    assert compiled(record()).check_json(b"") is not None


def test_more_empty_fields_than_could_be_counted() -> None:
    inner: dict[str, Any] = record("null", name="R0")
    for number in range(1, 60):
        inner = record(inner, f"R{number - 1}", name=f"R{number}")
    assert compiled(inner).check_binary(b"") is None
    assert compiled(array(inner)).check_binary(b"\xfe\xff\xff\xff\x0f\x00") is None
