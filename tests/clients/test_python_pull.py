"""Pull, acknowledge and their kin through the official Python client."""

from __future__ import annotations

import threading

import pytest
from google.api_core import exceptions
from google.cloud import pubsub_v1
from google.pubsub_v1.types import ReceivedMessage

from tests.spec import spec
from tests.wire import HANG_LIMIT_S, Names, Wire

Publisher = pubsub_v1.PublisherClient
Subscriber = pubsub_v1.SubscriberClient
THREADS = 4


def publish(publisher: Publisher, topic: str, *contents: bytes) -> list[str]:
    futures = [publisher.publish(topic, content) for content in contents]
    return [future.result(HANG_LIMIT_S) for future in futures]


def pull(subscriber: Subscriber, name: str, limit: int = 1_000) -> list[ReceivedMessage]:
    """What comes first; waits for it."""
    answer = subscriber.pull(subscription=name, max_messages=limit, timeout=HANG_LIMIT_S)
    return list(answer.received_messages)


def peek(subscriber: Subscriber, name: str) -> list[ReceivedMessage]:
    """What is available now."""
    request = {"subscription": name, "max_messages": 1_000, "return_immediately": True}
    return list(subscriber.pull(request=request).received_messages)


def contents(received: list[ReceivedMessage]) -> list[bytes]:
    return sorted(each.message.data for each in received)


def ack_ids(received: list[ReceivedMessage]) -> list[str]:
    return [each.ack_id for each in received]


# `return_immediately` is the only way to say that nothing is there without waiting for it.
pytestmark = pytest.mark.filterwarnings("ignore:The return_immediately flag")


@spec("DLV-02", "DLV-04", "DLV-24", "PUL-05")
def test_pull_and_acknowledge(
    publisher: Publisher, subscriber: Subscriber, wire: Wire, names: Names
) -> None:
    wire.create(names.topic(), names.subscription())
    name = names.subscription()
    sent = publish(publisher, names.topic(), b"a", b"b", b"c")
    received = pull(subscriber, name)
    assert contents(received) == [b"a", b"b", b"c"]
    assert {each.message.message_id for each in received} == set(sent)
    assert {each.delivery_attempt for each in received} == {0}
    assert all(each.message.publish_time for each in received)
    assert peek(subscriber, name) == []  # leased
    for _ in range(2):
        subscriber.acknowledge(subscription=name, ack_ids=ack_ids(received))
    subscriber.modify_ack_deadline(
        subscription=name, ack_ids=ack_ids(received), ack_deadline_seconds=0
    )
    assert peek(subscriber, name) == []  # gone


@spec("DLV-03", "DLV-05", "ACK-01", "PUB-07")
def test_nack_brings_a_message_back_at_once(
    publisher: Publisher, subscriber: Subscriber, wire: Wire, names: Names
) -> None:
    wire.create(names.topic(), names.subscription())
    name = names.subscription()
    [message_id] = publish(publisher, names.topic(), b"x")
    seen = set()
    for _ in range(10):
        [received] = pull(subscriber, name)
        assert received.message.message_id == message_id
        seen.add(received.ack_id)
        subscriber.modify_ack_deadline(
            subscription=name, ack_ids=[received.ack_id], ack_deadline_seconds=0
        )
    assert len(seen) == 10


@spec("DLV-21", "DLV-02")
def test_a_shortened_lease_ends_after_a_second_and_an_extended_one_does_not(
    publisher: Publisher, subscriber: Subscriber, wire: Wire, names: Names
) -> None:
    wire.create(names.topic(), names.subscription(), ack_deadline_s=10)
    name = names.subscription()
    publish(publisher, names.topic(), b"short", b"long")
    received = {each.message.data: each.ack_id for each in pull(subscriber, name)}
    assert len(received) == 2
    for content, seconds in ((b"long", 600), (b"short", 1)):
        subscriber.modify_ack_deadline(
            subscription=name, ack_ids=[received[content]], ack_deadline_seconds=seconds
        )
    [again] = pull(subscriber, name)  # waits for it
    assert again.message.data == b"short"
    assert again.ack_id != received[b"short"]
    subscriber.acknowledge(subscription=name, ack_ids=[again.ack_id, received[b"long"]])
    assert peek(subscriber, name) == []


@spec("DLV-02", "DLV-05", "DLV-20", "SUB-04")
def test_a_waiting_pull_gets_what_was_not_acknowledged_for_ten_real_seconds(
    publisher: Publisher, subscriber: Subscriber, wire: Wire, names: Names
) -> None:
    wire.create(names.topic(), names.subscription(), ack_deadline_s=10)
    [message_id] = publish(publisher, names.topic(), b"x")
    [first] = pull(subscriber, names.subscription())
    [second] = pull(subscriber, names.subscription())
    assert first.message.message_id == second.message.message_id == message_id
    assert first.ack_id != second.ack_id


