"""Publishing through the official Python client: batches, threads, compression, large messages."""

from __future__ import annotations

import threading

import google.pubsub_v1
import grpc
import pytest
from google.api_core import exceptions
from google.cloud import pubsub_v1
from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport
from google.pubsub_v1.types import PubsubMessage

from emulator.testing import Emulator
from tests.clients.conftest import MakePublisher
from tests.spec import spec
from tests.wire import HANG_LIMIT_S, Names, Wire, data

Publisher = pubsub_v1.PublisherClient
Subscriber = pubsub_v1.SubscriberClient


def take_all(wire: Wire, subscription: str, count: int) -> list[PubsubMessage]:
    """Pull and acknowledge `count` messages; there must be no more of them."""
    taken = []
    while len(taken) < count:
        received = wire.pull(subscription)
        assert received, f"{len(taken)} of {count} messages came"
        wire.acknowledge(subscription, received)
        taken += [each.message for each in received]
    assert wire.peek(subscription) == []
    return taken


@spec("PUB-01", "PUB-60")
def test_results_belong_to_their_messages(
    make_publisher: MakePublisher, wire: Wire, names: Names
) -> None:
    wire.create(names.topic(), names.subscription())
    # Batches are cut by count, some by time; results must not be mixed up between them.
    publisher = make_publisher(
        batch_settings=pubsub_v1.types.BatchSettings(max_messages=30, max_latency=0.01)
    )
    futures = [
        publisher.publish(names.topic(), b"%d" % number, number=str(number))
        for number in range(1_000)
    ]
    ids = [future.result(HANG_LIMIT_S) for future in futures]
    assert len(set(ids)) == 1_000
    messages = take_all(wire, names.subscription(), 1_000)
    by_id = {message.message_id: message for message in messages}
    for number, message_id in enumerate(ids):
        assert by_id[message_id].data == b"%d" % number
        assert dict(by_id[message_id].attributes) == {"number": str(number)}


@spec("PUB-60", "NAM-02")
def test_several_threads_share_a_publisher(publisher: Publisher, wire: Wire, names: Names) -> None:
    topics = [names.topic("one"), names.topic("two")]
    for topic in topics:
        wire.create(topic, names.subscription(topic.rpartition("/")[2]))
    ids: list[list[str]] = []

    def publish(thread: int) -> None:
        topic = topics[thread % 2]
        futures = [publisher.publish(topic, b"%d-%d" % (thread, n)) for n in range(250)]
        ids.append([future.result(HANG_LIMIT_S) for future in futures])

    threads = [threading.Thread(target=publish, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({message_id for each in ids for message_id in each}) == 1_000
    for leaf, own in (("one", (0, 2)), ("two", (1, 3))):
        messages = take_all(wire, names.subscription(leaf), 500)
        expected = {b"%d-%d" % (thread, n) for thread in own for n in range(250)}
        assert {message.data for message in messages} == expected


@spec("PUB-42", "PUB-41")
def test_ordering_keys_are_delivered(
    make_publisher: MakePublisher, wire: Wire, names: Names
) -> None:
    wire.create(names.topic(), names.subscription())
    options = pubsub_v1.types.PublisherOptions(enable_message_ordering=True)
    publisher = make_publisher(publisher_options=options)
    sent = [(f"key-{n % 3}", b"%03d" % n) for n in range(300)]
    futures = [publisher.publish(names.topic(), each, ordering_key=key) for key, each in sent]
    for future in futures:
        future.result(HANG_LIMIT_S)
    messages = take_all(wire, names.subscription(), 300)
    for key in ("key-0", "key-1", "key-2"):
        received = [each.data for each in messages if each.ordering_key == key]
        assert sorted(received) == [each for own, each in sent if own == key]


@spec("PUB-62")
def test_gzip(emulator: Emulator, wire: Wire, names: Names) -> None:
    wire.create(names.topic(), names.subscription())
    channel = grpc.insecure_channel(emulator.host_port, compression=grpc.Compression.Gzip)
    publisher = Publisher(transport=PublisherGrpcTransport(channel=channel))
    content = b"compressible " * 1_000
    futures = [publisher.publish(names.topic(), content) for _ in range(20)]
    ids = [future.result(HANG_LIMIT_S) for future in futures]
    messages = take_all(wire, names.subscription(), 20)
    assert sorted(ids) == sorted(message.message_id for message in messages)
    assert {message.data for message in messages} == {content}
    publisher.stop()
    channel.close()


@spec("PUB-23", "STR-09")
def test_nearly_ten_megabytes_both_ways(
    publisher: Publisher, unlimited_subscriber: Subscriber, wire: Wire, names: Names
) -> None:
    wire.create(names.topic(), names.subscription())
    content = bytes(range(256)) * (9_900_000 // 256)
    message_id = publisher.publish(names.topic(), content).result(HANG_LIMIT_S)
    [received] = unlimited_subscriber.pull(
        subscription=names.subscription(), max_messages=1
    ).received_messages
    assert received.message.message_id == message_id
    assert received.message.data == content


@spec("STR-09")
def test_large_messages_come_in_answers_that_the_client_takes(
    publisher: Publisher, subscriber: Subscriber, wire: Wire, names: Names
) -> None:
    """Told of an emulator by its environment, the client takes answers of up to 4 MiB."""
    wire.create(names.topic(), names.subscription())
    futures = [publisher.publish(names.topic(), b"x" * 1_000_000) for _ in range(9)]
    ids = {future.result(HANG_LIMIT_S) for future in futures}
    while ids:
        received = subscriber.pull(
            subscription=names.subscription(), max_messages=1_000
        ).received_messages
        assert received
        ids -= {each.message.message_id for each in received}


@spec("PUB-21", "PUB-61", "ERR-53")
@pytest.mark.parametrize("size", [20_000_000, 100_000_000])
def test_too_large_fails_at_once(
    unbatched_publisher: google.pubsub_v1.PublisherClient, wire: Wire, names: Names, size: int
) -> None:
    wire.create(names.topic(), names.subscription())
    message = PubsubMessage(data=b"x" * size)
    with pytest.raises(exceptions.InvalidArgument) as refused:
        unbatched_publisher.publish(topic=names.topic(), messages=[message])
    assert "request_size is too large" in refused.value.message
    assert "maximum value is 10000000." in refused.value.message
    assert refused.value.details == []
    assert data(wire.peek(names.subscription())) == []


@spec("PUB-02", "PUB-61")
def test_a_missing_topic_fails_the_future(publisher: Publisher, names: Names) -> None:
    future = publisher.publish(names.topic(), b"x")
    assert isinstance(future.exception(HANG_LIMIT_S), exceptions.NotFound)


@spec("PUB-03", "PUB-28", "ERR-57")
def test_one_bad_message_fails_its_batch(
    unbatched_publisher: google.pubsub_v1.PublisherClient, wire: Wire, names: Names
) -> None:
    wire.create(names.topic(), names.subscription())
    messages = [PubsubMessage(data=b"good"), PubsubMessage(data=b"bad", attributes={"Goog": "x"})]
    with pytest.raises(exceptions.InvalidArgument, match=r"\(key=Goog\)"):
        unbatched_publisher.publish(topic=names.topic(), messages=messages)
    assert data(wire.peek(names.subscription())) == []
