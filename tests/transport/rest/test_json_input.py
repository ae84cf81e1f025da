"""The JSON of requests: what it may say, and the words for what it may not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from emulator.api import iam, pubsub, rpc, schema, wkt
from emulator.engine.values.errors import InvalidArgument
from emulator.transport.rest import json_input
from emulator.transport.rest.json_check import check_message
from emulator.transport.rest.violations import Violations
from tests.spec import spec

URL = "type.googleapis.com/"
DURATION = f"{URL}google.protobuf.Duration"
TIMESTAMP = f"{URL}google.protobuf.Timestamp"
MASK = f"{URL}google.protobuf.FieldMask"
DAY_S = 86_400


def read(message: Any, value: Any) -> Any:
    """Return the message that a body says, which is JSON text or what makes it."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    content = json_input.parse(body)
    violations = Violations()
    check_message(message.DESCRIPTOR, content, "", violations)
    violations.check()
    filled = message()
    json_input.fill(filled, content)
    return filled


def refused(message: Any, value: Any) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as caught:
        read(message, value)
    return caught.value


def violations_of(error: InvalidArgument) -> list[tuple[str, str]]:
    [detail] = error.details
    bad = rpc.BadRequest()
    assert detail.Unpack(bad)
    return [(each.field, each.description) for each in bad.field_violations]


