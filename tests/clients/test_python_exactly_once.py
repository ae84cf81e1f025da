"""Exactly-once failures through the official client, whose trailers have limits of their own."""

from __future__ import annotations

import grpc
import pytest
from google.api_core.exceptions import InvalidArgument
from google.cloud import pubsub_v1
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport
from google.rpc.error_details_pb2 import ErrorInfo

from emulator.api import pubsub
from emulator.testing import Emulator
from tests.spec import spec
from tests.wire import Names, Wire

INVALID = "PERMANENT_FAILURE_INVALID_ACK_ID"
FOUR_MIB = 4 * 1024 * 1024


def stale_ids(wire: Wire, names: Names, count: int) -> tuple[str, list[str]]:
    """A subscription with exactly-once delivery, and ids of leases that were given back."""
    topic, subscription = names.topic(), names.subscription()
    wire("CreateTopic", pubsub.Topic(name=topic))
    wire(
        "CreateSubscription",
        pubsub.Subscription(name=subscription, topic=topic, enable_exactly_once_delivery=True),
    )
    messages = [pubsub.PubsubMessage(data=b"x")] * count
    wire("Publish", pubsub.PublishRequest(topic=topic, messages=messages))
    pulled = wire("Pull", pubsub.PullRequest(subscription=subscription, max_messages=count))
    ids = [received.ack_id for received in pulled.received_messages]
    assert len(ids) == count
    wire(
        "ModifyAckDeadline", pubsub.ModifyAckDeadlineRequest(subscription=subscription, ack_ids=ids)
    )
    return subscription, ids


def failures(
    client: pubsub_v1.SubscriberClient, subscription: str, ids: list[str]
) -> dict[str, str]:
    with pytest.raises(InvalidArgument) as caught:
        client.acknowledge(subscription=subscription, ack_ids=ids)
    [info] = caught.value.details
    assert isinstance(info, ErrorInfo)
    assert info.reason == "EXACTLY_ONCE_ACKID_FAILURE"
    return dict(info.metadata)


@spec("EOD-02", "EOD-03", "EOD-04")
def test_a_batch_of_the_clients_own_size_arrives_whole(
    subscriber: pubsub_v1.SubscriberClient, wire: Wire, names: Names
) -> None:
    subscription, ids = stale_ids(wire, names, 100)
    for _ in range(20):  # above gRPC's soft limit it would fail by chance
        assert failures(subscriber, subscription, ids) == dict.fromkeys(ids, INVALID)


@spec("EOD-02", "EOD-03", "RST-71")
def test_a_thousand_ids_arrive_over_a_channel_that_takes_them(
    emulator: Emulator, wire: Wire, names: Names
) -> None:
    subscription, ids = stale_ids(wire, names, 1_000)
    options = [("grpc.max_metadata_size", FOUR_MIB)]
    with grpc.insecure_channel(emulator.host_port, options) as channel:
        client = pubsub_v1.SubscriberClient(transport=SubscriberGrpcTransport(channel=channel))
        assert failures(client, subscription, ids) == dict.fromkeys(ids, INVALID)
