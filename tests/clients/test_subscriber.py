"""StreamingPull as the official Python client does it."""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from google.cloud import pubsub_v1
from google.cloud.pubsub_v1.subscriber.message import Message
from google.cloud.pubsub_v1.types import BatchSettings, FlowControl

from emulator.testing import Emulator
from tests.clients.conftest import MakePublisher, build
from tests.inside import Inside
from tests.service.streams import held
from tests.spec import spec
from tests.wire import HANG_LIMIT_S, Names, Wire, until

START_STOP_CYCLES = 50
COLD_ROUNDS = 100


@pytest.fixture
def subscription(wire: Wire, names: Names) -> str:
    # The client's own lease counts, whatever the subscription's says (CLI-14).
    wire.create(names.topic(), names.subscription(), ack_deadline_s=10)
    return names.subscription()


class Inbox:
    """A callback that acks, and what it has been called with."""

    def __init__(self, settle: Callable[[Message], None] = Message.ack) -> None:
        self._settle = settle
        self._received: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def __call__(self, message: Message) -> None:
        self._settle(message)
        self._received.put(message.data)

    def next(self) -> bytes:
        return self._received.get(timeout=HANG_LIMIT_S)

    def take(self, count: int) -> list[bytes]:
        return [self.next() for _ in range(count)]

    def __len__(self) -> int:
        return self._received.qsize()


@contextmanager
def listening(
    client: pubsub_v1.SubscriberClient,
    subscription: str,
    callback: Callable[[Message], None],
    **options: Any,
) -> Iterator[Any]:
    """Subscribe for a while; fail if the stream did."""
    future = client.subscribe(subscription, callback, **options)
    yield future
    future.cancel()
    future.result(timeout=HANG_LIMIT_S)