ACCEPTED = [
    # RST-20: either spelling.
    (pubsub.Subscription, {"ackDeadlineSeconds": 20}, {"ack_deadline_seconds": 20}),
    (pubsub.Subscription, {"ack_deadline_seconds": 20}, {"ack_deadline_seconds": 20}),
    # RST-22: integers.
    (pubsub.Subscription, {"ackDeadlineSeconds": "20"}, {"ack_deadline_seconds": 20}),
    (pubsub.Subscription, {"ackDeadlineSeconds": 20.0}, {"ack_deadline_seconds": 20}),
    (pubsub.Subscription, b'{"ackDeadlineSeconds": 2e1}', {"ack_deadline_seconds": 20}),
    (pubsub.Subscription, {"ackDeadlineSeconds": "-0"}, {}),
    (pubsub.Subscription, {"ackDeadlineSeconds": 2**31 - 1}, {"ack_deadline_seconds": 2**31 - 1}),
    (pubsub.CloudStorageConfig, {"maxBytes": "9223372036854775807"}, {"max_bytes": 2**63 - 1}),
    (pubsub.CloudStorageConfig, {"maxBytes": 9223372036854775807}, {"max_bytes": 2**63 - 1}),
    # Booleans.
    (pubsub.Subscription, {"detached": True}, {"detached": True}),
    (pubsub.Subscription, {"detached": "true"}, {"detached": True}),
    (pubsub.Subscription, {"detached": "false"}, {}),
    # RST-23: either alphabet, padded or not.
    (pubsub.PubsubMessage, {"data": "+/8="}, {"data": b"\xfb\xff"}),
    (pubsub.PubsubMessage, {"data": "-_8="}, {"data": b"\xfb\xff"}),
    (pubsub.PubsubMessage, {"data": "-_8"}, {"data": b"\xfb\xff"}),
    (pubsub.PubsubMessage, {"data": "AA=="}, {"data": b"\0"}),
    (pubsub.PubsubMessage, {"data": "AA"}, {"data": b"\0"}),
    (pubsub.PubsubMessage, {"data": ""}, {}),
    # RST-24
    (pubsub.Topic, {"messageRetentionDuration": "600s"},
     {"message_retention_duration": wkt.Duration(seconds=600)}),
    (pubsub.Topic, {"messageRetentionDuration": "600.5s"},
     {"message_retention_duration": wkt.Duration(seconds=600, nanos=500_000_000)}),
    (pubsub.Topic, {"messageRetentionDuration": "0.000000001s"},
     {"message_retention_duration": wkt.Duration(nanos=1)}),
    (pubsub.Topic, {"messageRetentionDuration": "-1.5s"},
     {"message_retention_duration": wkt.Duration(seconds=-1, nanos=-500_000_000)}),
    (pubsub.Topic, {"messageRetentionDuration": "+1s"},
     {"message_retention_duration": wkt.Duration(seconds=1)}),
    (pubsub.Topic, {"messageRetentionDuration": "0s"},
     {"message_retention_duration": wkt.Duration()}),
    # RST-25
    (pubsub.SeekRequest, {"time": "1970-01-02T00:00:00Z"}, {"time": wkt.Timestamp(seconds=DAY_S)}),
    (pubsub.SeekRequest, {"time": "1970-01-02T01:00:00+01:00"},
     {"time": wkt.Timestamp(seconds=DAY_S)}),
    (pubsub.SeekRequest, {"time": "1970-01-02T00:00:00.123456789Z"},
     {"time": wkt.Timestamp(seconds=DAY_S, nanos=123_456_789)}),
    (pubsub.SeekRequest, {"time": "1970-01-02T00:00:00.5Z"},
     {"time": wkt.Timestamp(seconds=DAY_S, nanos=500_000_000)}),
    # RST-26
    (schema.Schema, {"type": "AVRO"}, {"type": schema.Schema.AVRO}),
    (schema.Schema, {"type": 2}, {"type": schema.Schema.AVRO}),
    (schema.Schema, {"type": "2"}, {"type": schema.Schema.AVRO}),
    (schema.Schema, {"type": 77}, {"type": 77}),
    # RST-20: masks.
    (pubsub.UpdateTopicRequest, {"updateMask": "labels,kmsKeyName"},
     {"update_mask": wkt.FieldMask(paths=["labels", "kms_key_name"])}),
    (pubsub.UpdateTopicRequest, {"updateMask": "labels,kms_key_name"},
     {"update_mask": wkt.FieldMask(paths=["labels", "kms_key_name"])}),
    (pubsub.UpdateSubscriptionRequest, {"updateMask": "pushConfig.pushEndpoint"},
     {"update_mask": wkt.FieldMask(paths=["push_config.push_endpoint"])}),
    (pubsub.UpdateTopicRequest, {"updateMask": ""}, {"update_mask": wkt.FieldMask()}),
    # RST-27
    (pubsub.Topic, {"name": None, "labels": None, "schemaSettings": None}, {}),
    (pubsub.PublishRequest, {"messages": None}, {}),
    (pubsub.PushConfig, {"oidcToken": None, "noWrapper": {}},
     {"no_wrapper": pubsub.PushConfig.NoWrapper()}),
    # Messages, maps and lists.
    (pubsub.Subscription, {"pushConfig": {}}, {"push_config": pubsub.PushConfig()}),
    (pubsub.Topic, {"labels": {"a": "b", "": ""}}, {"labels": {"a": "b", "": ""}}),
    (pubsub.AcknowledgeRequest, {"ackIds": ["a", ""]}, {"ack_ids": ["a", ""]}),
    (iam.Policy, {"bindings": [{"role": "r", "condition": {"expression": "e"}}]},
     {"bindings": [{"role": "r", "condition": {"expression": "e"}}]}),
    # Text beyond ASCII, as it is and escaped.
    (pubsub.AcknowledgeRequest, '{"ackIds": ["ó", "\\u00f3", "\\ud83d\\ude00"]}'.encode(),
     {"ack_ids": ["ó", "ó", "😀"]}),
    # RST-14
    (pubsub.Topic, b"", {}),
    (pubsub.Topic, b" \r\n\t", {}),
]  # fmt: skip


@spec("RST-14", "RST-20", "RST-22", "RST-23", "RST-24", "RST-25", "RST-26", "RST-27")
@pytest.mark.parametrize(("message", "value", "fields"), ACCEPTED)
def test_what_json_may_say(message: Any, value: Any, fields: dict[str, Any]) -> None:
    assert read(message, value) == message(**fields)


def unknown(name: str, at: str = "", problem: str = "Cannot find field.") -> str:
    place = f" at '{at}'" if at else ""
    return f'Invalid JSON payload received. Unknown name "{name}"{place}: {problem}'


NO_LIST = "Proto field is not repeating, cannot start list."
DEADLINE = "ack_deadline_seconds"

