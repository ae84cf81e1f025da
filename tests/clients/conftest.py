"""The official Python client, pointed at the emulator the way its users do it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import google.pubsub_v1
import grpc
import pytest
from google.cloud import pubsub_v1
from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport

from emulator.testing import Emulator

MakePublisher = Callable[..., pubsub_v1.PublisherClient]

#: A suite of its own, like those of the other languages: `make clients` runs it.
collect_ignore = ["python"]


def build(kind: type, host_port: str, **options: Any) -> Any:
    """Make a client; the environment says where the emulator is for just as long as that takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PUBSUB_EMULATOR_HOST", host_port)
        return kind(**options)


@pytest.fixture
def make_publisher(emulator: Emulator) -> Iterator[MakePublisher]:
    """Makes publishers with options; stops them afterwards."""
    made: list[pubsub_v1.PublisherClient] = []

    def make(**options: Any) -> pubsub_v1.PublisherClient:
        made.append(build(pubsub_v1.PublisherClient, emulator.host_port, **options))
        return made[-1]

    yield make
    for publisher in made:
        publisher.stop()
        publisher.transport.close()


@pytest.fixture
def publisher(make_publisher: MakePublisher) -> pubsub_v1.PublisherClient:
    return make_publisher()


@pytest.fixture
def subscriber(emulator: Emulator) -> Iterator[pubsub_v1.SubscriberClient]:
    client = build(pubsub_v1.SubscriberClient, emulator.host_port)
    yield client
    client.close()


@pytest.fixture
def channel(emulator: Emulator) -> Iterator[grpc.Channel]:
    """A channel such as the client makes for the real service.

    For an emulator it makes one whose answers may have 4 MiB, gRPC's own default.
    """
    options = (("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1))
    with grpc.insecure_channel(emulator.host_port, options) as channel:
        yield channel


@pytest.fixture
def unbatched_publisher(channel: grpc.Channel) -> google.pubsub_v1.PublisherClient:
    """The generated client below the batching one."""
    return google.pubsub_v1.PublisherClient(transport=PublisherGrpcTransport(channel=channel))


@pytest.fixture
def unlimited_subscriber(channel: grpc.Channel) -> pubsub_v1.SubscriberClient:
    return pubsub_v1.SubscriberClient(transport=SubscriberGrpcTransport(channel=channel))
