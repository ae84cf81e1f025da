"""The official Python client: the whole life of a schema, over gRPC and REST."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import avro.io
import avro.schema
import google.pubsub_v1
import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import pubsub_v1
from google.iam.v1 import iam_policy_pb2, policy_pb2
from google.protobuf import json_format
from google.pubsub_v1 import types
from google.pubsub_v1.services.schema_service.transports.rest import SchemaServiceRestTransport

from emulator.testing import Emulator
from tests.clients.conftest import build
from tests.schemas.protobuf import compile_text, root
from tests.spec import spec
from tests.wire import HANG_LIMIT_S, Names

Client = pubsub_v1.SchemaServiceClient
#: REST has fewer kinds of errors than gRPC, whose INVALID_ARGUMENT is a BadRequest too.
TIMEOUT = {"timeout": HANG_LIMIT_S}

AVRO = json.dumps(
    {
        "type": "record",
        "name": "State",
        "namespace": "utilities",
        "fields": [
            {"name": "name", "type": "string"},
            {"name": "post_abbr", "type": ["null", "string"], "default": None},
        ],
    }
)
AVRO_NEXT = json.dumps(
    {
        **json.loads(AVRO),
        "fields": [
            *json.loads(AVRO)["fields"],
            {"name": "population", "type": "long", "default": 0},
        ],
    }
)
AVRO_BAD = AVRO.replace('"string"]', '"int"]')
PROTO = 'syntax = "proto3"; message State { string name = 1; string post_abbr = 2; }'
PROTO_NEXT = PROTO.replace("}", "int64 population = 3; }")
PROTO_BAD = PROTO.replace("string post_abbr", "int32 post_abbr")


@pytest.fixture(params=["grpc", "rest"])
def schemas(request: pytest.FixtureRequest, emulator: Emulator) -> Iterator[Client]:
    if request.param == "grpc":
        client = build(Client, emulator.host_port)
    else:
        transport = SchemaServiceRestTransport(
            host=emulator.host_port, url_scheme="http", credentials=AnonymousCredentials()
        )
        client = Client(transport=transport)
    with client:
        yield client


def of(kind: str, definition: str) -> types.Schema:
    return types.Schema(type_=kind, definition=definition)


BOTH_KINDS = pytest.mark.parametrize(
    ("kind", "first", "second", "bad"),
    [
        ("AVRO", AVRO, AVRO_NEXT, AVRO_BAD),
        ("PROTOCOL_BUFFER", PROTO, PROTO_NEXT, PROTO_BAD),
    ],
    ids=["avro", "protobuf"],
)


@spec("SCH-01", "SCH-02", "SCH-04", "SCH-05", "SCH-06", "SCH-07", "SCH-08", "SCH-09", "SCH-10",
      "RST-C1", "RST-C2", "RST-C3", "RST-C4", "RST-C5", "RST-C6", "RST-C7", "RST-C8", "RST-C9",
      "RST-63", "ERR-61", "ERR-62")  # fmt: skip
@BOTH_KINDS
def test_a_schemas_life(
    schemas: Client, names: Names, kind: str, first: str, second: str, bad: str
) -> None:
    parent = f"projects/{names.project}"
    name = f"{parent}/schemas/state"
    given = of(kind, first)
    schemas.validate_schema(parent=parent, schema=given, **TIMEOUT)
    made = schemas.create_schema(parent=parent, schema=given, schema_id="state", **TIMEOUT)
    assert (made.name, made.type_.name, made.definition) == (name, kind, first)
    assert schemas.get_schema(name=name, **TIMEOUT) == made
    with pytest.raises(exceptions.Conflict):
        schemas.create_schema(parent=parent, schema=given, schema_id="state", **TIMEOUT)

    newer = schemas.commit_schema(name=name, schema=of(kind, second), **TIMEOUT)
    with pytest.raises(exceptions.BadRequest, match="Compatibility checking failed"):
        schemas.commit_schema(name=name, schema=of(kind, bad), **TIMEOUT)
    with pytest.raises(exceptions.BadRequest, match="Could not parse schema"):
        schemas.commit_schema(name=name, schema=of(kind, "nonsense"), **TIMEOUT)
    old_name = f"{name}@{made.revision_id}"
    assert schemas.get_schema(name=old_name, **TIMEOUT) == made

    rolled_back = schemas.rollback_schema(name=name, revision_id=made.revision_id, **TIMEOUT)
    assert rolled_back.definition == first
    listed = list(schemas.list_schema_revisions(request={"name": name, "page_size": 2}, **TIMEOUT))
    assert [each.revision_id for each in listed] == [
        rolled_back.revision_id,
        newer.revision_id,
        made.revision_id,
    ]
    assert not listed[0].definition
    [shown] = schemas.list_schemas(request={"parent": parent, "view": "FULL"}, **TIMEOUT)
    assert shown == rolled_back

    left = schemas.delete_schema_revision(name=f"{name}@{rolled_back.revision_id}", **TIMEOUT)
    assert left == newer
    schemas.delete_schema(name=name, **TIMEOUT)
    with pytest.raises(exceptions.NotFound, match=f"resource={name}"):
        schemas.get_schema(name=name, **TIMEOUT)
    assert list(schemas.list_schemas(parent=parent, **TIMEOUT)) == []


@spec("SCH-10", "ERR-62")
@pytest.mark.parametrize(
    ("kind", "definition"),
    [("AVRO", '"nope"'), ("AVRO", PROTO), ("PROTOCOL_BUFFER", AVRO), ("PROTOCOL_BUFFER", "")],
)
def test_bad_definitions(schemas: Client, names: Names, kind: str, definition: str) -> None:
    parent = f"projects/{names.project}"
    with pytest.raises(exceptions.BadRequest, match="Could not parse schema"):
        schemas.validate_schema(parent=parent, schema=of(kind, definition), **TIMEOUT)
    request = {"parent": parent, "schema": of(kind, definition), "schema_id": "state"}
    with pytest.raises(exceptions.BadRequest, match="Could not parse schema"):
        schemas.create_schema(request=request, **TIMEOUT)
    assert list(schemas.list_schemas(parent=parent, **TIMEOUT)) == []


def avro_binary(datum: Any) -> bytes:
    buffer = io.BytesIO()
    encoder = avro.io.BinaryEncoder(buffer)
    avro.io.DatumWriter(avro.schema.parse(AVRO)).write(datum, encoder)
    return buffer.getvalue()


def proto_binary(**fields: str) -> bytes:
    made = root(PROTO)
    text = json.dumps(fields)
    return json_format.Parse(text, made.message(), descriptor_pool=made.pool).SerializeToString()


MESSAGES = pytest.mark.parametrize(
    ("kind", "definition", "encoding", "good", "bad", "reason"),
    [
        ("AVRO", AVRO, "JSON", b'{"name": "Alaska", "post_abbr": {"string": "AK"}}',
         b'{"name": "Alaska", "post_abbr": "AK"}', "INVALID_JSON_AVRO_MESSAGE"),
        ("AVRO", AVRO, "BINARY", avro_binary({"name": "Alaska", "post_abbr": "AK"}),
         b"\x0cAlaska", "INVALID_BINARY_AVRO_MESSAGE"),
        ("PROTOCOL_BUFFER", PROTO, "JSON", b'{"name": "Alaska", "postAbbr": "AK"}',
         b'{"name": "Alaska", "population": 1}', "INVALID_JSON_PROTO_MESSAGE"),
        ("PROTOCOL_BUFFER", PROTO, "BINARY", None,
         b"\x0a\x01a\x18\x01", "INVALID_BINARY_PROTO_MESSAGE"),
    ],
    ids=["avro json", "avro binary", "protobuf json", "protobuf binary"],
)  # fmt: skip


@spec("SCH-11", "SCH-12", "SCH-18", "SCH-21", "ERR-60", "RST-C10", "AVR-02", "AVR-03", "PRO-02",
      "PRO-03")  # fmt: skip
@MESSAGES
def test_validating_messages(
    schemas: Client, names: Names, kind: str, definition: str, encoding: str, good: bytes | None,
    bad: bytes, reason: str,
) -> None:  # fmt: skip
    good = proto_binary(name="Alaska", post_abbr="AK") if good is None else good
    parent = f"projects/{names.project}"
    given = of(kind, definition)
    made = schemas.create_schema(parent=parent, schema=given, schema_id="state", **TIMEOUT)
    for source in ({"name": made.name}, {"schema": given}):
        request = {"parent": parent, "encoding": encoding, **source}
        schemas.validate_message(request={**request, "message": good}, **TIMEOUT)
        with pytest.raises(exceptions.BadRequest, match="failed schema validation") as refused:
            schemas.validate_message(request={**request, "message": bad}, **TIMEOUT)
        assert refused.value.reason == reason
    for request in (
        {"parent": parent, "name": made.name, "message": good},
        {"parent": parent, "encoding": encoding, "message": good},
    ):
        with pytest.raises(exceptions.BadRequest):
            schemas.validate_message(request=request, **TIMEOUT)
    request = {"parent": parent, "name": f"{made.name}x", "encoding": encoding, "message": good}
    with pytest.raises(exceptions.NotFound):
        schemas.validate_message(request=request, **TIMEOUT)


@spec("PUB-50", "PUB-51", "SCH-15", "SCH-20", "SCH-21", "SCH-40", "TOP-07")
@MESSAGES
def test_publishing_to_a_topic_with_a_schema(
    schemas: Client, publisher: pubsub_v1.PublisherClient,
    unbatched_publisher: google.pubsub_v1.PublisherClient, subscriber: pubsub_v1.SubscriberClient,
    names: Names, kind: str, definition: str, encoding: str, good: bytes | None, bad: bytes,
    reason: str,
) -> None:  # fmt: skip
    good = proto_binary(name="Alaska", post_abbr="AK") if good is None else good
    parent = f"projects/{names.project}"
    given = of(kind, definition)
    made = schemas.create_schema(parent=parent, schema=given, schema_id="state", **TIMEOUT)
    settings = {"schema": made.name, "encoding": encoding}
    topic = {"name": names.topic(), "schema_settings": settings}
    assert publisher.create_topic(request=topic, **TIMEOUT).schema_settings.schema == made.name
    subscription = {"name": names.subscription(), "topic": names.topic()}
    subscriber.create_subscription(request=subscription, **TIMEOUT)

    with pytest.raises(exceptions.BadRequest, match="failed schema validation") as refused:
        unbatched_publisher.publish(
            topic=names.topic(), messages=[{"data": good}, {"data": bad}], **TIMEOUT
        )
    assert refused.value.reason == reason
    assert refused.value.metadata["messageIndex"] == "1"
    publisher.publish(names.topic(), good).result(HANG_LIMIT_S)
    pull = {"subscription": names.subscription(), "max_messages": 10}
    [received] = subscriber.pull(request=pull, **TIMEOUT).received_messages
    assert received.message.data == good
    assert dict(received.message.attributes) == {
        "googclient_schemaencoding": encoding,
        "googclient_schemaname": made.name,
        "googclient_schemarevisionid": made.revision_id,
    }


@spec("SCH-20", "SCH-07", "SCH-09")
def test_old_and_new_producers_and_a_rollback(
    schemas: Client, publisher: pubsub_v1.PublisherClient, names: Names
) -> None:
    parent, topic = f"projects/{names.project}", names.topic()
    made = schemas.create_schema(
        parent=parent, schema=of("PROTOCOL_BUFFER", PROTO), schema_id="state", **TIMEOUT
    )
    settings = {"schema": made.name, "encoding": "JSON"}
    publisher.create_topic(request={"name": topic, "schema_settings": settings}, **TIMEOUT)
    old, new = b'{"name": "Alaska"}', b'{"name": "Alaska", "population": "733583"}'

    publisher.publish(topic, old).result(HANG_LIMIT_S)
    with pytest.raises(exceptions.BadRequest):
        publisher.publish(topic, new).result(HANG_LIMIT_S)
    newer = schemas.commit_schema(
        name=made.name, schema=of("PROTOCOL_BUFFER", PROTO_NEXT), **TIMEOUT
    )
    publisher.publish(topic, old).result(HANG_LIMIT_S)
    publisher.publish(topic, new).result(HANG_LIMIT_S)
    rolled_back = schemas.rollback_schema(name=made.name, revision_id=made.revision_id, **TIMEOUT)
    update = {
        "topic": {
            "name": topic,
            "schema_settings": {**settings, "first_revision_id": rolled_back.revision_id},
        },
        "update_mask": {"paths": ["schema_settings"]},
    }
    publisher.update_topic(request=update, **TIMEOUT)
    publisher.publish(topic, old).result(HANG_LIMIT_S)
    with pytest.raises(exceptions.BadRequest) as refused:
        publisher.publish(topic, new).result(HANG_LIMIT_S)
    assert rolled_back.revision_id in refused.value.metadata["revisionInfo"]
    assert newer.revision_id not in refused.value.metadata["revisionInfo"]

    schemas.delete_schema(name=made.name, **TIMEOUT)
    shown = publisher.get_topic(topic=topic, **TIMEOUT)
    assert shown.schema_settings.schema == "_deleted-schema_"
    with pytest.raises(exceptions.NotFound, match="Schema associated with topic deleted"):
        publisher.publish(topic, old).result(HANG_LIMIT_S)


@spec("SCH-17")
def test_a_schema_that_is_compiled_already(schemas: Client, names: Names) -> None:
    parent = f"projects/{names.project}"
    compiled = {"root_message": "State", "compiled_bytes": compile_text(PROTO)}
    given = types.Schema(type_="PROTOCOL_BUFFER", compiled_proto_schema=compiled)
    made = schemas.create_schema(parent=parent, schema=given, schema_id="state", **TIMEOUT)
    assert made.compiled_proto_schema == given.compiled_proto_schema
    newer = schemas.commit_schema(
        name=made.name, schema=of("PROTOCOL_BUFFER", PROTO_NEXT), **TIMEOUT
    )
    assert newer.definition == PROTO_NEXT
    with pytest.raises(exceptions.BadRequest, match="is not compatible with"):
        schemas.commit_schema(name=made.name, schema=of("PROTOCOL_BUFFER", PROTO_BAD), **TIMEOUT)
    given.compiled_proto_schema.root_message = "Nope"
    with pytest.raises(exceptions.BadRequest, match="Nope"):
        schemas.validate_schema(parent=parent, schema=given, **TIMEOUT)


@spec("IAM-01")
def test_policies(schemas: Client, names: Names) -> None:
    parent = f"projects/{names.project}"
    made = schemas.create_schema(
        parent=parent, schema=of("AVRO", AVRO), schema_id="state", **TIMEOUT
    )
    binding = policy_pb2.Binding(role="roles/pubsub.viewer", members=["user:a@example.com"])
    policy = policy_pb2.Policy(bindings=[binding])
    request = iam_policy_pb2.SetIamPolicyRequest(resource=made.name, policy=policy)
    schemas.set_iam_policy(request=request, **TIMEOUT)
    request = iam_policy_pb2.GetIamPolicyRequest(resource=made.name)
    assert list(schemas.get_iam_policy(request=request, **TIMEOUT).bindings) == [binding]