REFUSED = [
    # ERR-70
    (pubsub.Topic, {"nope": 1}, "", unknown("nope")),
    (pubsub.Topic, {"Name": "x"}, "", unknown("Name")),
    (pubsub.Topic, {"": "x"}, "", unknown("")),
    (pubsub.PublishRequest, {"messages": [{}, {"date": ""}]}, "messages[1]",
     unknown("date", "messages[1]")),
    (pubsub.Subscription, {"pushConfig": {"oidcToken": {"a": 1}}}, "push_config.oidc_token",
     unknown("a", "push_config.oidc_token")),
    (pubsub.Subscription, {"ackDeadlineSeconds": 1, DEADLINE: 1}, "",
     unknown(DEADLINE, problem='The field is set already, as "ackDeadlineSeconds".')),
    # ERR-71
    (pubsub.SeekRequest, {"time": "1970-01-02T00:00:00Z", "snapshot": "s"}, "",
     "Invalid value (oneof), oneof field 'target' is already set. Cannot set 'snapshot'"),
    (pubsub.Subscription, {"pushConfig": {"pubsubWrapper": {}, "noWrapper": {}}}, "push_config",
     "Invalid value at 'push_config' (oneof), oneof field 'wrapper' is already set. Cannot set "
     "'noWrapper'"),
    # ERR-72: texts.
    (pubsub.Topic, {"name": 1}, "name", "Invalid value at 'name' (TYPE_STRING), 1"),
    (pubsub.Topic, {"name": True}, "name", "Invalid value at 'name' (TYPE_STRING), true"),
    (pubsub.Topic, {"name": {}}, "name",
     "Invalid value at 'name' (TYPE_STRING), Starting an object on a scalar field"),
    (pubsub.Topic, {"name": []}, "", unknown("name", problem=NO_LIST)),
    (pubsub.Topic, {"schemaSettings": {"schema": []}}, "schema_settings",
     unknown("schema", "schema_settings", NO_LIST)),
    # Integers.
    *[(pubsub.Subscription, f'{{"ackDeadlineSeconds": {value}}}'.encode(), DEADLINE,
       f"Invalid value at 'ack_deadline_seconds' (TYPE_INT32), {shown or value}")
      for value, shown in (
          ('"x"', ""), ('""', ""), ("10.5", ""), ("2147483648", ""), ("-2147483649", ""),
          ("true", ""), ('"1_0"', ""), ('" 1"', ""), ('"10.0"', ""), ('"0x1"', ""), ('"+1"', ""),
          ('"１"', ""), ("1e400", "Infinity"), ('"99999999999999999999"', ""),
      )],
    (pubsub.CloudStorageConfig, {"maxBytes": 2**63}, "max_bytes",
     f"Invalid value at 'max_bytes' (TYPE_INT64), {2**63}"),
    # Booleans.
    (pubsub.Subscription, {"detached": 1}, "detached",
     "Invalid value at 'detached' (TYPE_BOOL), 1"),
    (pubsub.Subscription, {"detached": "yes"}, "detached",
     "Invalid value at 'detached' (TYPE_BOOL), \"yes\""),
    # RST-23
    *[(pubsub.PublishRequest, {"messages": [{"data": value}]}, "messages[0].data",
       f"Invalid value at 'messages[0].data' (TYPE_BYTES), Base64 decoding failed for \"{value}\"")
      for value in ("@@@@", "a", "abcde", "ab=", "ab===", "=", "====", "a b=", "YQ==\n", "é",
                    "a=aa")],
    (pubsub.PublishRequest, {"messages": [{"data": 5}]}, "messages[0].data",
     "Invalid value at 'messages[0].data' (TYPE_BYTES), 5"),
    # RST-24
    *[(pubsub.Topic, {"messageRetentionDuration": value}, "message_retention_duration",
       f"Invalid value at 'message_retention_duration' ({DURATION}), {json.dumps(value)}")
      for value in (600, "600", "", "s", "1m", "1 s", ".5s", "1.s", "1.0000000001s", "1e3s", "0x1s",
                    "315576000001s", "1s ", True)],
    (pubsub.Topic, {"messageRetentionDuration": {"seconds": 1}}, "message_retention_duration",
     f"Invalid value at 'message_retention_duration' ({DURATION}), "
     "Starting an object on a scalar field"),
    # RST-25
    *[(pubsub.SeekRequest, {"time": value}, "time",
       f"Invalid value at 'time' ({TIMESTAMP}), {json.dumps(value)}")
      for value in (0, "", "now", "1970-01-02", "1970-01-02T00:00:00", "1970-01-02 00:00:00Z",
                    "1970-02-30T00:00:00Z", "1970-01-02T24:00:00Z", "1970-01-02T00:00:00+24:00",
                    "1970-01-02T00:00:00.1234567890Z", "0000-01-01T00:00:00Z",
                    "9999-12-31T23:59:59-01:00", "1970-01-02t00:00:00z")],
    # RST-26
    (schema.Schema, {"type": "JSON"}, "type",
     f"Invalid value at 'type' ({URL}google.pubsub.v1.Schema.Type), \"JSON\""),
    (schema.Schema, {"type": "avro"}, "type",
     f"Invalid value at 'type' ({URL}google.pubsub.v1.Schema.Type), \"avro\""),
    (schema.Schema, {"type": 1.5}, "type",
     f"Invalid value at 'type' ({URL}google.pubsub.v1.Schema.Type), 1.5"),
    (schema.Schema, {"type": True}, "type",
     f"Invalid value at 'type' ({URL}google.pubsub.v1.Schema.Type), true"),
    # Masks.
    *[(pubsub.UpdateTopicRequest, {"updateMask": value}, "update_mask",
       f"Invalid value at 'update_mask' ({MASK}), {json.dumps(value)}")
      for value in (1, "a__b", "a_", "_1", "ack_Deadline")],
    (pubsub.UpdateTopicRequest, {"updateMask": ["labels"]}, "",
     unknown("update_mask", problem=NO_LIST)),
    # Maps.
    (pubsub.PublishRequest, {"messages": [{"attributes": {"a": 1}}]},
     "messages[0].attributes[0].value",
     "Invalid value at 'messages[0].attributes[0].value' (TYPE_STRING), 1"),
    (pubsub.PublishRequest, {"messages": [{"attributes": {"a": "", "b": None}}]},
     "messages[0].attributes[1].value",
     "Invalid value at 'messages[0].attributes[1].value' (TYPE_STRING), null"),
    (pubsub.Topic, {"labels": []}, "labels",
     "Invalid value at 'labels' (Map), Cannot bind a list to map for field 'labels'."),
    (pubsub.Topic, {"labels": "x"}, "labels",
     f"Invalid value at 'labels' ({URL}google.pubsub.v1.Topic.LabelsEntry), \"x\""),
    # Lists.
    (pubsub.AcknowledgeRequest, {"ackIds": "x"}, "ack_ids",
     "Invalid value at 'ack_ids' (TYPE_STRING), \"x\""),
    (pubsub.AcknowledgeRequest, {"ackIds": ["x", None]}, "ack_ids[1]",
     "Invalid value at 'ack_ids[1]' (TYPE_STRING), null"),
    (pubsub.PublishRequest, {"messages": [1]}, "messages[0]",
     f"Invalid value at 'messages[0]' ({URL}google.pubsub.v1.PubsubMessage), 1"),
    (pubsub.PublishRequest, {"messages": 1}, "messages",
     f"Invalid value at 'messages' ({URL}google.pubsub.v1.PubsubMessage), 1"),
    # Messages.
    (pubsub.Subscription, {"pushConfig": "x"}, "push_config",
     f"Invalid value at 'push_config' ({URL}google.pubsub.v1.PushConfig), \"x\""),
    (pubsub.Subscription, {"pushConfig": []}, "", unknown("push_config", problem=NO_LIST)),
]  # fmt: skip


