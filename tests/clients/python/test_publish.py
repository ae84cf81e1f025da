"""The batching publisher."""

from __future__ import annotations

from collections.abc import Callable

import grpc
import pytest
from conftest import MakeLink, MakePublisher
from contract import HANG_LIMIT_S, Inbox, Names, listening
from google.api_core import exceptions
from google.cloud import pubsub_v1
from google.cloud.pubsub_v1.types import BatchSettings, PublisherOptions

TEN_THOUSAND = 10_000
FIVE_MEGABYTES = 5_000_000


# @spec CLI-10
def test_ten_thousand_messages_in_batches(
    topic: str,
    subscription: str,
    make_publisher: MakePublisher,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    batches = BatchSettings(max_messages=1_000, max_latency=0.1)
    publisher = make_publisher(batch_settings=batches)
    sent = [b"%05d" % number for number in range(TEN_THOUSAND)]
    futures = [publisher.publish(topic, data, number=data.decode()) for data in sent]
    assert len({future.result(HANG_LIMIT_S) for future in futures}) == TEN_THOUSAND
    inbox = Inbox()
    with listening(subscriber, subscription, inbox):
        received = [inbox.next() for _ in sent]
    assert sorted(message.data for message in received) == sent
    assert all(message.attributes["number"] == message.data.decode() for message in received)
    assert len(inbox) == 0


def test_compressed_publish(
    topic: str,
    subscription: str,
    make_link: MakeLink,
    make_channel: Callable[..., grpc.Channel],
    publisher_on: Callable[[grpc.Channel], pubsub_v1.PublisherClient],
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    data = b"compressible " * 10_000
    link = make_link("tcp")
    publisher = publisher_on(make_channel(link.address, compression=grpc.Compression.Gzip))
    publisher.publish(topic, data).result(HANG_LIMIT_S)
    assert 0 < link.sent_bytes() < len(data) / 10
    inbox = Inbox()
    with listening(subscriber, subscription, inbox):
        assert inbox.next().data == data


# @spec ORD-01
def test_failed_key_resumes(
    names: Names, make_publisher: MakePublisher, subscriber: pubsub_v1.SubscriberClient
) -> None:
    publisher = make_publisher(publisher_options=PublisherOptions(enable_message_ordering=True))
    topic, subscription = names.topic(), names.subscription()
    with pytest.raises(exceptions.NotFound):  # there is no topic yet
        publisher.publish(topic, b"lost", ordering_key="key").result(HANG_LIMIT_S)
    publisher.create_topic(name=topic)
    subscriber.create_subscription(
        request={"name": subscription, "topic": topic, "enable_message_ordering": True}
    )
    with pytest.raises(pubsub_v1.publisher.exceptions.PublishToPausedOrderingKeyException):
        publisher.publish(topic, b"paused", ordering_key="key").result(HANG_LIMIT_S)
    publisher.resume_publish(topic, "key")
    sent = [b"%d" % number for number in range(20)]
    for data in sent:
        publisher.publish(topic, data, ordering_key="key")
    inbox = Inbox()
    with listening(subscriber, subscription, inbox):
        received = [inbox.next() for _ in sent]
    assert [message.data for message in received] == sent
    assert {message.ordering_key for message in received} == {"key"}


def test_five_megabyte_message(
    topic: str,
    subscription: str,
    make_channel: Callable[..., grpc.Channel],
    publisher: pubsub_v1.PublisherClient,
    subscriber_on: Callable[[grpc.Channel], pubsub_v1.SubscriberClient],
) -> None:
    data = b"0123456789" * (FIVE_MEGABYTES // 10)
    publisher.publish(topic, data).result(HANG_LIMIT_S)
    # The channel that the client makes for an emulator takes 4 MiB, gRPC's own default.
    subscriber, inbox = subscriber_on(make_channel()), Inbox()
    with listening(subscriber, subscription, inbox):
        assert inbox.next().data == data
