"""Messages of one key come in order, also after a failure."""

from __future__ import annotations

from collections import defaultdict

import pytest
from conftest import MakePublisher
from contract import HANG_LIMIT_S, Inbox, Names, listening
from google.cloud import pubsub_v1
from google.cloud.pubsub_v1.subscriber.message import Message
from google.cloud.pubsub_v1.types import PublisherOptions

KEYS = ("a", "b", "c")
EACH = 100


@pytest.fixture
def publisher(make_publisher: MakePublisher) -> pubsub_v1.PublisherClient:
    return make_publisher(publisher_options=PublisherOptions(enable_message_ordering=True))


@pytest.fixture
def subscription(names: Names, topic: str, subscriber: pubsub_v1.SubscriberClient) -> str:
    request = {"name": names.subscription(), "topic": topic, "enable_message_ordering": True}
    return subscriber.create_subscription(request=request).name


# @spec ORD-01
def test_ordered_keys(
    topic: str,
    subscription: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    futures = [
        publisher.publish(topic, b"%03d" % number, ordering_key=key)
        for number in range(EACH)
        for key in KEYS
    ]
    for future in futures:
        future.result(HANG_LIMIT_S)
    inbox, received = Inbox(), defaultdict(list)
    with listening(subscriber, subscription, inbox):
        for _ in futures:
            message = inbox.next()
            received[message.ordering_key].append(message.data)
    assert received == {key: [b"%03d" % number for number in range(EACH)] for key in KEYS}


# @spec ORD-02
def test_ordered_key_after_a_failure(
    topic: str,
    subscription: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    sent = [b"%d" % number for number in range(10)]
    for data in sent:
        publisher.publish(topic, data, ordering_key="key").result(HANG_LIMIT_S)
    acked: list[bytes] = []
    failures = iter([True])

    def fail_once_in_the_middle(message: Message) -> None:
        if message.data == b"4" and next(failures, False):
            message.nack()
            return
        acked.append(message.data)
        message.ack()

    inbox = Inbox(fail_once_in_the_middle)
    received: list[bytes] = []
    with listening(subscriber, subscription, inbox):
        while b"9" not in received or received.count(b"4") < 2 or received[-1] != b"9":
            received.append(inbox.next().data)
    # After the failure everything from it on comes again, in order, whatever came in between.
    again = len(received) - 1 - received[::-1].index(b"4")
    assert received[again:] == sent[4:]
    assert received[: received.index(b"4")] == sent[:4]
    assert set(acked) == set(sent)
