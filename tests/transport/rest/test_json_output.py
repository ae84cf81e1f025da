"""The JSON of answers: spelling, omission, form."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.api import iam, pubsub, rpc, schema, wkt
from emulator.engine.values.errors import Code, FailedPrecondition, InvalidArgument, NotFound
from emulator.transport.http_answers import STATUS, error_response
from emulator.transport.rest.json_output import as_json, encode
from tests.spec import spec


@spec("RST-20", "RST-21", "RST-22", "RST-23", "RST-24", "RST-25", "RST-26", "LBL-03")
@pytest.mark.parametrize(
    ("message", "value"),
    [
        (pubsub.Topic(), {}),
        (pubsub.Topic(name="t"), {"name": "t"}),
        (pubsub.Topic(labels={}, schema_settings={}), {"schemaSettings": {}}),
        (pubsub.Subscription(push_config=pubsub.PushConfig()), {"pushConfig": {}}),
        (pubsub.Subscription(ack_deadline_seconds=20), {"ackDeadlineSeconds": 20}),
        (pubsub.CloudStorageConfig(max_bytes=2**53), {"maxBytes": "9007199254740992"}),
        (pubsub.PubsubMessage(data=b"\xfb\xff"), {"data": "+/8="}),
        (pubsub.PubsubMessage(data=b"a", attributes={"x": ""}),
         {"data": "YQ==", "attributes": {"x": ""}}),
        (pubsub.Topic(message_retention_duration=wkt.Duration(seconds=600)),
         {"messageRetentionDuration": "600s"}),
        (pubsub.Topic(message_retention_duration=wkt.Duration(seconds=600, nanos=500_000_000)),
         {"messageRetentionDuration": "600.500s"}),
        (pubsub.Topic(message_retention_duration=wkt.Duration(nanos=1_000)),
         {"messageRetentionDuration": "0.000001s"}),
        (pubsub.Topic(message_retention_duration=wkt.Duration(nanos=1)),
         {"messageRetentionDuration": "0.000000001s"}),
        (pubsub.Snapshot(expire_time=wkt.Timestamp(seconds=1)),
         {"expireTime": "1970-01-01T00:00:01Z"}),
        (pubsub.Snapshot(expire_time=wkt.Timestamp(seconds=1, nanos=372_000_000)),
         {"expireTime": "1970-01-01T00:00:01.372Z"}),
        (pubsub.Snapshot(expire_time=wkt.Timestamp(seconds=1, nanos=1)),
         {"expireTime": "1970-01-01T00:00:01.000000001Z"}),
        (schema.Schema(type=schema.Schema.AVRO), {"type": "AVRO"}),
        (schema.Schema(type=77), {"type": 77}),
        (pubsub.UpdateTopicRequest(update_mask=wkt.FieldMask(paths=["kms_key_name", "a.b_c"])),
         {"updateMask": "kmsKeyName,a.bC"}),
        (iam.Policy(etag=b"\0\x20\x01"), {"etag": "ACAB"}),
        (pubsub.ListTopicsResponse(), {}),
        (wkt.Empty(), {}),
    ],
)  # fmt: skip
def test_spelling(message: Any, value: dict[str, Any]) -> None:
    assert as_json(message) == value


@spec("RST-26")
def test_enums_as_numbers() -> None:
    assert as_json(schema.Schema(type=schema.Schema.AVRO), has_enum_numbers=True) == {"type": 2}


@spec("RST-31")
def test_pretty_form() -> None:
    value = {"name": "ó", "pushConfig": {}, "list": [1]}
    assert encode(value).decode() == (
        '{\n  "name": "ó",\n  "pushConfig": {},\n  "list": [\n    1\n  ]\n}\n'
    )
    assert encode({}) == b"{}\n"
    assert encode(value, is_pretty=False).decode() == '{"name":"ó","pushConfig":{},"list":[1]}\n'


def test_text_that_utf_8_cannot_say_is_replaced() -> None:
    assert encode({"a": "\udcff"}, is_pretty=False) == b'{"a":"?"}\n'


@spec("RST-50", "RST-40")
def test_error_without_details() -> None:
    response = error_response(NotFound("Gone."))
    assert response.status == 404
    assert response.headers["Content-Type"] == "application/json; charset=UTF-8"
    assert response.body == encode(
        {"error": {"code": 404, "message": "Gone.", "status": "NOT_FOUND"}}
    )


@spec("RST-50")
def test_error_with_details() -> None:
    info = wkt.Any()
    info.Pack(rpc.ErrorInfo(reason="R", domain="d", metadata={"k": "v"}))
    response = error_response(InvalidArgument("Bad.", [info]), is_pretty=False)
    detail = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "R", "domain": "d", "metadata": {"k": "v"},
    }  # fmt: skip
    error = {"code": 400, "message": "Bad.", "status": "INVALID_ARGUMENT", "details": [detail]}
    assert response.body == encode({"error": error}, is_pretty=False)


@spec("RST-51")
def test_every_code_has_its_status() -> None:
    assert {code.name: status for code, status in STATUS.items()} == {
        "CANCELLED": 499, "UNKNOWN": 500, "INVALID_ARGUMENT": 400, "DEADLINE_EXCEEDED": 504,
        "NOT_FOUND": 404, "ALREADY_EXISTS": 409, "PERMISSION_DENIED": 403,
        "RESOURCE_EXHAUSTED": 429, "FAILED_PRECONDITION": 400, "ABORTED": 409, "OUT_OF_RANGE": 400,
        "UNIMPLEMENTED": 501, "INTERNAL": 500, "UNAVAILABLE": 503, "DATA_LOSS": 500,
        "UNAUTHENTICATED": 401,
    }  # fmt: skip
    assert STATUS.keys() == set(Code)
    assert error_response(FailedPrecondition("x")).status == 400
