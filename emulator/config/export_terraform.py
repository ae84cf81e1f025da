"""Exports as Terraform, for the provider `google`.

Its arguments are named as the API's fields are; what it has no argument for is a remark.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.api import wkt
from emulator.config.exporting import Export
from emulator.config.fields import is_map, is_plain_message, is_repeated
from emulator.config.hcl import Label, Reference, block, expression

_KINDS: Mapping[str, str] = {
    "Schema": "google_pubsub_schema",
    "Topic": "google_pubsub_topic",
    "Subscription": "google_pubsub_subscription",
}
_COLLECTIONS = {"Schema": "schemas", "Topic": "topics", "Subscription": "subscriptions"}
#: Fields that the provider does not have.
_MISSING = (
    "bigtable_config",
    "message_transforms.ai_inference",
    "message_transforms.compression",
    "message_transforms.enabled",
)
#: What is the same when it is not said.
_IMPLIED = ("push_config.pubsub_wrapper", "cloud_storage_config.text_config", "name")
_REFERENCES = ("topic", "schema_settings.schema", "dead_letter_policy.dead_letter_topic")


def write(export: Export, *, has_imports: bool = False) -> str:
    """Return the text of a `.tf` file; with blocks that import what exists already, if wanted."""
    writer = _Writer(export)
    lines = [f"# {remark}" for remark in export.remarks]
    for project, resource in export.resources():
        lines += ["", *writer.resource(resource, project)]
        if has_imports:
            lines += ["", *writer.import_of(resource)]
    return "\n".join(lines).strip() + "\n"


class _Writer:
    def __init__(self, export: Export) -> None:
        labels = Label()
        self._labels: dict[str, str] = {}
        for _, resource in export.resources():
            kind = _KINDS[resource.DESCRIPTOR.name]
            leaf = resource.name.rpartition("/")[2]
            self._labels[resource.name] = f"{kind}.{labels.of(kind, leaf)}"

    def resource(self, resource: Any, project: str) -> list[str]:
        kind, _, label = self._labels[resource.name].partition(".")
        body = [
            f"name = {expression(resource.name.rpartition('/')[2])}",
            f"project = {expression(project)}",
        ]
        remarks: list[str] = []
        body += self._fields(resource, "", remarks)
        head = f'resource "{kind}" "{label}"'
        return [*(f"# {resource.name}: {text}" for text in remarks), *block(head, body)]

    def import_of(self, resource: Any) -> list[str]:
        to = Reference(self._labels[resource.name])
        body = [f"to = {expression(to)}", f"id = {expression(resource.name)}"]
        return block("import", body)

    def _fields(self, message: Any, prefix: str, remarks: list[str]) -> list[str]:
        lines = []
        for field, value in message.ListFields():
            path = f"{prefix}{field.name}"
            if path in _MISSING:
                remarks.append(f"{path} cannot be said in Terraform")
            elif path not in _IMPLIED:
                lines += self._field(field, value, path, remarks)
        if message.DESCRIPTOR.name == "ExpirationPolicy" and not message.HasField("ttl"):
            lines.append('ttl = ""')  # never; without the block it would be 31 days
        return lines

    def _field(self, field: Any, value: Any, path: str, remarks: list[str]) -> list[str]:
        if is_map(field):
            return [f"{field.name} = {expression(dict(sorted(value.items())))}"]
        if is_plain_message(field):
            values = value if is_repeated(field) else [value]
            return [
                line
                for each in values
                for line in block(field.name, self._fields(each, f"{path}.", remarks))
            ]
        return [f"{field.name} = {expression(self._value(field, value, path))}"]

    def _value(self, field: Any, value: Any, path: str) -> Any:
        if is_repeated(field):
            return list(value)
        if field.enum_type is not None:
            return field.enum_type.values_by_number[value].name
        if isinstance(value, wkt.Duration | wkt.Timestamp):
            return value.ToJsonString()
        if path in _REFERENCES and value in self._labels:
            # So that Terraform makes it first.
            return Reference(f"{self._labels[value]}.id")
        return value
