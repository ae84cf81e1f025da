"""Dead letters: messages whose attempts are used up go to another topic (DLQ-*)."""

from __future__ import annotations

from collections.abc import Callable

from emulator.api import pubsub
from emulator.engine.delivery.outcome import Forward
from emulator.engine.log.message_log import Message

_SOURCE = "CloudPubSubDeadLetterSource"


class Forwarder:
    """Forwards the dead letters of one subscription.

    `target` says to which topic they go now, None if they can go nowhere.
    """

    def __init__(self, subscription: str, target: Callable[[], str | None]) -> None:
        self._subscription = subscription
        self._target = target

    def forward(self, message: Message, attempts: int) -> Forward | None:
        """What is to be published to the dead-letter topic; None if that is not possible.

        Then the message stays where it is and is delivered on (DLQ-08, DLQ-09).
        """
        topic = self._target()
        if topic is None:
            return None
        content = pubsub.PubsubMessage.FromString(message.encoded)
        message_id = content.message_id
        self._mark(content, attempts)
        return Forward(topic, content, self._subscription, message_id)

    def _mark(self, content: pubsub.PubsubMessage, attempts: int) -> None:
        """Add the four attributes; any there from an earlier forwarding give way (DLQ-03..07)."""
        _, project, _, subscription = self._subscription.split("/")
        content.attributes[f"{_SOURCE}DeliveryCount"] = str(attempts)
        content.attributes[f"{_SOURCE}Subscription"] = subscription
        content.attributes[f"{_SOURCE}SubscriptionProject"] = project
        time = content.publish_time.ToJsonString().removesuffix("Z")
        seconds, _, fraction = time.partition(".")
        content.attributes[f"{_SOURCE}TopicPublishTime"] = f"{seconds}.{fraction:0<3.3}+00:00"
        content.ClearField("message_id")
        content.ClearField("publish_time")