@spec("RST-22", "RST-23", "RST-24", "RST-25", "RST-26", "RST-28", "RST-29",
      "ERR-70", "ERR-71", "ERR-72")  # fmt: skip
@pytest.mark.parametrize(("message", "value", "field", "text"), REFUSED)
def test_what_json_may_not_say(message: Any, value: Any, field: str, text: str) -> None:
    error = refused(message, value)
    assert error.message == text
    assert violations_of(error) == [(field, text)]


@spec("ERR-71")
def test_violations_are_told_together_in_their_order() -> None:
    error = refused(
        pubsub.Topic, {"x": 1, "labels": {"a": 2, "b": 3}, "name": 4, "schemaSettings": {"y": 5}}
    )
    expected = [
        ("", unknown("x")),
        ("labels[0].value", "Invalid value at 'labels[0].value' (TYPE_STRING), 2"),
        ("labels[1].value", "Invalid value at 'labels[1].value' (TYPE_STRING), 3"),
        ("name", "Invalid value at 'name' (TYPE_STRING), 4"),
        ("schema_settings", unknown("y", "schema_settings")),
    ]
    assert violations_of(error) == expected
    assert error.message == "\n".join(text for _, text in expected)


def test_a_flood_of_violations_is_told_in_part() -> None:
    error = refused(pubsub.AcknowledgeRequest, {"ackIds": [0] * 30_000})
    assert len(violations_of(error)) == 50
    error = refused(pubsub.Topic, {"labels": "x" * 100_000})
    assert len(error.message) < 1_000
    error = refused(pubsub.PubsubMessage, {"data": "@" * 100_000})
    assert len(error.message) < 1_000