@spec("DLV-25", "DLV-26", "PUL-01", "ERR-11", "ERR-12", "ERR-13", "ERR-15")
def test_refusals(subscriber: Subscriber, wire: Wire, names: Names) -> None:
    wire.create(names.topic(), names.subscription())
    name = names.subscription()
    with pytest.raises(exceptions.InvalidArgument, match=r"argument=max_messages"):
        subscriber.pull(subscription=name, max_messages=0)
    with pytest.raises(exceptions.InvalidArgument, match=r"ack_id=nonsense"):
        subscriber.acknowledge(subscription=name, ack_ids=["nonsense"])
    with pytest.raises(exceptions.InvalidArgument, match="not specified an ack ID"):
        subscriber.acknowledge(subscription=name, ack_ids=[])
    wire.publish(names.topic(), b"x")
    ids = ack_ids(pull(subscriber, name))
    with pytest.raises(exceptions.InvalidArgument, match="between 0 and 600 seconds"):
        subscriber.modify_ack_deadline(subscription=name, ack_ids=ids, ack_deadline_seconds=601)
    with pytest.raises(exceptions.NotFound):
        pull(subscriber, names.subscription("other"))


class Consumers:
    """Several threads that pull from one subscription and acknowledge what they get."""

    def __init__(self, subscriber: Subscriber, name: str, expected: int) -> None:
        self._subscriber = subscriber
        self._name = name
        self._expected = expected
        self._done = threading.Event()
        self.received: list[list[bytes]] = [[] for _ in range(THREADS)]
        self._threads = [threading.Thread(target=self._run, args=(own,)) for own in self.received]

    def _run(self, own: list[bytes]) -> None:
        while not self._done.is_set():
            # Ends empty-handed now and then, so that it notices when all has come.
            try:
                answer = self._subscriber.pull(
                    subscription=self._name, max_messages=5, timeout=0.5, retry=None
                )
            except exceptions.DeadlineExceeded:
                continue
            received = list(answer.received_messages)
            if received:
                ids = ack_ids(received)
                self._subscriber.acknowledge(subscription=self._name, ack_ids=ids)
                own += contents(received)
            if sum(map(len, self.received)) >= self._expected:
                self._done.set()

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def join(self) -> list[bytes]:
        """Return all that they received, when they have it all."""
        assert self._done.wait(HANG_LIMIT_S)
        for thread in self._threads:
            thread.join()
        return sorted(each for own in self.received for each in own)


def numbered(count: int, prefix: bytes = b"") -> list[bytes]:
    return [b"%b%04d" % (prefix, number) for number in range(count)]


@spec("NAM-04", "NAM-02")
def test_fan_in(publisher: Publisher, subscriber: Subscriber, wire: Wire, names: Names) -> None:
    """Many publishers, one subscriber that gets everything."""
    wire.create(names.topic(), names.subscription())
    sent = [numbered(50, b"%d-" % number) for number in range(THREADS)]
    threads = [
        threading.Thread(target=publish, args=(publisher, names.topic(), *each)) for each in sent
    ]
    for thread in threads:
        thread.start()
    received: list[ReceivedMessage] = []
    while len(received) < 200:
        received += pull(subscriber, names.subscription())
    for thread in threads:
        thread.join()
    assert contents(received) == sorted(each for own in sent for each in own)


@spec("NAM-04", "DLV-09")
def test_load_balancing(
    publisher: Publisher, subscriber: Subscriber, wire: Wire, names: Names
) -> None:
    """Many subscribers on one subscription: each message goes to one of them."""
    wire.create(names.topic(), names.subscription())
    consumers = Consumers(subscriber, names.subscription(), 500)
    consumers.start()
    publish(publisher, names.topic(), *numbered(500))
    assert consumers.join() == numbered(500)


@spec("NAM-03", "NAM-04", "DLV-07")
def test_fan_out(publisher: Publisher, subscriber: Subscriber, wire: Wire, names: Names) -> None:
    """Every subscription gets everything, whatever happens on the others."""
    healthy, failing, idle = (names.subscription(f"subscription-{n}") for n in range(3))
    wire.create(names.topic(), healthy, failing, idle)
    consumers = Consumers(subscriber, healthy, 100)
    consumers.start()
    publish(publisher, names.topic(), *numbered(100))
    refused = pull(subscriber, failing)
    subscriber.modify_ack_deadline(
        subscription=failing, ack_ids=ack_ids(refused), ack_deadline_seconds=0
    )
    assert consumers.join() == numbered(100)
    for name in (failing, idle):
        received: list[ReceivedMessage] = []
        while len(received) < 100:
            received += pull(subscriber, name)
        assert contents(received) == numbered(100)
    with pytest.raises(exceptions.InvalidArgument, match="ack_id="):
        subscriber.acknowledge(subscription=idle, ack_ids=ack_ids(refused)[:1])  # DLV-28
