"""Streaming pull: flow control, sharing, leases, redelivery."""

from __future__ import annotations

import queue
import time
from collections import Counter

from conftest import MakeSubscriber
from contract import HANG_LIMIT_S, Inbox, Names, listening, until
from google.cloud import pubsub_v1
from google.cloud.pubsub_v1.subscriber.message import Message
from google.cloud.pubsub_v1.types import FlowControl
from google.protobuf.duration_pb2 import Duration

#: Long enough for what flow control failed to hold back to arrive.
QUIET_S = 0.5
LEASE_S = 10
SLOW_S = 13


def publish(client: pubsub_v1.PublisherClient, topic: str, count: int) -> list[bytes]:
    sent = [b"%04d" % number for number in range(count)]
    for future in [client.publish(topic, data) for data in sent]:
        future.result(HANG_LIMIT_S)
    return sent


def flows(
    client: pubsub_v1.SubscriberClient,
    subscription: str,
    total: int,
    flow: FlowControl,
    at_once: range,
) -> None:
    """Expect `total` messages; one of the numbers `at_once` is out while none is settled."""
    pending: queue.SimpleQueue[Message] = queue.SimpleQueue()
    with listening(client, subscription, pending.put, flow_control=flow):
        until(lambda: pending.qsize() in at_once)
        time.sleep(QUIET_S)
        assert pending.qsize() in at_once
        seen = set()
        for _ in range(total):
            message = pending.get(timeout=HANG_LIMIT_S)
            assert pending.qsize() < max(at_once)
            seen.add(message.data)
            message.ack()
    assert len(seen) == total


