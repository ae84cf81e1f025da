"""Which payloads are messages of a protobuf schema."""

from __future__ import annotations

import pytest
from google.protobuf import json_format

from tests.schemas.protobuf import PROTO2, PROTO3, compiled, root
from tests.schemas.protobuf_tables import (
    INVALID_BINARY,
    INVALID_JSON,
    VALID_BINARY,
    VALID_JSON,
)
from tests.spec import spec


def name(each: str) -> str:
    return each[:50] if len(each) < 200 else "…"


def encoded(definition: str, text: str) -> bytes:
    """A message as the class of a definition writes it."""
    made = root(definition)
    message = json_format.Parse(text, made.message(), descriptor_pool=made.pool)
    return message.SerializeToString()


def test_the_tables_are_large_enough() -> None:
    assert len(VALID_JSON) >= 60  # each of them in binary as well
    assert min(len(INVALID_JSON), len(INVALID_BINARY)) >= 60


@spec("PRO-03")
@pytest.mark.parametrize(("definition", "text"), VALID_JSON, ids=name)
def test_good_json(definition: str, text: str) -> None:
    assert compiled(definition).check_json(text.encode()) is None


@spec("PRO-02")
@pytest.mark.parametrize(("definition", "text"), VALID_JSON, ids=name)
def test_good_binary_of_a_class(definition: str, text: str) -> None:
    assert compiled(definition).check_binary(encoded(definition, text)) is None


@spec("PRO-02")
@pytest.mark.parametrize(("definition", "digits"), VALID_BINARY, ids=name)
def test_good_binary(definition: str, digits: str) -> None:
    assert compiled(definition).check_binary(bytes.fromhex(digits)) is None


@spec("PRO-03", "AVR-07")
@pytest.mark.parametrize(("definition", "text"), INVALID_JSON, ids=name)
def test_bad_json(definition: str, text: str) -> None:
    problem = compiled(definition).check_json(text.encode())
    assert problem
    assert len(problem) < 300


@spec("PRO-02")
@pytest.mark.parametrize(("definition", "digits"), INVALID_BINARY, ids=name)
def test_bad_binary(definition: str, digits: str) -> None:
    assert compiled(definition).check_binary(bytes.fromhex(digits))


@spec("PRO-02")
def test_what_is_said_of_fields_that_are_missing_or_too_many() -> None:
    check = compiled(PROTO3).check_binary
    unknown = "The data has fields that the schema does not have"
    assert check(bytes.fromhex("f00101")) == f"{unknown}: 30"
    assert check(bytes.fromhex("8a01021801")) == f"{unknown}: 3"
    assert check(bytes.fromhex("aa010608011202 1801")) == f"{unknown}: 3"
    missing = "Required fields are not set"
    assert compiled(PROTO2).check_binary(b"") == f"{missing}: id"
    assert compiled(PROTO2).check_json(b'{"id": "a", "line": [{}]}') == f"{missing}: line[0].price"


@spec("PRO-02")
def test_a_deep_message_is_refused_and_not_followed() -> None:
    payload = b""
    for _ in range(150):
        payload = b"\xd2\x01" + _length(len(payload)) + payload
    assert compiled(PROTO3).check_binary(payload)


def _length(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128, value >> 7])


@spec("SCH-22")
def test_an_empty_payload() -> None:
    assert compiled(PROTO3).check_binary(b"") is None
    assert compiled(PROTO3).check_json(b"")


@spec("PRO-01")
def test_each_schema_has_names_of_its_own() -> None:
    one = compiled('syntax = "proto3"; package same; message Name { string text = 1; }')
    other = compiled('syntax = "proto3"; package same; message Name { int32 number = 1; }')
    assert one.check_json(b'{"text": "a"}') is None
    assert one.check_json(b'{"number": 1}')
    assert other.check_json(b'{"number": 1}') is None
