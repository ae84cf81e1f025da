"""What a server has, as it would have to be asked for: for making it again elsewhere.

What the server fills in by itself is left out, and what it only shows. What cannot be made by
asking for it at all becomes a remark.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Any

from emulator.api import pubsub, schema
from emulator.config import kinds
from emulator.config.target import Target
from emulator.engine.values import limits
from emulator.engine.values.errors import Unimplemented
from emulator.engine.values.names import DELETED_TOPIC

_DELETED_SCHEMA = "_deleted-schema_"
_SERVERS_ATTRIBUTE = ("x-goog-version", "v1")  # SUB-14


@dataclass(slots=True)
class Export:
    """Resources by their project; `remarks` are lines about what is left out."""

    projects: dict[str, list[Any]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def resources(self) -> Iterable[tuple[str, Any]]:
        """Every resource with its project; first of all what others refer to."""
        for kind in ("Schema", "Topic", "Subscription"):
            for project, resources in self.projects.items():
                for resource in resources:
                    if resource.DESCRIPTOR.name == kind:
                        yield project, resource


async def export(target: Target, projects: Iterable[str]) -> Export:
    """Read the resources of projects; their messages are no part of it."""
    found = Export()
    for project in projects:
        resources = found.projects[project] = []
        resources += [bare_schema(each) async for each in _schemas(target, project)]
        async for each in _pages(target, "ListTopics", "topics", project):
            resources += [_topic(each, found.remarks)]
        async for each in _pages(target, "ListSubscriptions", "subscriptions", project):
            _add_subscription(resources, each, found.remarks)
        async for each in _pages(target, "ListSnapshots", "snapshots", project):
            found.remarks.append(f"{each.name} is left out: a snapshot cannot be made again")
    return found


async def _pages(target: Target, method: str, key: str, project: str) -> AsyncIterator[Any]:
    kinds_of_request = {
        "ListTopics": pubsub.ListTopicsRequest,
        "ListSubscriptions": pubsub.ListSubscriptionsRequest,
        "ListSnapshots": pubsub.ListSnapshotsRequest,
    }
    token = ""
    while True:
        request = kinds_of_request[method](project=f"projects/{project}", page_token=token)
        answer = await target.call(method, request)
        for item in getattr(answer, key):
            yield item
        token = answer.next_page_token
        if not token:
            return


async def _schemas(target: Target, project: str) -> AsyncIterator[Any]:
    token = ""
    while True:
        request = schema.ListSchemasRequest(
            parent=f"projects/{project}", view=schema.FULL, page_token=token
        )
        try:
            answer = await target.call("ListSchemas", request)
        except Unimplemented:
            return
        for item in answer.schemas:
            yield item
        token = answer.next_page_token
        if not token:
            return


def bare_schema(shown: Any) -> Any:
    """A schema without its revision, which the server numbers."""
    return schema.Schema(name=shown.name, type=shown.type, definition=shown.definition)


def _topic(shown: Any, remarks: list[str]) -> Any:
    topic = bare_topic(shown)
    if topic.schema_settings.schema == _DELETED_SCHEMA:
        topic.ClearField("schema_settings")
        remarks.append(f"{topic.name}: its schema was deleted")
    elif shown.schema_settings.first_revision_id or shown.schema_settings.last_revision_id:
        remarks.append(f"{topic.name}: the bounds of its schema's revisions are left out")
    return topic


def bare_topic(shown: Any) -> Any:
    """A topic without what the server only shows."""
    topic = pubsub.Topic()
    topic.CopyFrom(shown)
    for name in kinds.TOPIC.computed - {"name"}:
        topic.ClearField(name)
    settings = topic.ingestion_data_source_settings
    source = settings.WhichOneof("source")
    if source:
        getattr(settings, source).ClearField("state")
    if topic.schema_settings.first_revision_id or topic.schema_settings.last_revision_id:
        # Revisions get new ids wherever they are made.
        topic.schema_settings.ClearField("first_revision_id")
        topic.schema_settings.ClearField("last_revision_id")
    return topic


def _add_subscription(resources: list[Any], shown: Any, remarks: list[str]) -> None:
    if shown.detached:
        remarks.append(f"{shown.name} is left out: it is detached")
    elif shown.topic == DELETED_TOPIC:
        remarks.append(f"{shown.name} is left out: its topic was deleted")
    else:
        subscription = bare_subscription(shown)
        if subscription.dead_letter_policy.dead_letter_topic == DELETED_TOPIC:
            subscription.ClearField("dead_letter_policy")
            remarks.append(f"{shown.name}: its dead-letter topic was deleted")
        resources.append(subscription)


def bare_subscription(shown: Any) -> Any:
    """A subscription without what the server only shows, and without its defaults (SUB-13)."""
    bare = pubsub.Subscription()
    bare.CopyFrom(shown)
    for name in kinds.SUBSCRIPTION.computed - {"name"}:
        bare.ClearField(name)
    for config in ("bigquery_config", "bigtable_config", "cloud_storage_config"):
        if bare.HasField(config):
            getattr(bare, config).ClearField("state")
    if bare.ack_deadline_seconds == _default_ack_deadline_s(bare):
        bare.ClearField("ack_deadline_seconds")
    _leave_default_retention_out(bare)
    push = bare.push_config
    if push.attributes.get(_SERVERS_ATTRIBUTE[0]) == _SERVERS_ATTRIBUTE[1]:
        del push.attributes[_SERVERS_ATTRIBUTE[0]]
    if not push.ListFields():
        bare.ClearField("push_config")
    return bare


def _default_ack_deadline_s(subscription: Any) -> int:
    """SUB-04."""
    if subscription.enable_exactly_once_delivery:
        return limits.EXACTLY_ONCE_ACK_DEADLINE_DEFAULT_S
    if subscription.HasField("cloud_storage_config"):
        return limits.ACK_DEADLINE_CLOUD_STORAGE_S
    return limits.ACK_DEADLINE_DEFAULT_S


def _leave_default_retention_out(bare: Any) -> None:
    """SUB-05..07: seven days, or the time to live where that is shorter."""
    policy = bare.expiration_policy
    ttl = policy.ttl.seconds if policy.HasField("ttl") else None
    default = limits.RETENTION_DEFAULT_S
    if ttl is not None and ttl < default:
        default = ttl
    retention = bare.message_retention_duration
    if (retention.seconds, retention.nanos) == (default, 0):
        bare.ClearField("message_retention_duration")
    if ttl == limits.EXPIRATION_DEFAULT_S and not policy.ttl.nanos:
        bare.ClearField("expiration_policy")