@spec("CLI-01", "CLI-10", "CLI-14")
def test_messages_arrive_and_are_acked(
    wire: Wire,
    names: Names,
    subscription: str,
    inside: Inside,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    inbox = Inbox()
    with listening(subscriber, subscription, inbox):
        for number in range(20):
            wire.publish(names.topic(), b"%d" % number)
            assert inbox.next() == b"%d" % number
        until(lambda: inside.counts(subscription) == (0, 0))


@spec("STR-07", "CLI-10")
def test_flow_control_holds_back_what_the_callback_has_not_settled(
    wire: Wire,
    names: Names,
    subscription: str,
    inside: Inside,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    pending: queue.SimpleQueue[Message] = queue.SimpleQueue()
    flow = FlowControl(max_messages=3)
    wire.publish(names.topic(), *(b"%d" % number for number in range(10)))
    with listening(subscriber, subscription, pending.put, flow_control=flow):
        seen = set()
        for settled in range(10):
            # As many as fit are out; the server holds the others back.
            out = min(3, 10 - settled)
            until(lambda out=out: inside.counts(subscription).leased == out)
            assert held(inside, subscription) == [out]
            message = pending.get(timeout=HANG_LIMIT_S)
            seen.add(message.data)
            message.ack()
        until(lambda: inside.counts(subscription) == (0, 0))
    assert len(seen) == 10


@spec("DLV-03", "CLI-10")
def test_a_nacked_message_comes_again(
    wire: Wire,
    names: Names,
    subscription: str,
    inside: Inside,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    attempts: Counter[bytes] = Counter()

    def nack_twice(message: Message) -> None:
        attempts[message.data] += 1
        (message.ack if attempts[message.data] == 3 else message.nack)()

    inbox = Inbox(nack_twice)
    with listening(subscriber, subscription, inbox):
        wire.publish(names.topic(), b"a", b"b")
        assert sorted(inbox.take(6)) == [b"a"] * 3 + [b"b"] * 3
        until(lambda: inside.counts(subscription) == (0, 0))


@spec("CLI-01", "STR-13")
def test_a_deleted_subscription_ends_the_future(
    wire: Wire, subscription: str, inside: Inside, subscriber: pubsub_v1.SubscriberClient
) -> None:
    future = subscriber.subscribe(subscription, Inbox())
    until(lambda: inside.waiting(subscription) == 1)
    subscriber.delete_subscription(subscription=subscription)
    error = future.exception(timeout=HANG_LIMIT_S)
    assert type(error).__name__ == "NotFound"


@spec("CLI-10", "STR-15")
def test_a_client_that_stops_and_starts_gets_each_message_at_once(
    names: Names,
    subscription: str,
    inside: Inside,
    subscriber: pubsub_v1.SubscriberClient,
    publisher: pubsub_v1.PublisherClient,
) -> None:
    inbox = Inbox()
    for number in range(START_STOP_CYCLES):
        with listening(subscriber, subscription, inbox):
            pass
        publisher.publish(names.topic(), b"%d" % number).result(timeout=HANG_LIMIT_S)
        with listening(subscriber, subscription, inbox):
            assert inbox.next() == b"%d" % number
    until(lambda: inside.counts(subscription) == (0, 0) and inside.waiting(subscription) == 0)
    assert len(inbox) == 0


@spec("STR-09", "CLI-10", "PUB-60")
def test_batches_of_a_thousand(
    names: Names,
    subscription: str,
    inside: Inside,
    subscriber: pubsub_v1.SubscriberClient,
    make_publisher: MakePublisher,
) -> None:
    batches = BatchSettings(max_messages=1_000, max_latency=1.0, max_bytes=9_000_000)
    publisher = make_publisher(batch_settings=batches)
    inbox = Inbox()
    with listening(subscriber, subscription, inbox):
        sent = [b"%04d" % number for number in range(3_000)]
        futures = [publisher.publish(names.topic(), each) for each in sent]
        assert sorted(inbox.take(3_000)) == sent
        assert len({future.result(timeout=HANG_LIMIT_S) for future in futures}) == 3_000
        until(lambda: inside.counts(subscription) == (0, 0))
    assert len(inbox) == 0


@spec("NAM-04", "DLV-09", "CLI-10")
def test_two_subscribers_share(
    emulator: Emulator, wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    clients = [build(pubsub_v1.SubscriberClient, emulator.host_port) for _ in range(2)]
    inboxes = [Inbox(), Inbox()]
    with (
        listening(clients[0], subscription, inboxes[0]),
        listening(clients[1], subscription, inboxes[1]),
    ):
        until(lambda: inside.waiting(subscription) == 2)
        sent = [b"%03d" % number for number in range(200)]
        wire.publish(names.topic(), *sent)
        until(lambda: sum(map(len, inboxes)) == 200)
        shares = [inbox.take(len(inbox)) for inbox in inboxes]
        assert sorted(shares[0] + shares[1]) == sent
        assert min(map(len, shares)) > 0
    for client in clients:
        client.close()


@spec("NAM-04", "NAM-03", "CLI-10")
def test_every_subscription_gets_everything(
    wire: Wire, names: Names, subscriber: pubsub_v1.SubscriberClient
) -> None:
    subscriptions = [names.subscription(f"subscription-{number}") for number in range(3)]
    wire.create(names.topic(), *subscriptions)
    inboxes = [Inbox() for _ in subscriptions]
    futures = [
        subscriber.subscribe(name, inbox)
        for name, inbox in zip(subscriptions, inboxes, strict=True)
    ]
    sent = [b"%03d" % number for number in range(100)]
    wire.publish(names.topic(), *sent)
    for inbox in inboxes:
        assert sorted(inbox.take(100)) == sent
    for future in futures:
        future.cancel()
        future.result(timeout=HANG_LIMIT_S)


@spec("SUB-15", "LST-08", "CLI-10")
def test_the_first_message_of_a_new_subscription_arrives(
    names: Names,
    subscriber: pubsub_v1.SubscriberClient,
    publisher: pubsub_v1.PublisherClient,
) -> None:
    for number in range(COLD_ROUNDS):
        topic, name = names.topic(f"topic-{number}"), names.subscription(f"cold-{number}")
        publisher.create_topic(name=topic)
        subscriber.create_subscription(name=name, topic=topic)
        inbox = Inbox()
        with listening(subscriber, name, inbox):
            publisher.publish(topic, b"first")
            assert inbox.next() == b"first"


@pytest.mark.soak
@spec("CLI-10", "CLI-14", "DLV-02", "DLV-21")
def test_a_slow_handler_has_its_leases_extended_in_twelve_seconds_each(
    wire: Wire,
    names: Names,
    subscription: str,
    inside: Inside,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    finish = threading.Event()
    inbox = Inbox(lambda message: (finish.wait(12), message.ack()))
    flow = FlowControl(max_messages=2, max_duration_per_lease_extension=10)
    wire.publish(names.topic(), *(b"%d" % number for number in range(10)))
    with listening(subscriber, subscription, inbox, flow_control=flow):
        received = [inbox._received.get(timeout=60) for _ in range(10)]
        assert sorted(received) == [b"%d" % number for number in range(10)]
        until(lambda: inside.counts(subscription) == (0, 0))
    assert len(inbox) == 0
