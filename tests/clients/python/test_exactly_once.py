"""Acks that tell how they fared."""

from __future__ import annotations

import pytest
from contract import HANG_LIMIT_S, Inbox, Names, listening
from google.cloud import pubsub_v1
from google.cloud.pubsub_v1.subscriber.exceptions import AcknowledgeError, AcknowledgeStatus


@pytest.fixture
def subscription(names: Names, topic: str, subscriber: pubsub_v1.SubscriberClient) -> str:
    request = {"name": names.subscription(), "topic": topic, "enable_exactly_once_delivery": True}
    return subscriber.create_subscription(request=request).name


# @spec EOD-01 EOD-06
def test_exactly_once_acks_succeed(
    topic: str,
    subscription: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    futures = [publisher.publish(topic, b"%d" % number) for number in range(100)]
    ids = {future.result(HANG_LIMIT_S) for future in futures}
    inbox = Inbox(lambda message: None)
    with listening(subscriber, subscription, inbox):
        received = [inbox.next() for _ in futures]
        results = [message.ack_with_response() for message in received]
        assert {result.result(HANG_LIMIT_S) for result in results} == {AcknowledgeStatus.SUCCESS}
        assert inbox.is_quiet_for(0.5)
    assert {message.message_id for message in received} == ids


# @spec EOD-02 EOD-03
def test_exactly_once_ack_fails(
    topic: str,
    subscription: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    publisher.publish(topic, b"taken").result(HANG_LIMIT_S)
    inbox = Inbox(lambda message: None)
    with listening(subscriber, subscription, inbox):
        first = inbox.next()
        # Somebody else ends the lease, and the message comes again under a new id.
        subscriber.modify_ack_deadline(
            subscription=subscription, ack_ids=[first.ack_id], ack_deadline_seconds=0
        )
        second = inbox.next()
        with pytest.raises(AcknowledgeError) as caught:
            first.ack_with_response().result(HANG_LIMIT_S)
        assert caught.value.error_code is AcknowledgeStatus.INVALID_ACK_ID
        assert second.ack_with_response().result(HANG_LIMIT_S) is AcknowledgeStatus.SUCCESS
