"""An engine with what tests do to its schemas, compiled as the service compiles them."""

from __future__ import annotations

import json
from typing import Any

from emulator.api import pubsub, schema
from emulator.engine.engine import Engine
from emulator.engine.resources.schema import Compiled
from emulator.schemas.avro.schema import AvroSchema
from tests.engine.story import TOPIC
from tests.schemas.protobuf import compiled

PARENT = "projects/p"
NAME = "projects/p/schemas/event"
SECOND_US = 1_000_000


def avro(*fields: str, **defaults: Any) -> schema.Schema:
    """An Avro record of string fields; those with a default may be missing in other revisions."""
    described = [{"name": name, "type": "string"} for name in fields]
    described += [{"name": name, "type": "string", "default": defaults[name]} for name in defaults]
    definition = json.dumps({"type": "record", "name": "Event", "fields": described})
    return schema.Schema(type="AVRO", definition=definition)


def proto(*fields: str) -> schema.Schema:
    definition = f'syntax = "proto3"; message Event {{ {" ".join(f"{each};" for each in fields)} }}'
    return schema.Schema(type="PROTOCOL_BUFFER", definition=definition)


def compile_it(given: schema.Schema) -> Compiled:
    if given.type == schema.Schema.Type.AVRO:
        return AvroSchema(given.definition)
    return compiled(given.definition)


class Desk:
    """`now_s` is the time of every operation."""

    def __init__(self, **options: Any) -> None:
        self.engine = Engine(nonce=b"nonce", **options)
        self.now_s = 0

    @property
    def _now(self) -> int:
        return self.now_s * SECOND_US

    def create(self, given: schema.Schema, leaf: str = "event") -> schema.Schema:
        made = compile_it(given)
        return self.engine.schemas.create(PARENT, leaf, given, made, now=self._now).value

    def commit(self, given: schema.Schema, name: str = NAME) -> schema.Schema:
        return self.engine.schemas.commit(name, given, compile_it(given), now=self._now).value

    def get(self, name: str = NAME, view: int = 0) -> schema.Schema:
        return self.engine.schemas.get(name, view, now=0).value

    def list(
        self, view: int = 0, size: int = 0, token: str = ""
    ) -> tuple[list[schema.Schema], str]:
        return self.engine.schemas.list(PARENT, view, size, token, now=0).value

    def revisions(
        self, view: int = 0, size: int = 0, token: str = ""
    ) -> tuple[list[schema.Schema], str]:
        return self.engine.schemas.list_revisions(NAME, view, size, token, now=0).value

    def rollback(self, revision_id: str) -> schema.Schema:
        return self.engine.schemas.rollback(NAME, revision_id, now=self._now).value

    def delete_revision(self, revision_id: str) -> schema.Schema:
        return self.engine.schemas.delete_revision(f"{NAME}@{revision_id}", now=0).value

    def delete(self, name: str = NAME) -> None:
        self.engine.schemas.delete(name, now=0)

    def topic(self, name: str = TOPIC, **settings: Any) -> pubsub.Topic:
        """Create a topic whose messages must fit; JSON and the schema are taken as meant."""
        given = pubsub.Topic(name=name)
        given.schema_settings.MergeFrom(
            pubsub.SchemaSettings(**({"schema": NAME, "encoding": "JSON"} | settings))
        )
        return self.engine.topics.create(given, now=0).value

    def change(self, *paths: str, **settings: Any) -> pubsub.Topic:
        given = pubsub.Topic(name=TOPIC)
        if settings:
            given.schema_settings.MergeFrom(pubsub.SchemaSettings(**settings))
        return self.engine.topics.update(given, paths or ["schema_settings"], now=0).value

    def settings(self) -> pubsub.SchemaSettings:
        return self.engine.topics.get(TOPIC, now=0).value.schema_settings

    def subscribe(self, **fields: Any) -> str:
        name = "projects/p/subscriptions/sub"
        self.engine.subscriptions.create(
            pubsub.Subscription(name=name, topic=TOPIC, **fields), now=0
        )
        return name

    def publish(self, *data: bytes, topic: str = TOPIC) -> list[str]:
        messages = [pubsub.PubsubMessage(data=each, attributes={"k": "v"}) for each in data]
        request = pubsub.PublishRequest(topic=topic, messages=messages)
        return self.engine.publish(request, request.SerializeToString(), now=self._now).value

    def received(self, subscription: str) -> list[pubsub.PubsubMessage]:
        leased = self.engine.lease(subscription, 100, now=self._now).value
        return [pubsub.PubsubMessage.FromString(each.message.encoded) for each in leased]
