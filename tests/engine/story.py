"""Stories: tables of (seconds, command, expected) that are played against a new engine.

    Story().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (9, ack("a#1")),
        (10, pull(), []),
    )

A lease is named by the message's data and the attempt: "a#1" is the first delivery of "a" to the
subscription of the command, "two:a#1" the one to the subscription "two". All else given as an ack
id is taken as it is. As the service does it, the engine's due work is done before each command.
Subscriptions never expire unless a story says so, that it may look far ahead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from emulator.api import pubsub
from emulator.engine.delivery import Delivery
from emulator.engine.engine import Engine
from emulator.engine.errors import PubsubError
from emulator.engine.limits import RETENTION_DEFAULT_S

TOPIC = "projects/p/topics/top"
SUBSCRIPTION = "projects/p/subscriptions/sub"
SECOND_US = 1_000_000
RETENTION_US = RETENTION_DEFAULT_S * SECOND_US
MOST_TICKS = 1_000  # more than any story needs


class Refusal(NamedTuple):
    """What a command is expected to be refused with."""

    code: str
    text: str


def refusal_of(call: Callable[[], object]) -> Refusal | None:
    """How the engine refuses `call`; None if it does not."""
    try:
        call()
    except PubsubError as error:
        return Refusal(error.code.name, error.message)
    return None


def invalid(text: str) -> Refusal:
    return Refusal("INVALID_ARGUMENT", text)


def not_found(leaf: str) -> Refusal:
    return Refusal("NOT_FOUND", f"Resource not found (resource={leaf}).")


def full_name(collection: str, name: str) -> str:
    """`name` itself if it is a full name, else the name of that id in the project `p`."""
    return name if "/" in name else f"projects/p/{collection}/{name}"


class Story:
    """An engine with the topic `top` and its subscription `sub`, and the leases seen so far."""

    def __init__(self, *, nonce: bytes = b"nonce", is_empty: bool = False) -> None:
        self.engine = Engine(nonce=nonce)
        self.now = 0
        self.leases: dict[str, tuple[Delivery, str]] = {}
        if not is_empty:
            self.engine.topics.create(pubsub.Topic(name=TOPIC), now=0)
            subscribe()(self)

    def play(self, *steps: Step) -> Story:
        for number, (seconds, command, *expected) in enumerate(steps, 1):
            self.now = round(seconds * SECOND_US)
            self.catch_up()
            got = self._do(command, is_refusal_expected=isinstance((*expected, 0)[0], Refusal))
            assert got == (expected[0] if expected else None), f"step {number}, {seconds} s"
        return self

    def _do(self, command: Command, *, is_refusal_expected: bool) -> object:
        if is_refusal_expected:
            return refusal_of(lambda: command(self))
        return command(self)

    def catch_up(self) -> None:
        """Do all work that is due."""
        for project in self.engine.projects():
            for _ in range(MOST_TICKS):
                if not self.engine.tick(project, now=self.now).value:
                    break
            else:
                raise AssertionError(f"the work of {project} never ends")

    def ack_id(self, label: str, subscription: str = SUBSCRIPTION) -> str:
        """The ack id of a lease of this story; `label` itself if it names none."""
        key = label if ":" in label else f"{subscription.rpartition('/')[2]}:{label}"
        return self.leases[key][1] if "#" in label else label

    def ack_ids(self, labels: tuple[str, ...], subscription: str) -> list[str]:
        return [self.ack_id(label, subscription) for label in labels]


Command = Callable[[Story], object]
Step = tuple[float, Command] | tuple[float, Command, object]


def message_of(delivery: Delivery) -> pubsub.PubsubMessage:
    return pubsub.PubsubMessage.FromString(delivery.message.encoded)


# --- commands ---


def publish(*texts: str, topic: str = TOPIC) -> Command:
    request = pubsub.PublishRequest(topic=full_name("topics", topic))
    for text in texts:
        request.messages.add(data=text.encode())

    def command(story: Story) -> None:
        story.engine.publish(request, request.SerializeToString(), now=story.now)

    return command


def pull(limit: int = 1_000, subscription: str = SUBSCRIPTION) -> Command:
    """Lease messages; the names of the leases are the result."""
    name = full_name("subscriptions", subscription)

    def command(story: Story) -> list[str]:
        labels = []
        for delivery in story.engine.lease(name, limit, now=story.now).value:
            label = f"{message_of(delivery).data.decode()}#{delivery.attempt}"
            story.leases[f"{name.rpartition('/')[2]}:{label}"] = delivery, delivery.ack_id
            labels.append(label)
        return labels

    return command


def ack(*labels: str, subscription: str = SUBSCRIPTION) -> Command:
    name = full_name("subscriptions", subscription)

    def command(story: Story) -> None:
        story.engine.acknowledge(name, story.ack_ids(labels, name), now=story.now)

    return command


def modack(seconds: int, *labels: str, subscription: str = SUBSCRIPTION) -> Command:
    name = full_name("subscriptions", subscription)

    def command(story: Story) -> None:
        ids = story.ack_ids(labels, name)
        story.engine.modify_ack_deadline(name, ids, seconds, now=story.now)

    return command


def nack(*labels: str, subscription: str = SUBSCRIPTION) -> Command:
    return modack(0, *labels, subscription=subscription)


def release(*labels: str) -> Command:
    """Give back leases on `sub` that nobody got."""

    def command(story: Story) -> None:
        leases = [story.leases[f"sub:{label}"] for label in labels]
        story.engine.release(SUBSCRIPTION, leases, now=story.now)

    return command


def create_topic(topic: str = TOPIC) -> Command:
    given = pubsub.Topic(name=full_name("topics", topic))

    def command(story: Story) -> None:
        story.engine.topics.create(given, now=story.now)

    return command


def delete_topic(topic: str = TOPIC) -> Command:
    def command(story: Story) -> None:
        story.engine.topics.delete(full_name("topics", topic), now=story.now)

    return command


def subscribe(subscription: str = SUBSCRIPTION, topic: str = TOPIC, deadline_s: int = 0) -> Command:
    given = pubsub.Subscription(
        name=full_name("subscriptions", subscription),
        topic=full_name("topics", topic),
        ack_deadline_seconds=deadline_s,
        expiration_policy={},
    )

    def command(story: Story) -> None:
        story.engine.subscriptions.create(given, now=story.now)

    return command


def unsubscribe(subscription: str = SUBSCRIPTION) -> Command:
    def command(story: Story) -> None:
        story.engine.subscriptions.delete(full_name("subscriptions", subscription), now=story.now)

    return command


def topic_of(subscription: str = SUBSCRIPTION) -> Command:
    """The topic that a subscription shows is the result."""

    def command(story: Story) -> str:
        name = full_name("subscriptions", subscription)
        return story.engine.subscriptions.get(name, now=story.now).value.topic

    return command


def attached(topic: str = TOPIC) -> Command:
    """The ids of a topic's subscriptions are the result."""

    def command(story: Story) -> list[str]:
        name = full_name("topics", topic)
        names, _ = story.engine.topics.list_subscriptions(name, 0, "", now=story.now).value
        return [name.rpartition("/")[2] for name in names]

    return command


def reset(nonce: bytes) -> Command:
    def command(story: Story) -> None:
        story.engine.reset(nonce=nonce)

    return command
