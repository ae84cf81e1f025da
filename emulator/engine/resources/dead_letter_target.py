"""Which topic a subscription's dead letters go to, and whether they may (DLQ-08, DLQ-09)."""

from __future__ import annotations

from emulator.api import iam, pubsub
from emulator.engine.delivery.dead_letter import Forwarder
from emulator.engine.resources.world import World
from emulator.engine.values import names

_PUBLISHERS = {"roles/pubsub.publisher", "roles/pubsub.editor", "roles/pubsub.admin"}
_SUBSCRIBERS = {"roles/pubsub.subscriber", "roles/pubsub.editor", "roles/pubsub.admin"}
_AGENT_START = "serviceAccount:service-"
_AGENT_END = "@gcp-sa-pubsub.iam.gserviceaccount.com"


def forwarder(world: World, resource: pubsub.Subscription) -> Forwarder:
    """Forwards the dead letters of the subscription that `resource` describes."""
    return Forwarder(resource.name, lambda: _target(world, resource))


def _target(world: World, resource: pubsub.Subscription) -> str | None:
    """The topic; None if it is gone (DLQ-09), or in the strict profile without rights (DLQ-08)."""
    target = world.topics.get(resource.dead_letter_policy.dead_letter_topic)
    if target is None or not _is_allowed(world, resource.name, target.name):
        return None
    return target.name


def _is_allowed(world: World, subscription: str, topic: str) -> bool:
    if not world.is_strict:
        return True
    return _has_role(world, topic, _PUBLISHERS) and _has_role(world, subscription, _SUBSCRIBERS)


def _has_role(world: World, resource: str, roles: set[str]) -> bool:
    """Whether some project's service agent has one of `roles`; numbers are not checked."""
    policy = world.policies.get(resource, iam.Policy())
    return any(
        member.startswith(_AGENT_START) and member.endswith(_AGENT_END)
        for binding in policy.bindings
        if binding.role in roles
        for member in binding.members
    )


def check(world: World, resource: pubsub.Subscription) -> None:
    """Raise ERR-01 or ERR-02 unless the dead-letter topic exists (SUB-09)."""
    if resource.HasField("dead_letter_policy"):
        world.topic(resource.dead_letter_policy.dead_letter_topic)


def show_deleted(world: World, topic: str) -> None:
    """Have the policies that name a topic say that it is gone (DLQ-09)."""
    for subscription in world.subscriptions.values():
        resource = subscription.resource
        if resource.HasField("dead_letter_policy"):
            policy = resource.dead_letter_policy
            if policy.dead_letter_topic == topic:
                policy.dead_letter_topic = names.DELETED_TOPIC