# @spec STR-07
def test_flow_control_by_count(
    topic: str,
    subscription: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    publish(publisher, topic, 20)
    flows(subscriber, subscription, 20, FlowControl(max_messages=3), range(3, 4))


# @spec STR-07
def test_flow_control_by_bytes(
    topic: str,
    subscription: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    for number in range(10):
        publisher.publish(topic, b"%d" % number * 100_000).result(HANG_LIMIT_S)
    # Two fit; whether a third may overrun the limit is the server's and the client's choice.
    flows(subscriber, subscription, 10, FlowControl(max_bytes=250_000), range(2, 4))


# @spec DLV-09
def test_subscribers_share(
    topic: str,
    subscription: str,
    publisher: pubsub_v1.PublisherClient,
    make_subscriber: MakeSubscriber,
) -> None:
    inboxes = [Inbox(), Inbox()]
    with (
        listening(make_subscriber(), subscription, inboxes[0]),
        listening(make_subscriber(), subscription, inboxes[1]),
    ):
        time.sleep(QUIET_S)  # both streams are open
        sent = publish(publisher, topic, 500)
        until(lambda: sum(map(len, inboxes)) == len(sent))
        shares = [inbox.take(len(inbox)) for inbox in inboxes]
    assert sorted(shares[0] + shares[1]) == sent
    assert min(map(len, shares)) > 0


# @spec DLV-07
def test_fan_out(
    names: Names,
    topic: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    subscriptions = [names.subscription(f"subscription-{number}") for number in range(3)]
    for name in subscriptions:
        subscriber.create_subscription(name=name, topic=topic)
    sent = publish(publisher, topic, 100)
    for name in subscriptions:
        inbox = Inbox()
        with listening(subscriber, name, inbox):
            assert sorted(inbox.take(len(sent))) == sent


# @spec DLV-03 DLQ-01
def test_nack_and_attempts(
    names: Names,
    topic: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    dead = publisher.create_topic(name=names.topic("dead")).name
    policy = {"dead_letter_topic": dead, "max_delivery_attempts": 10}
    name = names.subscription()
    subscriber.create_subscription(
        request={"name": name, "topic": topic, "dead_letter_policy": policy}
    )

    def nack_twice(message: Message) -> None:
        (message.ack if message.delivery_attempt == 3 else message.nack)()

    inbox = Inbox(nack_twice)
    with listening(subscriber, name, inbox):
        publish(publisher, topic, 2)
        attempts: Counter[tuple[bytes, int | None]] = Counter()
        for _ in range(6):
            message = inbox.next()
            attempts[message.data, message.delivery_attempt] += 1
        assert inbox.is_quiet_for(QUIET_S)
    assert attempts == {(data, n): 1 for data in (b"0000", b"0001") for n in (1, 2, 3)}


# @spec DLV-21 CLI-14
def test_slow_handler_keeps_its_lease(
    names: Names,
    topic: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    name = names.subscription()
    subscriber.create_subscription(
        request={"name": name, "topic": topic, "ack_deadline_seconds": LEASE_S}
    )

    def settle(message: Message) -> None:
        time.sleep(SLOW_S)
        message.ack()

    inbox = Inbox(settle)
    flow = FlowControl(max_duration_per_lease_extension=LEASE_S)
    publish(publisher, topic, 2)
    with listening(subscriber, name, inbox, flow_control=flow):
        assert sorted(inbox.take(2)) == [b"0000", b"0001"]
        assert inbox.is_quiet_for(QUIET_S)
    pulled = subscriber.pull(subscription=name, max_messages=1, timeout=1.5)
    assert not pulled.received_messages


# @spec RTY-02
def test_retry_backoff(
    names: Names,
    topic: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    policy = {"minimum_backoff": Duration(seconds=1), "maximum_backoff": Duration(seconds=10)}
    name = names.subscription()
    subscriber.create_subscription(request={"name": name, "topic": topic, "retry_policy": policy})
    times: list[float] = []

    def nack_twice(message: Message) -> None:
        times.append(time.monotonic())
        (message.ack if len(times) == 3 else message.nack)()

    inbox = Inbox(nack_twice)
    with listening(subscriber, name, inbox):
        publish(publisher, topic, 1)
        inbox.take(3)
    assert times[1] - times[0] >= 1
    assert times[2] - times[1] >= 2  # it doubles


# @spec DLQ-02 DLQ-03
def test_dead_letter(
    names: Names,
    topic: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    dead, name = names.topic("dead"), names.subscription()
    publisher.create_topic(name=dead)
    subscriber.create_subscription(name=names.subscription("dead"), topic=dead)
    policy = {"dead_letter_topic": dead, "max_delivery_attempts": 5}
    subscriber.create_subscription(
        request={"name": name, "topic": topic, "dead_letter_policy": policy}
    )
    publisher.publish(topic, b"poison", color="green").result(HANG_LIMIT_S)
    inbox, grave = Inbox(Message.nack), Inbox()
    with (
        listening(subscriber, name, inbox),
        listening(subscriber, names.subscription("dead"), grave),
    ):
        buried = grave.next()
        assert inbox.take(5) == [b"poison"] * 5
        assert inbox.is_quiet_for(QUIET_S)
    assert (buried.data, buried.attributes["color"]) == (b"poison", "green")
    assert buried.attributes["CloudPubSubDeadLetterSourceDeliveryCount"] == "5"
    assert buried.attributes["CloudPubSubDeadLetterSourceSubscription"] == "subscription"
    assert buried.attributes["CloudPubSubDeadLetterSourceSubscriptionProject"] == names.project


# @spec DLV-40
def test_filter(
    names: Names,
    topic: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    name = names.subscription()
    wanted = 'attributes.color = "red" AND NOT hasPrefix(attributes.size, "x")'
    subscriber.create_subscription(request={"name": name, "topic": topic, "filter": wanted})
    inbox = Inbox()
    with listening(subscriber, name, inbox):
        publisher.publish(topic, b"green", color="green", size="s")
        publisher.publish(topic, b"large", color="red", size="xl")
        publisher.publish(topic, b"plain").result(HANG_LIMIT_S)
        publisher.publish(topic, b"red", color="red", size="s").result(HANG_LIMIT_S)
        assert inbox.next().data == b"red"
        assert inbox.is_quiet_for(QUIET_S)


# @spec CLI-10
def test_start_and_stop(
    topic: str,
    subscription: str,
    publisher: pubsub_v1.PublisherClient,
    make_subscriber: MakeSubscriber,
) -> None:
    inbox = Inbox()
    for number in range(20):
        with listening(make_subscriber(), subscription, inbox):
            publisher.publish(topic, b"%d" % number).result(HANG_LIMIT_S)
            assert inbox.next().data == b"%d" % number
    with listening(make_subscriber(), subscription, inbox):
        assert inbox.is_quiet_for(QUIET_S)
