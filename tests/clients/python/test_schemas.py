"""Topics whose messages must fit a schema."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from contract import HANG_LIMIT_S, Names
from google.api_core import exceptions
from google.cloud import pubsub_v1
from google.pubsub_v1 import SchemaServiceClient
from google.pubsub_v1.types import Encoding, Schema

AVRO = json.dumps(
    {
        "type": "record",
        "name": "State",
        "fields": [{"name": "name", "type": "string"}, {"name": "size", "type": "int"}],
    }
)
PROTOBUF = 'syntax = "proto3"; message State { string name = 1; int32 size = 2; }'
#: `name: "Ohio", size: 7` on the wire.
ENCODED = b"\x0a\x04Ohio\x10\x07"


@pytest.fixture
def schemas(names: Names, endpoint: str) -> Iterator[SchemaServiceClient]:
    client = pubsub_v1.SchemaServiceClient()
    yield client
    client.transport.close()


def create(client: SchemaServiceClient, names: Names, schema: Schema) -> Schema:
    try:
        return client.create_schema(parent=names.parent, schema=schema, schema_id="state")
    except exceptions.MethodNotImplemented as error:
        pytest.skip(f"the server has no such schemas: {error.message}")


def check_topic(
    names: Names,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
    schema: Schema,
    encoding: Encoding,
    good: bytes,
    bad: bytes,
) -> None:
    topic, subscription = names.topic(), names.subscription()
    settings = {"schema": schema.name, "encoding": encoding}
    publisher.create_topic(request={"name": topic, "schema_settings": settings})
    subscriber.create_subscription(name=subscription, topic=topic)
    with pytest.raises(exceptions.InvalidArgument):
        publisher.publish(topic, bad).result(HANG_LIMIT_S)
    publisher.publish(topic, good).result(HANG_LIMIT_S)
    [received] = subscriber.pull(subscription=subscription, max_messages=1).received_messages
    assert received.message.data == good
    attributes = received.message.attributes
    assert attributes["googclient_schemaencoding"] == encoding.name
    assert attributes["googclient_schemaname"] == schema.name
    assert attributes["googclient_schemarevisionid"] == schema.revision_id


# @spec SCH-20 SCH-40
def test_avro_schema(
    names: Names,
    schemas: SchemaServiceClient,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    schema = create(schemas, names, Schema(type_=Schema.Type.AVRO, definition=AVRO))
    assert schemas.get_schema(name=schema.name).definition == AVRO
    broken = Schema(type_=Schema.Type.AVRO, definition='{"type": "nonsense"}')
    with pytest.raises(exceptions.InvalidArgument):
        schemas.validate_schema(parent=names.parent, schema=broken)
    good, bad = b'{"name": "Ohio", "size": 7}', b'{"name": "Ohio", "size": "seven"}'
    check_topic(names, publisher, subscriber, schema, Encoding.JSON, good, bad)
    revised = json.loads(AVRO)
    revised["fields"].append({"name": "motto", "type": "string", "default": ""})
    update = Schema(name=schema.name, type_=Schema.Type.AVRO, definition=json.dumps(revised))
    committed = schemas.commit_schema(name=schema.name, schema=update)
    assert committed.revision_id != schema.revision_id
    assert len(list(schemas.list_schema_revisions(name=schema.name))) == 2
    schemas.delete_schema(name=schema.name)
    with pytest.raises(exceptions.NotFound):
        schemas.get_schema(name=schema.name)


# @spec PRO-02 SCH-40
def test_protobuf_schema(
    names: Names,
    schemas: SchemaServiceClient,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    schema = create(schemas, names, Schema(type_=Schema.Type.PROTOCOL_BUFFER, definition=PROTOBUF))
    schemas.validate_message(
        request={
            "parent": names.parent,
            "name": schema.name,
            "message": b'{"name": "Ohio", "size": 7}',
            "encoding": Encoding.JSON,
        }
    )
    check_topic(names, publisher, subscriber, schema, Encoding.BINARY, ENCODED, b"\x0a\x7fOhio")
