"""Write the JSON Schema of files of start-up resources, from the interface files.

Editors complete and check such files with it. It accepts what the emulator's own reader accepts
as far as a schema can tell: the values of the rules are the service's to judge.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from emulator.api import pubsub, schema
from emulator.config.fields import is_map, is_repeated

PATH = Path(__file__).resolve().parent.parent / "emulator" / "config" / "start-up.schema.json"

_TEXT = {"type": "string"}
_WHOLE = {"type": ["integer", "string"], "pattern": "^-?[0-9]+$"}
_SCALARS: dict[int, dict[str, Any]] = {
    FieldDescriptor.TYPE_STRING: _TEXT,
    FieldDescriptor.TYPE_BYTES: {"type": "string", "description": "base64"},
    FieldDescriptor.TYPE_BOOL: {"type": "boolean"},
    FieldDescriptor.TYPE_INT32: _WHOLE,
    FieldDescriptor.TYPE_INT64: _WHOLE,
    FieldDescriptor.TYPE_DOUBLE: {"type": "number"},
}
_KNOWN: dict[str, dict[str, Any]] = {
    "google.protobuf.Duration": {
        "type": "string",
        "pattern": r"^-?[0-9]+(\.[0-9]{1,9})?s$",
        "examples": ["600s"],
    },
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    "google.protobuf.Struct": {"type": "object"},
}


class Definitions:
    """Collects the schemas of messages, each once."""

    def __init__(self) -> None:
        self.all: dict[str, dict[str, Any]] = {}

    def reference(self, descriptor: Any) -> dict[str, Any]:
        name = descriptor.full_name.removeprefix("google.pubsub.v1.")
        if name not in self.all:
            self.all[name] = {}
            self.all[name].update(self._object(descriptor))
        return {"$ref": f"#/$defs/{name}"}

    def _object(self, descriptor: Any) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for field in descriptor.fields:
            fields[field.json_name] = fields[field.name] = nullable(self._field(field))
        return {"type": "object", "additionalProperties": False, "properties": fields}

    def _field(self, field: Any) -> dict[str, Any]:
        if is_map(field):
            value = self._single(field.message_type.fields_by_name["value"])
            return {"type": "object", "additionalProperties": value}
        single = self._single(field)
        return {"type": "array", "items": single} if is_repeated(field) else single

    def _single(self, field: Any) -> dict[str, Any]:
        if field.enum_type is not None:
            return {"enum": [value.name for value in field.enum_type.values]}
        if field.message_type is None:
            return _SCALARS[field.type]
        known = _KNOWN.get(field.message_type.full_name)
        return known or self.reference(field.message_type)


def nullable(value: dict[str, Any]) -> dict[str, Any]:
    """What a key may have if it may also be left empty, which is as if it were not there."""
    return {"anyOf": [value, {"type": "null"}]}


def build() -> dict[str, Any]:
    """Return the schema."""
    definitions = Definitions()
    topic = definitions.reference(pubsub.Topic.DESCRIPTOR)
    lists = {
        "schemas": definitions.reference(schema.Schema.DESCRIPTOR),
        "topics": {"anyOf": [_TEXT, topic]},
        "subscriptions": definitions.reference(pubsub.Subscription.DESCRIPTOR),
        "messages": _seed(definitions),
    }
    definitions.all["Topic"]["required"] = ["name"]
    definitions.all["Schema"]["required"] = ["name"]
    definitions.all["Subscription"]["required"] = ["name", "topic"]
    collections = {
        name: nullable({"type": "array", "items": items}) for name, items in lists.items()
    }
    project = {"type": "object", "additionalProperties": False, "properties": collections}
    projects = {"type": "object", "additionalProperties": nullable(project)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Start-up resources of the Pub/Sub emulator",
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": {"$schema": _TEXT, "projects": nullable(projects)},
        "$defs": dict(sorted(definitions.all.items())),
    }


def _seed(definitions: Definitions) -> dict[str, Any]:
    definitions.reference(pubsub.PubsubMessage.DESCRIPTOR)
    message = definitions.all.pop("PubsubMessage")
    ways = {
        "text": {"type": "string", "description": "data as plain text"},
        "json": {"description": "data as the JSON text of this value"},
    }
    properties = {"topic": _TEXT, **ways, **message["properties"]}
    return {**message, "required": ["topic"], "properties": properties}


def text() -> str:
    """Return the file's text."""
    return json.dumps(build(), indent=2) + "\n"


def main() -> int:
    """Write the file, or tell whether it is as it would be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    if not parser.parse_args().check:
        PATH.write_text(text(), encoding="utf-8")
    elif not PATH.exists() or PATH.read_text(encoding="utf-8") != text():
        print(f"{PATH.name} is out of date: run python -m scripts.generate_config_schema")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
