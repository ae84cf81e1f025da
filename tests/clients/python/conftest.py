"""The official client, set up as its users do: PUBSUB_EMULATOR_HOST says where the server is."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import grpc
import pytest
from contract import Link, Names
from google.cloud import pubsub_v1
from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport

if "ENDPOINT" in os.environ:
    os.environ["PUBSUB_EMULATOR_HOST"] = os.environ["ENDPOINT"]

MakePublisher = Callable[..., pubsub_v1.PublisherClient]
MakeSubscriber = Callable[[], pubsub_v1.SubscriberClient]
MakeLink = Callable[[str], Link]


@pytest.fixture(scope="session")
def endpoint() -> str:
    return os.environ["PUBSUB_EMULATOR_HOST"]


@pytest.fixture
def names() -> Names:
    """A project of the test's own: many suites may use one server."""
    return Names(f"python-{uuid.uuid4().hex[:12]}")


@pytest.fixture
def make_publisher() -> Iterator[MakePublisher]:
    with ExitStack() as made:

        def make(**options: Any) -> pubsub_v1.PublisherClient:
            publisher = pubsub_v1.PublisherClient(**options)
            made.callback(publisher.transport.close)
            made.callback(publisher.stop)
            return publisher

        yield make


@pytest.fixture
def make_subscriber() -> Iterator[MakeSubscriber]:
    with ExitStack() as made:

        def make() -> pubsub_v1.SubscriberClient:
            return made.enter_context(pubsub_v1.SubscriberClient())

        yield make


@pytest.fixture
def publisher(make_publisher: MakePublisher) -> pubsub_v1.PublisherClient:
    return make_publisher()


@pytest.fixture
def subscriber(make_subscriber: MakeSubscriber) -> pubsub_v1.SubscriberClient:
    return make_subscriber()


@pytest.fixture
def topic(names: Names, publisher: pubsub_v1.PublisherClient) -> str:
    return publisher.create_topic(name=names.topic()).name


@pytest.fixture
def subscription(names: Names, topic: str, subscriber: pubsub_v1.SubscriberClient) -> str:
    return subscriber.create_subscription(name=names.subscription(), topic=topic).name


@pytest.fixture
def make_channel(endpoint: str) -> Iterator[Callable[..., grpc.Channel]]:
    """Channels with the limits that the client has for the service, not gRPC's own of 4 MiB."""
    with ExitStack() as made:

        def make(address: str = endpoint, **more: Any) -> grpc.Channel:
            limits = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
            return made.enter_context(grpc.insecure_channel(address, limits, **more))

        yield make


@pytest.fixture
def publisher_on(
    make_publisher: MakePublisher,
) -> Callable[[grpc.Channel], pubsub_v1.PublisherClient]:
    return lambda channel: make_publisher(transport=PublisherGrpcTransport(channel=channel))


@pytest.fixture
def subscriber_on() -> Callable[[grpc.Channel], pubsub_v1.SubscriberClient]:
    return lambda channel: pubsub_v1.SubscriberClient(
        transport=SubscriberGrpcTransport(channel=channel)
    )


@pytest.fixture
def make_link() -> Iterator[MakeLink]:
    with ExitStack() as made:

        def make(kind: str) -> Link:
            link = Link(kind)
            made.callback(link.close)
            return link

        yield make
