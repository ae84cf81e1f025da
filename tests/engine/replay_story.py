"""Commands for stories about retention, seek and snapshots; see story.py."""

from __future__ import annotations

from typing import Any

from emulator.api import pubsub
from emulator.api.wkt import Duration
from emulator.engine.values import durations
from tests.engine.story import SUBSCRIPTION, TOPIC, Command, Story, full_name, message_of
from tests.property.invariants import backlog_of, check_engine

MINUTE_S = 60
HOUR_S = 3_600
DAY_S = 86_400
RED = 'attributes.colour = "red"'
DEAD = "projects/p/topics/dead"

#: Kinds of subscriptions; to all of them applies what a seek does.
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "ordered": {"enable_message_ordering": True},
    "exactly once": {"enable_exactly_once_delivery": True, "ack_deadline_seconds": 10},
    "filtered": {"filter": RED},
    "dead letters": {"dead_letter_policy": {"dead_letter_topic": DEAD}},
    "ordered and filtered": {"enable_message_ordering": True, "filter": RED},
}


def seconds(count: float) -> Duration:
    whole = int(count)
    return Duration(seconds=whole, nanos=round((count - whole) * 1e9))


def story_of(topic_retention_s: float | None = None, **fields: Any) -> Story:
    """A story whose topic retains and whose subscription `sub` has `fields`."""
    story = Story(is_empty=True)
    story.engine.topics.create(pubsub.Topic(name=DEAD), now=0)
    topic = pubsub.Topic(name=TOPIC)
    if topic_retention_s is not None:
        topic.message_retention_duration.CopyFrom(seconds(topic_retention_s))
    story.engine.topics.create(topic, now=0)
    make(**fields)(story)
    return story


def make(subscription: str = SUBSCRIPTION, **fields: Any) -> Command:
    given = {"expiration_policy": {}} | fields
    request = pubsub.Subscription(
        name=full_name("subscriptions", subscription), topic=TOPIC, **given
    )

    def command(story: Story) -> None:
        story.engine.subscriptions.create(request, now=story.now)

    return command


def change(subscription: str = SUBSCRIPTION, **fields: Any) -> Command:
    """Update the fields given; None resets one."""
    values = {path: value for path, value in fields.items() if value is not None}
    given = pubsub.Subscription(name=full_name("subscriptions", subscription), **values)

    def command(story: Story) -> None:
        story.engine.subscriptions.update(given, list(fields), now=story.now)

    return command


def retain(retention_s: float | None) -> Command:
    """Change the topic's retention."""
    given = pubsub.Topic(name=TOPIC)
    if retention_s is not None:
        given.message_retention_duration.CopyFrom(seconds(retention_s))

    def command(story: Story) -> None:
        story.engine.topics.update(given, ["message_retention_duration"], now=story.now)

    return command


def send(*texts: str, key: str = "", colour: str = "red") -> Command:
    """Publish messages that have a colour."""
    request = pubsub.PublishRequest(topic=TOPIC)
    for text in texts:
        request.messages.add(data=text.encode(), ordering_key=key, attributes={"colour": colour})

    def command(story: Story) -> None:
        story.engine.publish(request, request.SerializeToString(), now=story.now)

    return command


def seek(to: float | str, subscription: str = SUBSCRIPTION) -> Command:
    """Seek to a time in seconds, or to a snapshot."""
    request = pubsub.SeekRequest(subscription=full_name("subscriptions", subscription))
    if isinstance(to, str):
        request.snapshot = full_name("snapshots", to)
    else:
        request.time.CopyFrom(durations.to_timestamp(round(to * 1e6)))

    def command(story: Story) -> None:
        story.engine.seeking.seek(request, now=story.now)

    return command


def snap(name: str = "shot", subscription: str = SUBSCRIPTION, **fields: Any) -> Command:
    request = pubsub.CreateSnapshotRequest(
        name=full_name("snapshots", name),
        subscription=full_name("subscriptions", subscription),
        **fields,
    )

    def command(story: Story) -> None:
        story.engine.snapshots.create(request, now=story.now)

    return command


def life_of(name: str = "shot") -> Command:
    """How long a snapshot has still to live, in seconds, is the result."""

    def command(story: Story) -> float:
        found = story.engine.snapshots.get(full_name("snapshots", name), now=story.now).value
        return (durations.timestamp_us(found.expire_time) - story.now) / 1e6

    return command


def forget(name: str = "shot") -> Command:
    def command(story: Story) -> None:
        story.engine.snapshots.delete(full_name("snapshots", name), now=story.now)

    return command


def detach(subscription: str = SUBSCRIPTION) -> Command:
    def command(story: Story) -> None:
        story.engine.subscriptions.detach(full_name("subscriptions", subscription), now=story.now)

    return command


def waiting(subscription: str = SUBSCRIPTION) -> Command:
    """How many messages are not acked is the result."""

    def command(story: Story) -> int:
        story.catch_up()
        return backlog_of(story.engine, full_name("subscriptions", subscription)).undelivered

    return command


def pulled(story: Story, subscription: str = SUBSCRIPTION, *, is_caught_up: bool = True) -> str:
    """The data of all that can be pulled, sorted, as one text; each is a first try."""
    if is_caught_up:
        story.catch_up()
    subscription = full_name("subscriptions", subscription)
    found = []
    while deliveries := story.engine.lease(subscription, 1_000, now=story.now).value:
        assert {delivery.attempt for delivery in deliveries} == {1}
        found += [message_of(delivery).data.decode() for delivery in deliveries]
    check_engine(story.engine)
    return "".join(sorted(found))
