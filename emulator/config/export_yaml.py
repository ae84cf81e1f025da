"""Exports as a file of start-up resources."""

from __future__ import annotations

from typing import Any

import yaml
from google.protobuf import json_format

from emulator.api.pool import POOL
from emulator.config.exporting import Export
from emulator.config.resources import CLASSES

_KEYS = {of.DESCRIPTOR.name: key for key, of in CLASSES.items()}


def write(export: Export) -> str:
    """Return the text of a file that `--config` and `apply` read."""
    projects: dict[str, Any] = {}
    for project, resource in export.resources():
        lists = projects.setdefault(project, {})
        lists.setdefault(_KEYS[resource.DESCRIPTOR.name], []).append(_item(resource, project))
    remarks = "".join(f"# {remark}\n" for remark in export.remarks)
    return remarks + yaml.dump(
        {"projects": projects}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines, as definitions are, line by line."""


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, "|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def _item(resource: Any, project: str) -> Any:
    value: dict[str, Any] = json_format.MessageToDict(resource, descriptor_pool=POOL)
    value["name"] = resource.name.rpartition("/")[2]
    own_topics = f"projects/{project}/topics/"
    if "topic" in value:
        value["topic"] = value["topic"].removeprefix(own_topics)
    policy = value.get("deadLetterPolicy")
    if policy:
        policy["deadLetterTopic"] = policy["deadLetterTopic"].removeprefix(own_topics)
    settings = value.get("schemaSettings")
    if settings:
        settings["schema"] = settings["schema"].removeprefix(f"projects/{project}/schemas/")
    for holder in (value, value.get("pushConfig", {})):
        for key in ("labels", "attributes"):
            if key in holder:  # maps have no order of their own
                holder[key] = dict(sorted(holder[key].items()))
    is_plain_topic = resource.DESCRIPTOR.name == "Topic" and len(value) == 1
    return value["name"] if is_plain_topic else value
