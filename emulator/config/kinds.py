"""How each kind of resource is made, looked up and changed through the API."""

from __future__ import annotations

from typing import Any, NamedTuple

from emulator.api import pubsub, schema
from emulator.config.target import Target
from emulator.engine.values.errors import NotFound


class Kind(NamedTuple):
    """`fixed` are the fields that no update changes, `computed` those that the server fills in and
    no client sets, nor compares."""

    noun: str
    fixed: frozenset[str]
    computed: frozenset[str]


#: UPD-05, UPD-06; TOP-08, SUB-16, TAG-01: what is output only, or never shown.
SCHEMA = Kind(
    "schema", frozenset({"type"}), frozenset({"name", "revision_id", "revision_create_time"})
)
TOPIC = Kind("topic", frozenset(), frozenset({"name", "tags", "state", "satisfies_pzs"}))
SUBSCRIPTION = Kind(
    "subscription",
    frozenset({"topic", "filter", "enable_message_ordering", "detached"}),
    frozenset(
        {
            "name",
            "tags",
            "state",
            "topic_message_retention_duration",
            "analytics_hub_subscription_info",
        }
    ),
)


def kind_of(resource: Any) -> Kind:
    """The kind of a Schema, a Topic or a Subscription."""
    kinds = {"Schema": SCHEMA, "Topic": TOPIC, "Subscription": SUBSCRIPTION}
    return kinds[resource.DESCRIPTOR.name]


async def create(target: Target, resource: Any) -> Any:
    """Make a resource; return it as the server completed it."""
    match kind_of(resource).noun:
        case "schema":
            parent, _, schema_id = resource.name.partition("/schemas/")
            request = schema.CreateSchemaRequest(
                parent=parent, schema_id=schema_id, schema=resource
            )
            return await target.call("CreateSchema", request)
        case "topic":
            return await target.call("CreateTopic", resource)
        case _:
            return await target.call("CreateSubscription", resource)


async def get(target: Target, resource: Any) -> Any:
    """Return what has the name of `resource` at the target, or None."""
    request: Any
    match kind_of(resource).noun:
        case "schema":
            request = schema.GetSchemaRequest(name=resource.name, view=schema.FULL)
        case "topic":
            request = pubsub.GetTopicRequest(topic=resource.name)
        case _:
            request = pubsub.GetSubscriptionRequest(subscription=resource.name)
    try:
        return await target.call(f"Get{resource.DESCRIPTOR.name}", request)
    except NotFound:
        return None


async def update(target: Target, resource: Any, paths: list[str]) -> None:
    """Change the fields `paths` of what has the name of `resource`."""
    request: Any
    match kind_of(resource).noun:
        case "schema":
            await target.call(
                "CommitSchema", schema.CommitSchemaRequest(name=resource.name, schema=resource)
            )
            return
        case "topic":
            request = pubsub.UpdateTopicRequest(topic=resource)
        case _:
            request = pubsub.UpdateSubscriptionRequest(subscription=resource)
    request.update_mask.paths.extend(paths)
    await target.call(f"Update{resource.DESCRIPTOR.name}", request)


async def delete(target: Target, resource: Any) -> None:
    """Delete what has the name of `resource`."""
    request: Any
    match kind_of(resource).noun:
        case "schema":
            request = schema.DeleteSchemaRequest(name=resource.name)
        case "topic":
            request = pubsub.DeleteTopicRequest(topic=resource.name)
        case _:
            request = pubsub.DeleteSubscriptionRequest(subscription=resource.name)
    await target.call(f"Delete{resource.DESCRIPTOR.name}", request)


def differences(wanted: Any, current: Any) -> list[str]:
    """The fields, by their proto names, that differ in two resources of one kind."""
    computed = kind_of(wanted).computed
    return [
        field.name
        for field in wanted.DESCRIPTOR.fields
        if field.name not in computed and not _is_same(wanted, current, field)
    ]


def _is_same(wanted: Any, current: Any, field: Any) -> bool:
    has_presence = field.has_presence
    if has_presence and wanted.HasField(field.name) != current.HasField(field.name):
        return False
    return bool(getattr(wanted, field.name) == getattr(current, field.name))
