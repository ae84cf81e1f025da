"""Ack ids that outlived what they named: taken without complaint, and of no effect (DLV-23)."""

from __future__ import annotations

import http.client
from collections.abc import Callable

import pytest

from emulator.api import pubsub
from emulator.testing import Emulator
from tests.spec import spec
from tests.wire import HANG_LIMIT_S, Names, Wire, data

Received = list[pubsub.ReceivedMessage]


def lease(wire: Wire, names: Names, content: bytes) -> Received:
    wire.publish(names.topic(), content)
    received = wire.pull(names.subscription())
    assert data(received) == [content]
    return received


def assert_harmless(wire: Wire, names: Names, stale: Received) -> None:
    """Use stale ids in every way there is while a new message is leased, then available."""
    name = names.subscription()
    current = lease(wire, names, b"new")
    assert current[0].ack_id != stale[0].ack_id
    wire.acknowledge(name, stale)
    for seconds in (0, 600):
        wire.modify(name, stale, seconds)
    assert wire.peek(name) == []  # neither acked nor nacked, it is still leased
    wire.modify(name, current, 0)
    wire.acknowledge(name, stale)
    [again] = wire.pull(name)
    assert again.message.data == b"new"
    wire.acknowledge(name, [again])
    assert wire.peek(name) == []


def reset_over_http(emulator: Emulator) -> None:
    connection = http.client.HTTPConnection(emulator.host_port, timeout=HANG_LIMIT_S)
    connection.request("POST", "/reset")
    assert connection.getresponse().status == 200
    connection.close()


@spec("DLV-23", "ACK-02")
@pytest.mark.parametrize("reset", [Emulator.reset, reset_over_http], ids=["api", "http"])
def test_ids_from_before_a_reset(
    own_emulator: Emulator, names: Names, reset: Callable[[Emulator], None]
) -> None:
    wire = Wire(own_emulator.host_port)
    wire.create(names.topic(), names.subscription())
    stale = lease(wire, names, b"old")
    reset(own_emulator)
    wire.create(names.topic(), names.subscription())
    assert_harmless(wire, names, stale)
    wire.close()


@spec("DLV-23", "SUB-20")
def test_ids_from_before_deletion_and_creation(wire: Wire, names: Names) -> None:
    wire.create(names.topic(), names.subscription())
    stale = lease(wire, names, b"old")
    request = pubsub.DeleteSubscriptionRequest(subscription=names.subscription())
    wire("DeleteSubscription", request)
    given = pubsub.Subscription(
        name=names.subscription(), topic=names.topic(), ack_deadline_seconds=600
    )
    wire("CreateSubscription", given)
    assert_harmless(wire, names, stale)


@spec("DLV-23", "ACK-02")
def test_ids_of_a_former_server(names: Names) -> None:
    received = []
    for _ in range(2):
        with Emulator() as emulator:
            wire = Wire(emulator.host_port)
            wire.create(names.topic(), names.subscription())
            received.append(lease(wire, names, b"old"))
            if len(received) == 2:
                wire.acknowledge(names.subscription(), received[1])
                assert_harmless(wire, names, received[0])
            wire.close()


@spec("DLV-23")
def test_ids_of_a_lease_before_the_present_one(wire: Wire, names: Names) -> None:
    wire.create(names.topic(), names.subscription())
    stale = lease(wire, names, b"x")
    wire.modify(names.subscription(), stale, 0)
    current = wire.pull(names.subscription())
    wire.acknowledge(names.subscription(), stale)
    wire.modify(names.subscription(), stale, 0)
    assert wire.peek(names.subscription()) == []
    wire.modify(names.subscription(), current, 0)
    assert data(wire.pull(names.subscription())) == [b"x"]
