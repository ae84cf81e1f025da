"""Stories: tables of (seconds, command, expected) that are played against a new engine.

    Story().play(
        (0, publish("a")),
        (0, pull(), ["a#1"]),
        (9, ack("a#1")),
        (10, pull(), []),
    )

A lease is named by the message's data and the attempt: "a#1" is the first delivery of "a" to the
subscription of the command, "two:a#1" the one to the subscription "two". Where a message comes
again without a failure of its own, its lease has the same name, and the lease before it has a
prime: "a#1'". All else given as an ack id is taken as it is. As the service does it, the engine's
due work is done before each command, and dead letters are published at once.
Subscriptions never expire unless a story says so, that it may look far ahead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from emulator.api import pubsub
from emulator.api.rpc import ErrorInfo
from emulator.engine.delivery.holder import Holder
from emulator.engine.delivery.leases import Lease
from emulator.engine.delivery.outcome import Forward, Outcome
from emulator.engine.engine import Engine
from emulator.engine.values.errors import PubsubError
from emulator.engine.values.limits import RETENTION_DEFAULT_S
from tests.property.invariants import attempts_of, delivery_of

TOPIC = "projects/p/topics/top"
SUBSCRIPTION = "projects/p/subscriptions/sub"
SECOND_US = 1_000_000
RETENTION_US = RETENTION_DEFAULT_S * SECOND_US
MOST_TICKS = 1_000  # more than any story needs

Value = TypeVar("Value")


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


def opened(engine: Engine, request: pubsub.StreamingPullRequest, *, now: int) -> Holder:
    """Open a stream; return its holder."""
    return engine._world.holders[engine.streaming.open(request, now=now).value]


def full_name(collection: str, name: str) -> str:
    """`name` itself if it is a full name, else the name of that id in the project `p`."""
    return name if "/" in name else f"projects/p/{collection}/{name}"


class Story:
    """An engine with the topic `top` and its subscription `sub`, and the leases seen so far.

    `fields` are those of `sub`.
    """

    def __init__(
        self,
        *,
        nonce: bytes = b"nonce",
        is_empty: bool = False,
        is_strict: bool = False,
        **fields: Any,
    ) -> None:
        self.engine = Engine(nonce=nonce, is_strict=is_strict)
        self.now = 0
        self.leases: dict[str, Lease] = {}
        self.streams: dict[str, Holder] = {}
        if not is_empty:
            self.engine.topics.create(pubsub.Topic(name=TOPIC), now=0)
            subscribe(**fields)(self)

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
                if not self.settle(self.engine.tick(project, now=self.now)):
                    break
            else:
                raise AssertionError(f"the work of {project} never ends")

    def settle(self, outcome: Outcome[Value]) -> Value:
        """Publish the dead letters among the effects of an operation; return its value."""
        for effect in outcome.effects:
            if isinstance(effect, Forward):
                self.settle(self.engine.forward(effect, now=self.now))
        return outcome.value

    def note(self, lease: Lease, subscription: str) -> str:
        """Remember a new lease; return its name."""
        attempt = delivery_of(self.engine, subscription, lease).attempt
        label = f"{message_of(lease).data.decode()}#{attempt}"
        key = f"{subscription.rpartition('/')[2]}:{label}"
        if key in self.leases:
            self.leases[f"{key}'"] = self.leases[key]
        self.leases[key] = lease
        return label

    def ack_id(self, label: str, subscription: str = SUBSCRIPTION) -> str:
        """The ack id of a lease of this story; `label` itself if it names none."""
        key = label if ":" in label else f"{subscription.rpartition('/')[2]}:{label}"
        return self.leases[key].ack_id if "#" in label else label

    def ack_ids(self, labels: tuple[str, ...], subscription: str) -> list[str]:
        return [self.ack_id(label, subscription) for label in labels]

    def failures(
        self, error: PubsubError | None, labels: tuple[str, ...], subscription: str
    ) -> dict[str, str] | None:
        """The ids that failed and why, by the names that a command had for them (EOD-03)."""
        if error is None:
            return None
        info = ErrorInfo()
        assert error.details[0].Unpack(info)
        assert info.reason == "EXACTLY_ONCE_ACKID_FAILURE"
        names = {self.ack_id(label, subscription): label for label in labels}
        return {names[ack_id]: reason for ack_id, reason in info.metadata.items()}


Command = Callable[[Story], object]
Step = tuple[float, Command] | tuple[float, Command, object]


def message_of(lease: Lease) -> pubsub.PubsubMessage:
    return pubsub.PubsubMessage.FromString(lease.message.encoded)


# --- commands ---


def publish(*texts: str, topic: str = TOPIC, key: str = "", **attributes: str) -> Command:
    """Publish messages, all with the ordering key and the attributes."""
    request = pubsub.PublishRequest(topic=full_name("topics", topic))
    for text in texts:
        request.messages.add(data=text.encode(), ordering_key=key, attributes=attributes)

    def command(story: Story) -> None:
        story.engine.publish(request, request.SerializeToString(), now=story.now)

    return command


def pull(limit: int = 1_000, subscription: str = SUBSCRIPTION) -> Command:
    """Lease messages; the names of the leases are the result."""
    name = full_name("subscriptions", subscription)

    def command(story: Story) -> list[str]:
        deliveries = story.engine.lease(name, limit, now=story.now).value
        return [story.note(delivery, name) for delivery in deliveries]

    return command


def attempts(*labels: str, subscription: str = SUBSCRIPTION) -> Command:
    """What `delivery_attempt` says of leases is the result; None if it is not given (DLQ-01)."""
    name = full_name("subscriptions", subscription)

    def command(story: Story) -> list[int] | None:
        deliveries = [story.leases[f"{name.rpartition('/')[2]}:{label}"] for label in labels]
        return attempts_of(story.engine, name, deliveries)

    return command


def ack(*labels: str, subscription: str = SUBSCRIPTION) -> Command:
    """Acknowledge; with exactly-once delivery the ids that failed, and why, are the result."""
    name = full_name("subscriptions", subscription)

    def command(story: Story) -> dict[str, str] | None:
        ids = story.ack_ids(labels, name)
        error = story.settle(story.engine.acknowledge(name, ids, now=story.now))
        return story.failures(error, labels, name)

    return command


def modack(seconds: int, *labels: str, subscription: str = SUBSCRIPTION) -> Command:
    """Modify deadlines; the result is as that of `ack`."""
    name = full_name("subscriptions", subscription)

    def command(story: Story) -> dict[str, str] | None:
        ids = story.ack_ids(labels, name)
        outcome = story.engine.modify_ack_deadline(name, ids, seconds, now=story.now)
        return story.failures(story.settle(outcome), labels, name)

    return command


def nack(*labels: str, subscription: str = SUBSCRIPTION) -> Command:
    return modack(0, *labels, subscription=subscription)


def release(*labels: str) -> Command:
    """Give back leases on `sub` that nobody got."""

    def command(story: Story) -> None:
        leases = [story.leases[f"sub:{label}"].ack_id for label in labels]
        story.engine.release(SUBSCRIPTION, leases, now=story.now)

    return command


def open_stream(
    stream: str, *, subscription: str = SUBSCRIPTION, deadline_s: int = 10, **windows: int
) -> Command:
    """Open a stream of that name; `windows` are its `max_outstanding_...`."""
    request = pubsub.StreamingPullRequest(
        subscription=full_name("subscriptions", subscription),
        stream_ack_deadline_seconds=deadline_s,
        **windows,
    )

    def command(story: Story) -> None:
        story.streams[stream] = opened(story.engine, request, now=story.now)

    return command


def close_stream(stream: str) -> Command:
    def command(story: Story) -> None:
        story.settle(story.engine.holders.close(story.streams[stream].id, now=story.now))

    return command


def half_close(stream: str, *, is_sending: bool = False) -> Command:
    """The client of a stream has said all; `is_sending` if responses are on their way to it."""

    def command(story: Story) -> None:
        holder = story.streams[stream].id
        story.settle(story.engine.holders.half_close(holder, is_sending=is_sending, now=story.now))

    return command


def receive(stream: str, limit: int = 1_000) -> Command:
    """Lease to a stream what its window has room for; the result is as that of `pull`."""

    def command(story: Story) -> list[str]:
        holder = story.streams[stream]
        deliveries = story.engine.holders.lease(holder.id, limit, now=story.now).value.leases
        return [story.note(delivery, holder.subscription) for delivery in deliveries]

    return command


def send(stream: str, acks: tuple[str, ...] = (), modacks: dict[str, int] | None = None) -> Command:
    """Send a request on a stream; what it confirms is the result: "ack.done", "ack.invalid",
    "ack.unordered", "modack.done", "modack.invalid", whichever are not empty (EOD-07)."""
    modacks = modacks or {}

    def command(story: Story) -> dict[str, list[str]] | None:
        holder = story.streams[stream]
        names = {story.ack_id(label, holder.subscription): label for label in (*acks, *modacks)}
        request = pubsub.StreamingPullRequest(
            ack_ids=story.ack_ids(acks, holder.subscription),
            modify_deadline_ack_ids=story.ack_ids(tuple(modacks), holder.subscription),
            modify_deadline_seconds=modacks.values(),
        )
        outcome = story.engine.streaming.receive(holder.id, request, now=story.now, is_first=False)
        confirmation = story.settle(outcome).confirmation
        if confirmation is None:
            return None
        return {
            f"{kind}.{field.name.removesuffix('ack_ids').rstrip('_') or 'done'}": [
                names[ack_id] for ack_id in ack_ids
            ]
            for kind, lists in (
                ("ack", confirmation.acknowledge_confirmation),
                ("modack", confirmation.modify_ack_deadline_confirmation),
            )
            for field, ack_ids in lists.ListFields()
        }

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


def subscribe(
    subscription: str = SUBSCRIPTION, topic: str = TOPIC, deadline_s: int = 0, **fields: Any
) -> Command:
    defaults = {"ack_deadline_seconds": deadline_s, "expiration_policy": {}}
    given = pubsub.Subscription(
        name=full_name("subscriptions", subscription),
        topic=full_name("topics", topic),
        **defaults | fields,
    )

    def command(story: Story) -> None:
        story.engine.subscriptions.create(given, now=story.now)

    return command


def update(subscription: str = SUBSCRIPTION, **fields: Any) -> Command:
    """Change fields of a subscription; None clears one."""
    given = pubsub.Subscription(
        name=full_name("subscriptions", subscription),
        **{field: value for field, value in fields.items() if value is not None},
    )

    def command(story: Story) -> None:
        story.settle(story.engine.subscriptions.update(given, list(fields), now=story.now))

    return command


def detach(subscription: str = SUBSCRIPTION) -> Command:
    def command(story: Story) -> None:
        story.engine.subscriptions.detach(full_name("subscriptions", subscription), now=story.now)

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
        story.engine.reset(nonce=nonce, now=story.now)

    return command
