"""Dead letters: messages whose attempts are used up go to another topic (DLQ-*)."""

from __future__ import annotations

from emulator.api import iam, pubsub
from emulator.engine.delivery.outcome import Forward
from emulator.engine.log.message_log import Message
from emulator.engine.resources.world import World
from emulator.engine.values import names

_SOURCE = "CloudPubSubDeadLetterSource"
_PUBLISHERS = {"roles/pubsub.publisher", "roles/pubsub.editor", "roles/pubsub.admin"}
_SUBSCRIBERS = {"roles/pubsub.subscriber", "roles/pubsub.editor", "roles/pubsub.admin"}
_AGENT_START = "serviceAccount:service-"
_AGENT_END = "@gcp-sa-pubsub.iam.gserviceaccount.com"


class Forwarder:
    """Forwards the dead letters of one subscription, whose `resource` names the target."""

    def __init__(self, world: World, resource: pubsub.Subscription) -> None:
        self._world = world
        self._resource = resource

    def forward(self, message: Message, attempts: int) -> Forward | None:
        """What is to be published to the dead-letter topic; None if that is not possible.

        Without a topic (DLQ-09), or in the strict profile without the rights (DLQ-08), the
        message stays where it is and is delivered on.
        """
        target = self._world.topics.get(self._resource.dead_letter_policy.dead_letter_topic)
        if target is None or not self._is_allowed(target.name):
            return None
        content = pubsub.PubsubMessage.FromString(message.encoded)
        self._mark(content, attempts)
        return Forward(target.name, content)

    def _mark(self, content: pubsub.PubsubMessage, attempts: int) -> None:
        """Add the four attributes; any there from an earlier forwarding give way (DLQ-03..07)."""
        _, project, _, subscription = self._resource.name.split("/")
        content.attributes[f"{_SOURCE}DeliveryCount"] = str(attempts)
        content.attributes[f"{_SOURCE}Subscription"] = subscription
        content.attributes[f"{_SOURCE}SubscriptionProject"] = project
        time = content.publish_time.ToJsonString().removesuffix("Z")
        seconds, _, fraction = time.partition(".")
        content.attributes[f"{_SOURCE}TopicPublishTime"] = f"{seconds}.{fraction:0<3.3}+00:00"
        content.ClearField("message_id")
        content.ClearField("publish_time")

    def _is_allowed(self, topic: str) -> bool:
        if not self._world.is_strict:
            return True
        return self._has_role(topic, _PUBLISHERS) and self._has_role(
            self._resource.name, _SUBSCRIBERS
        )

    def _has_role(self, resource: str, roles: set[str]) -> bool:
        """Whether some project's service agent has one of `roles`; numbers are not checked."""
        policy = self._world.policies.get(resource, iam.Policy())
        return any(
            member.startswith(_AGENT_START) and member.endswith(_AGENT_END)
            for binding in policy.bindings
            if binding.role in roles
            for member in binding.members
        )


def check_target(world: World, resource: pubsub.Subscription) -> None:
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
