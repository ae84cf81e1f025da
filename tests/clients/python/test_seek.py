"""Messages that were acked come again."""

from __future__ import annotations

import datetime
import time

import pytest
from contract import HANG_LIMIT_S, Inbox, Names, listening
from google.cloud import pubsub_v1


@pytest.fixture
def subscription(names: Names, topic: str, subscriber: pubsub_v1.SubscriberClient) -> str:
    request = {"name": names.subscription(), "topic": topic, "retain_acked_messages": True}
    return subscriber.create_subscription(request=request).name


def test_seek_to_time(
    topic: str,
    subscription: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    publisher.publish(topic, b"old").result(HANG_LIMIT_S)
    time.sleep(0.1)
    between = datetime.datetime.now(datetime.UTC)
    time.sleep(0.1)
    publisher.publish(topic, b"new").result(HANG_LIMIT_S)
    inbox = Inbox()
    with listening(subscriber, subscription, inbox):
        assert sorted(inbox.take(2)) == [b"new", b"old"]
        time.sleep(0.3)  # the acks arrive
        subscriber.seek(request={"subscription": subscription, "time": between})
        assert inbox.next().data == b"new"
        assert inbox.is_quiet_for(0.5)


def test_seek_to_snapshot(
    names: Names,
    topic: str,
    subscription: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    publisher.publish(topic, b"acked before").result(HANG_LIMIT_S)
    [received] = subscriber.pull(subscription=subscription, max_messages=1).received_messages
    subscriber.acknowledge(subscription=subscription, ack_ids=[received.ack_id])
    publisher.publish(topic, b"kept").result(HANG_LIMIT_S)
    snapshot = subscriber.create_snapshot(name=names.snapshot(), subscription=subscription)
    assert snapshot.topic == topic
    inbox = Inbox()
    with listening(subscriber, subscription, inbox):
        assert inbox.next().data == b"kept"
        time.sleep(0.3)  # the ack arrives
        subscriber.seek(request={"subscription": subscription, "snapshot": snapshot.name})
        assert inbox.next().data == b"kept"
        assert inbox.is_quiet_for(0.5)
    subscriber.delete_snapshot(snapshot=snapshot.name)
    assert [each.name for each in subscriber.list_snapshots(project=names.parent)] == []
