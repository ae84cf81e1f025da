"""Seek and snapshots through the official Python client."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import pubsub_v1
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask

from emulator.testing import Emulator
from tests.clients.conftest import build
from tests.spec import spec
from tests.wire import HANG_LIMIT_S, Names

Publisher = pubsub_v1.PublisherClient
Subscriber = pubsub_v1.SubscriberClient
EPOCH = datetime(1970, 1, 2, tzinfo=UTC)
YEAR_3000 = datetime(3000, 1, 1, tzinfo=UTC)
HOUR = Duration(seconds=3_600)

# `return_immediately` is the only way to say that nothing is there without waiting for it.
pytestmark = pytest.mark.filterwarnings("ignore:The return_immediately flag")


@pytest.fixture
def other_subscriber(emulator: Emulator) -> Iterator[Subscriber]:
    """A client that was not there when things happened."""
    client = build(Subscriber, emulator.host_port)
    yield client
    client.close()


def create(publisher: Publisher, subscriber: Subscriber, names: Names, **fields: Any) -> None:
    publisher.create_topic(name=names.topic())
    request = {"name": names.subscription(), "topic": names.topic(), **fields}
    subscriber.create_subscription(request=request)


def publish(publisher: Publisher, names: Names, *contents: bytes) -> None:
    for future in [publisher.publish(names.topic(), content) for content in contents]:
        future.result(HANG_LIMIT_S)


def take(subscriber: Subscriber, name: str) -> list[bytes]:
    """Pull and acknowledge all that is there."""
    contents: list[bytes] = []
    request = {"subscription": name, "max_messages": 1_000, "return_immediately": True}
    while received := subscriber.pull(request=request).received_messages:
        contents += [each.message.data for each in received]
        ack_ids = [each.ack_id for each in received]
        subscriber.acknowledge(subscription=name, ack_ids=ack_ids)
    return sorted(contents)


def seek(subscriber: Subscriber, name: str, **target: Any) -> None:
    subscriber.seek(request={"subscription": name, **target})


@spec("SEK-03", "SEK-11")
def test_retained_messages_come_back_after_a_seek(
    publisher: Publisher, subscriber: Subscriber, names: Names
) -> None:
    create(publisher, subscriber, names, retain_acked_messages=True)
    publish(publisher, names, b"a", b"b")
    for _ in range(2):
        assert take(subscriber, names.subscription()) == [b"a", b"b"]
        assert take(subscriber, names.subscription()) == []
        seek(subscriber, names.subscription(), time=EPOCH)


@spec("SEK-04")
def test_without_it_they_do_not(publisher: Publisher, subscriber: Subscriber, names: Names) -> None:
    create(publisher, subscriber, names)
    publish(publisher, names, b"a")
    assert take(subscriber, names.subscription()) == [b"a"]
    publish(publisher, names, b"b")
    seek(subscriber, names.subscription(), time=EPOCH)
    assert take(subscriber, names.subscription()) == [b"b"]


@spec("SEK-01", "SEK-05")
@pytest.mark.parametrize("to", [None, YEAR_3000])
def test_a_seek_to_now_or_later_empties_and_the_next_message_arrives(
    publisher: Publisher, subscriber: Subscriber, names: Names, to: datetime | None
) -> None:
    create(publisher, subscriber, names)
    publish(publisher, names, b"a", b"b")
    seek(subscriber, names.subscription(), time=to or datetime.now(UTC) + timedelta(seconds=1))
    assert take(subscriber, names.subscription()) == []
    publish(publisher, names, b"next")
    assert take(subscriber, names.subscription()) == [b"next"]


@spec("SNP-01", "SEK-06", "SEK-07", "SUB-20")
def test_a_snapshot_brings_all_back(
    publisher: Publisher,
    subscriber: Subscriber,
    other_subscriber: Subscriber,
    names: Names,
) -> None:
    """For its source, and through another client for a new one after that is gone."""
    create(publisher, subscriber, names)
    publish(publisher, names, b"a", b"b")
    shot = f"projects/{names.project}/snapshots/shot"
    made = subscriber.create_snapshot(name=shot, subscription=names.subscription())
    assert (made.name, made.topic) == (shot, names.topic())
    life = made.expire_time - datetime.now(UTC)
    assert timedelta(days=6) < life <= timedelta(days=7)
    publish(publisher, names, b"c")
    assert take(subscriber, names.subscription()) == [b"a", b"b", b"c"]
    seek(subscriber, names.subscription(), snapshot=shot)
    assert take(subscriber, names.subscription()) == [b"a", b"b", b"c"]
    subscriber.delete_subscription(subscription=names.subscription())
    new = names.subscription("new")
    other_subscriber.create_subscription(name=new, topic=names.topic())
    assert take(other_subscriber, new) == []
    seek(other_subscriber, new, snapshot=shot)
    assert take(other_subscriber, new) == [b"a", b"b", b"c"]


@spec("SEK-10", "SUB-15", "TOP-04", "SUB-16")
def test_a_new_subscription_replays_what_its_topic_retains(
    publisher: Publisher, subscriber: Subscriber, names: Names
) -> None:
    publisher.create_topic(request={"name": names.topic(), "message_retention_duration": HOUR})
    publish(publisher, names, b"a")
    name = names.subscription()
    made = subscriber.create_subscription(name=name, topic=names.topic())
    assert made.topic_message_retention_duration == timedelta(hours=1)
    assert take(subscriber, name) == []
    seek(subscriber, name, time=EPOCH)
    assert take(subscriber, name) == [b"a"]


@spec("SNP-04", "SNP-05", "SNP-06", "LST-06", "LST-07", "UPD-08")
def test_snapshots_are_managed(publisher: Publisher, subscriber: Subscriber, names: Names) -> None:
    create(publisher, subscriber, names)
    shot = f"projects/{names.project}/snapshots/shot"
    request = {"name": shot, "subscription": names.subscription(), "labels": {"a": "1"}}
    subscriber.create_snapshot(request=request)
    with pytest.raises(exceptions.AlreadyExists):
        subscriber.create_snapshot(request=request)
    changed = subscriber.update_snapshot(
        request={
            "snapshot": {"name": shot, "labels": {"b": "2"}},
            "update_mask": FieldMask(paths=["labels"]),
        }
    )
    assert dict(changed.labels) == {"a": "1", "b": "2"}
    assert subscriber.get_snapshot(snapshot=shot) == changed
    assert list(subscriber.list_snapshots(project=f"projects/{names.project}")) == [changed]
    assert list(publisher.list_topic_snapshots(topic=names.topic())) == [shot]
    subscriber.delete_snapshot(snapshot=shot)
    with pytest.raises(exceptions.NotFound):
        subscriber.get_snapshot(snapshot=shot)
    with pytest.raises(exceptions.NotFound):
        seek(subscriber, names.subscription(), snapshot=shot)


@spec("SNP-03", "SEK-02", "SEK-06")
def test_refusals_have_the_services_codes(
    emulator: Emulator, publisher: Publisher, subscriber: Subscriber, names: Names
) -> None:
    create(publisher, subscriber, names)
    shot = f"projects/{names.project}/snapshots/shot"
    with pytest.raises(exceptions.InvalidArgument):
        seek(subscriber, names.subscription())
    subscriber.create_snapshot(name=shot, subscription=names.subscription())
    other = names.topic("other")
    publisher.create_topic(name=other)
    subscriber.create_subscription(name=names.subscription("other"), topic=other)
    with pytest.raises(exceptions.FailedPrecondition):
        seek(subscriber, names.subscription("other"), snapshot=shot)
    publish(publisher, names, b"a")
    emulator.clock(names.project).advance(days=6, hours=23, seconds=1)
    with pytest.raises(exceptions.FailedPrecondition):
        subscriber.create_snapshot(name=f"{shot}-2", subscription=names.subscription())


@spec("SEK-09")
def test_an_open_stream_gets_what_a_seek_brings_back(
    publisher: Publisher, subscriber: Subscriber, names: Names
) -> None:
    create(publisher, subscriber, names, retain_acked_messages=True)
    arrived: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def callback(message: Any) -> None:
        message.ack()
        arrived.put(message.data)

    streaming = subscriber.subscribe(names.subscription(), callback)
    publish(publisher, names, b"a")
    assert arrived.get(timeout=HANG_LIMIT_S) == b"a"
    seek(subscriber, names.subscription(), time=EPOCH)
    assert arrived.get(timeout=HANG_LIMIT_S) == b"a"
    streaming.cancel()
    streaming.result(HANG_LIMIT_S)
