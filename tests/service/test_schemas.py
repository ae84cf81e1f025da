"""The SchemaService on the wire: what its compiling does to the rest of the server."""

from __future__ import annotations

import grpc
import pytest
from google.protobuf import descriptor_pb2

from emulator.api import pubsub, schema
from emulator.api.rpc import ErrorInfo, Status
from emulator.testing import Emulator
from tests.spec import spec
from tests.wire import HANG_LIMIT_S, Names, Wire, refusal

AVRO = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}]}'
PROTO = 'syntax = "proto3"; message R { string a = 1; }'


def create(names: Names, definition: str = PROTO, kind: str = "PROTOCOL_BUFFER") -> object:
    return schema.CreateSchemaRequest(
        parent=f"projects/{names.project}",
        schema_id="schema",
        schema=schema.Schema(type=kind, definition=definition),
    )


def info_of(error: grpc.RpcError) -> ErrorInfo:
    [encoded] = [
        value for key, value in error.trailing_metadata() if key == "grpc-status-details-bin"
    ]
    [detail] = Status.FromString(encoded).details
    info = ErrorInfo()
    assert detail.Unpack(info)
    return info


@spec("SCH-21", "ERR-60", "ERR-91", "PUB-50")
def test_the_details_of_a_refused_message_fit_what_clients_read(wire: Wire, names: Names) -> None:
    made = wire("CreateSchema", create(names, AVRO, "AVRO"))
    settings = pubsub.SchemaSettings(schema=made.name, encoding="JSON")
    wire("CreateTopic", pubsub.Topic(name=names.topic(), schema_settings=settings))
    error = refusal(
        lambda: wire.publish(names.topic(), b'{"a": "x"}', b'{"%s": 1}' % (b"x" * 90_000))
    )
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert info_of(error).metadata["messageIndex"] == "1"
    assert sum(len(str(item)) for item in error.trailing_metadata()) < 6_000
    error = refusal(lambda: wire.publish(names.topic(), b'{"a": %s}' % (b"[" * 90_000)))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    "definition",
    ["message M {" * 25_000, "message A { oneof a { " * 10_000, "/*" * 140_000],
    ids=lambda text: text[:20],
)
def test_others_are_served_while_a_hostile_definition_is_compiled(
    wire: Wire, other_wire: Wire, names: Names, definition: str
) -> None:
    pending = wire.start("CreateSchema", create(names, definition))
    other_wire.create(names.topic(), names.subscription())
    other_wire.publish(names.topic(), b"a")
    assert [each.message.data for each in other_wire.pull(names.subscription())] == [b"a"]
    error = pending.exception(HANG_LIMIT_S)
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "Could not parse schema" in error.details()
    wire("CreateSchema", create(names))


def test_a_hostile_compiled_definition(wire: Wire, names: Names) -> None:
    """Descriptors within descriptors, deeper than a parser goes, and bytes that are none."""
    nested = descriptor_pb2.DescriptorProto(name="M").SerializeToString()
    for _ in range(5_000):
        length = len(nested)
        nested = (
            b"\x0a\x01M\x1a"
            + bytes([length & 127 | 128, length >> 7 & 127 | 128, length >> 14])
            + nested
        )
    for encoded in (nested, b"\x0a\xff\xff\xff\x7f" * 10_000, b"\x00" * 250_000):
        given = create(names, "")
        given.schema.compiled_proto_schema.root_message = "M"  # type: ignore[attr-defined]
        given.schema.compiled_proto_schema.compiled_bytes = encoded  # type: ignore[attr-defined]
        error = refusal(lambda given=given: wire("CreateSchema", given))
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT, error.details()
    wire("CreateSchema", create(names))


def test_a_caller_may_leave_while_a_definition_is_compiled(wire: Wire, names: Names) -> None:
    for _ in range(5):
        wire.start("CreateSchema", create(names, "message M { // another\n}")).cancel()
    wire("ValidateSchema", schema.ValidateSchemaRequest(
        parent=f"projects/{names.project}",
        schema=schema.Schema(type="PROTOCOL_BUFFER", definition=PROTO),
    ))  # fmt: skip


def test_a_server_stops_while_a_definition_is_compiled(names: Names) -> None:
    with Emulator() as emulator:
        wire = Wire(emulator.host_port)
        pending = [
            wire.start("CreateSchema", create(names, f"message M{number} {{}}"))
            for number in range(8)
        ]
        # It has been heard: the last of the same connection is behind all others.
        refusal(lambda: wire("GetTopic", pubsub.GetTopicRequest(topic=names.topic())))
    for each in pending:
        error = each.exception(HANG_LIMIT_S)
        codes = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.ALREADY_EXISTS)
        assert error is None or error.code() in codes, error.details()
    wire.close()


def test_two_who_create_the_same_schema_at_once(wire: Wire, other_wire: Wire, names: Names) -> None:
    pending = [each.start("CreateSchema", create(names)) for each in (wire, other_wire) * 2]
    errors = [each.exception(HANG_LIMIT_S) for each in pending]
    codes = sorted("OK" if error is None else error.code().name for error in errors)
    assert codes == ["ALREADY_EXISTS"] * 3 + ["OK"]


def test_a_reset_forgets_schemas(own_emulator: Emulator, names: Names) -> None:
    wire = Wire(own_emulator.host_port)
    made = wire("CreateSchema", create(names))
    own_emulator.reset()
    error = refusal(lambda: wire("GetSchema", schema.GetSchemaRequest(name=made.name)))
    assert error.code() is grpc.StatusCode.NOT_FOUND
    assert wire("CreateSchema", create(names)).name == made.name
    wire.close()
