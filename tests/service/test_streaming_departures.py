"""Clients stop in different orders, and what they nacked reaches the next one at once (STR-14)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from emulator.api import pubsub
from emulator.testing import Emulator
from tests.inside import Inside
from tests.service.streams import RawStream, held, present
from tests.spec import spec
from tests.wire import LONG_LEASE_S, Names, Wire, data, until

SENT = [b"%d" % number for number in range(5)]
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "ordered": {"enable_message_ordering": True},
    "exactly once": {"enable_exactly_once_delivery": True},
    "ordered exactly once": {
        "enable_message_ordering": True,
        "enable_exactly_once_delivery": True,
    },
}


@pytest.fixture
def other_wire(emulator: Emulator) -> Iterator[Wire]:
    wire = Wire(emulator.host_port)
    yield wire
    wire.close()


def subscribe(wire: Wire, names: Names, kind: str) -> str:
    wire("CreateTopic", pubsub.Topic(name=names.topic()))
    wire(
        "CreateSubscription",
        pubsub.Subscription(
            name=names.subscription(),
            topic=names.topic(),
            ack_deadline_seconds=LONG_LEASE_S,
            **KINDS[kind],
        ),
    )
    return names.subscription()


def publish(wire: Wire, names: Names) -> None:
    messages = [pubsub.PubsubMessage(data=each, ordering_key="k") for each in SENT]
    wire("Publish", pubsub.PublishRequest(topic=names.topic(), messages=messages))


# Each has a stream, a connection for unary calls, and the messages that the stream got.
Stop = Callable[[RawStream, Wire, str, list[pubsub.ReceivedMessage]], None]


def stop_as_go(
    stream: RawStream, wire: Wire, subscription: str, received: list[pubsub.ReceivedMessage]
) -> None:
    wire.modify(subscription, received, LONG_LEASE_S)  # the receipts
    wire.modify(subscription, received, 0)
    stream.half_close()
    time.sleep(0.02)  # as on the wire: it cancels a little later
    stream.cancel()


def stop_as_rust(
    stream: RawStream, wire: Wire, subscription: str, received: list[pubsub.ReceivedMessage]
) -> None:
    wire.modify(subscription, received, 0)  # without receipts, and the stream is never closed


def stop_as_python(
    stream: RawStream, wire: Wire, subscription: str, received: list[pubsub.ReceivedMessage]
) -> None:
    wire.modify(subscription, received, LONG_LEASE_S)
    wire.modify(subscription, received, 0)
    stream.cancel()


def stop_as_node(
    stream: RawStream, wire: Wire, subscription: str, received: list[pubsub.ReceivedMessage]
) -> None:
    wire.modify(subscription, received, LONG_LEASE_S)
    stream.cancel()
    wire.modify(subscription, received, 0)


STOPS: dict[str, Stop] = {
    "Go": stop_as_go,
    "Rust, then cancelled": stop_as_rust,
    "Python": stop_as_python,
    "Node": stop_as_node,
}


@spec("STR-05", "STR-14", "DLV-03", "CLI-10", "CLI-12", "CLI-13")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("client", STOPS)
def test_what_a_stopping_client_nacks_reaches_the_next_one(
    wire: Wire, other_wire: Wire, names: Names, client: str, kind: str
) -> None:
    subscription = subscribe(wire, names, kind)
    stream = RawStream(wire, subscription).open()
    publish(wire, names)
    STOPS[client](stream, other_wire, subscription, stream.receive(5))
    stream.cancel()
    # Where a lease ran on, this would take longer than it may hang.
    got: list[pubsub.ReceivedMessage] = []
    while len(got) < 5:
        got += other_wire.pull(subscription)
    assert sorted(data(got)) == SENT
    if "ordered" in kind:
        assert data(got) == SENT
    other_wire.acknowledge(subscription, got)


@spec("STR-14", "DLV-09", "DLV-03")
@pytest.mark.parametrize("kind", ["plain", "exactly once"])
def test_another_stream_that_waits_comes_before_the_one_that_nacked(
    wire: Wire, names: Names, inside: Inside, kind: str
) -> None:
    subscription = subscribe(wire, names, kind)
    with RawStream(wire, subscription) as leaving:
        publish(wire, names)
        received = leaving.receive(5)
        with RawStream(wire, subscription) as stays:
            until(lambda: inside.waiting(subscription) == 2)
            wire.modify(subscription, received, 0)
            assert sorted(data(stays.receive(5))) == SENT
            assert held(inside, subscription) == [0, 5]


@spec("STR-07", "DLV-09")
def test_the_stream_that_nacked_gets_what_the_other_has_no_room_for(
    wire: Wire, names: Names, inside: Inside
) -> None:
    subscription = subscribe(wire, names, "plain")
    with RawStream(wire, subscription) as leaving:
        publish(wire, names)
        received = leaving.receive(5)
        with RawStream(wire, subscription, max_outstanding_messages=2) as stays:
            until(lambda: inside.waiting(subscription) == 2)
            wire.modify(subscription, received, 0)
            again = stays.receive(2), leaving.receive(3)
            assert sorted(data([*again[0], *again[1]])) == SENT


@spec("ORD-05")
def test_a_key_that_was_nacked_goes_to_its_stream_again_and_then_to_the_other(
    wire: Wire, names: Names, inside: Inside
) -> None:
    subscription = subscribe(wire, names, "ordered")
    with RawStream(wire, subscription) as leaving:
        publish(wire, names)
        received = leaving.receive(5)
        with RawStream(wire, subscription) as stays:
            until(lambda: inside.waiting(subscription) == 2)
            wire.modify(subscription, received, 0)
            assert data(leaving.receive(5)) == SENT
            leaving.half_close()
            assert data(stays.receive(5)) == SENT


@spec("DLV-03", "STR-07")
def test_a_handler_that_nacks_everything_gets_everything_again(
    wire: Wire, names: Names, inside: Inside
) -> None:
    subscription = subscribe(wire, names, "plain")
    with RawStream(wire, subscription) as stream:
        publish(wire, names)
        for _ in range(100):
            received = stream.receive(5)
            assert sorted(data(received)) == SENT
            wire.modify(subscription, received, 0)
    until(lambda: present(inside)[0] == 0)
    assert sorted(data(wire.pull(subscription))) == SENT


@spec("STR-05", "DLV-23", "CLI-13")
def test_an_ack_that_comes_after_the_stream_still_counts(
    wire: Wire, names: Names, inside: Inside
) -> None:
    subscription = subscribe(wire, names, "plain")
    stream = RawStream(wire, subscription).open()
    publish(wire, names)
    wire.modify(subscription, stream.receive(5), 0)
    received = stream.receive(5)
    stream.cancel()
    until(lambda: inside.waiting(subscription) == 0)
    wire.acknowledge(subscription, received)
    assert inside.counts(subscription) == (0, 0)


@spec("DLV-02", "DLV-09")
def test_a_stream_that_nobody_reads_any_more_comes_after_those_that_are_read(
    emulator: Emulator, wire: Wire, names: Names, inside: Inside
) -> None:
    # A Rust client that is dropped nacks, and leaves its stream open.
    subscription = subscribe(wire, names, "plain")
    with RawStream(wire, subscription, stream_ack_deadline_seconds=10) as forgotten:
        publish(wire, names)
        wire.modify(subscription, forgotten.receive(5), 0)
        until(lambda: inside.counts(subscription) == (0, 5))
        with RawStream(wire, subscription, stream_ack_deadline_seconds=10) as stays:
            until(lambda: inside.waiting(subscription) == 2)
            emulator.clock(names.project).advance(seconds=10)
            assert sorted(data(stays.receive(5))) == SENT