@spec("RST-28")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"name": }', 'Expecting value.\n{"name": }\n         ^'),
        (b"{", "Expecting property name enclosed in double quotes.\n{\n ^"),
        (b"{'name': 1}", "Expecting property name enclosed in double quotes.\n{'name': 1}\n ^"),
        (b'{"name": "a"', "Expecting ',' delimiter.\n" '{"name": "a"\n            ^'),
        (b'{} {"a": 1}', 'Extra data.\n{} {"a": 1}\n   ^'),
        (b'\n{\n  "name": x\n}\n', 'Expecting value.\n  "name": x\n          ^'),
        (b"[]", 'Unknown name "": Root element must be a message.'),
        (b"null", 'Unknown name "": Root element must be a message.'),
        (b'"x"', 'Unknown name "": Root element must be a message.'),
        (b'{"name": "\xff"}', "Text must be UTF-8."),
        (b'{"name": "\\ud800"}', "Text must be UTF-8."),
        (b'{"\\udfff": 1}', "Text must be UTF-8."),
        ('{"name": "x"}'.encode("utf-16"), "Text must be UTF-8."),
        (b'{"ackDeadlineSeconds": NaN}', "Unable to parse number or nested too deeply."),
        (b'{"ackDeadlineSeconds": ' + b"9" * 5_000 + b"}",
         "Unable to parse number or nested too deeply."),
        (b"[" * 100_000, "Unable to parse number or nested too deeply."),
    ],
    ids=lambda value: repr(value)[:30],
)  # fmt: skip
def test_malformed_json(body: bytes, text: str) -> None:
    error = refused(pubsub.Topic, body)
    assert error.message == f"Invalid JSON payload received. {text}"
    assert violations_of(error) == [("", error.message)]


def test_long_lines_are_shown_around_the_fault() -> None:
    error = refused(pubsub.Topic, b'{"name": "' + b"x" * 1_000 + b'" "' + b"y" * 1_000 + b'"}')
    _, line, pointer = error.message.split("\n")
    assert line == "x" * 28 + '" "' + "y" * 29
    assert line[pointer.index("^")] == '"'


def test_free_json_is_taken_as_it_is() -> None:
    """Only the converter of protobuf knows how deep a Struct may be."""
    text = '{"parameters": {"a": [1, null, {"b": "c"}]}}'
    config = pubsub.AIInference.UnstructuredInference
    assert read(config, text.encode()).parameters["a"][2]["b"] == "c"
    assert refused(config, {"parameters": [1]}).message == unknown("parameters", problem=NO_LIST)
    deep = b'{"parameters": {"a": ' + b"[" * 500 + b"]" * 500 + b"}}"
    assert refused(config, deep).message.startswith("Invalid JSON payload received. ")
    huge = b'{"parameters": {"a": ' + b"9" * 400 + b"}}"
    assert refused(config, huge).message.startswith("Invalid JSON payload received. ")
