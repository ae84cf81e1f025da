"""How much a stream may hold, and what makes room (STR-07)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.inside import Inside
from tests.service.streams import RawStream, Received, held, ids
from tests.spec import spec
from tests.wire import Names, Wire, data, until


@pytest.fixture
def subscription(wire: Wire, names: Names) -> str:
    wire.create(names.topic(), names.subscription())
    return names.subscription()


def publish_numbers(wire: Wire, names: Names, count: int, *, size: int = 3) -> None:
    wire.publish(names.topic(), *(b"%0*d" % (size, number) for number in range(count)))


# --- by messages ---


@spec("STR-07")
def test_no_more_messages_than_the_window_holds(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    publish_numbers(wire, names, 10)
    with RawStream(wire, subscription, max_outstanding_messages=3) as stream:
        assert data(stream.receive(3)) == [b"000", b"001", b"002"]
        assert inside.counts(subscription) == (7, 3)


Release = Callable[[Wire, str, RawStream, Received], None]


def acknowledge(wire: Wire, subscription: str, stream: RawStream, received: Received) -> None:
    wire.acknowledge(subscription, received)


def acknowledge_in_stream(
    wire: Wire, subscription: str, stream: RawStream, received: Received
) -> None:
    stream.send(ack_ids=ids(received))


def acknowledge_twice(wire: Wire, subscription: str, stream: RawStream, received: Received) -> None:
    wire.acknowledge(subscription, received * 2)
    wire.acknowledge(subscription, received)


def nack(wire: Wire, subscription: str, stream: RawStream, received: Received) -> None:
    wire.modify(subscription, received, 0)


def nack_in_stream(wire: Wire, subscription: str, stream: RawStream, received: Received) -> None:
    stream.send(modify_deadline_ack_ids=ids(received), modify_deadline_seconds=[0] * len(received))


def let_it_expire_in_a_second(
    wire: Wire, subscription: str, stream: RawStream, received: Received
) -> None:
    wire.modify(subscription, received, 1)


RELEASES = [
    acknowledge,
    acknowledge_in_stream,
    acknowledge_twice,
    nack,
    nack_in_stream,
    let_it_expire_in_a_second,
]


@spec("STR-07", "DLV-29")
@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.__name__)
def test_what_ends_a_lease_makes_room(
    wire: Wire, names: Names, subscription: str, inside: Inside, release: Release
) -> None:
    publish_numbers(wire, names, 10)
    with RawStream(wire, subscription, max_outstanding_messages=3) as stream:
        received = stream.receive(3)
        release(wire, subscription, stream, received[:1])
        assert data(stream.receive(1)) == [b"003"]
        assert held(inside, subscription) == [3]
        release(wire, subscription, stream, received[1:])
        assert data(stream.receive(2)) == [b"004", b"005"]
        assert held(inside, subscription) == [3]


@spec("STR-07")
def test_an_extension_makes_no_room(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    publish_numbers(wire, names, 3)
    with RawStream(wire, subscription, max_outstanding_messages=2) as stream:
        received = stream.receive(2)
        wire.modify(subscription, received, 600)
        assert (held(inside, subscription), inside.counts(subscription)) == ([2], (1, 2))


@spec("STR-07")
def test_leases_of_others_make_no_room(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    publish_numbers(wire, names, 4)
    pulled = wire.pull(subscription, 1)
    with RawStream(wire, subscription, max_outstanding_messages=2) as stream:
        stream.receive(2)
        wire.acknowledge(subscription, pulled)
        assert (held(inside, subscription), inside.counts(subscription)) == ([2], (1, 2))


@spec("STR-07")
@pytest.mark.parametrize("limit", [0, -1])
def test_no_limit_is_none(wire: Wire, names: Names, subscription: str, limit: int) -> None:
    for _ in range(3):
        publish_numbers(wire, names, 1_000)
    with RawStream(
        wire, subscription, max_outstanding_messages=limit, max_outstanding_bytes=limit
    ) as stream:
        assert len(stream.receive(3_000)) == 3_000


@spec("STR-15", "STR-05")
def test_a_lost_streams_leases_run_on_and_fill_no_window(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    publish_numbers(wire, names, 6)
    window = {"client_id": "same", "max_outstanding_messages": 2}
    with RawStream(wire, subscription, **window) as lost:
        left = lost.receive(2)
    until(lambda: held(inside, subscription) == [])
    with RawStream(wire, subscription, **window) as stream:
        assert data(stream.receive(2)) == [b"002", b"003"]
        wire.acknowledge(subscription, left)
        assert (held(inside, subscription), inside.counts(subscription)) == ([2], (2, 2))


@spec("STR-15")
def test_two_streams_of_one_client_have_a_window_each(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    window = {"client_id": "same", "max_outstanding_messages": 2}
    with (
        RawStream(wire, subscription, **window) as one,
        RawStream(wire, subscription, **window) as two,
    ):
        publish_numbers(wire, names, 10)
        one.receive(2)
        two.receive(2)
        assert (held(inside, subscription), inside.counts(subscription)) == ([2, 2], (6, 4))


# --- by bytes ---


@spec("STR-07")
def test_no_more_bytes_than_the_window_holds(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    publish_numbers(wire, names, 10, size=1_000)
    with RawStream(wire, subscription, max_outstanding_bytes=2_500) as stream:
        first, second = stream.receive(2)
        assert inside.counts(subscription) == (8, 2)
        wire.acknowledge(subscription, [first])
        stream.receive(1)
        wire.modify(subscription, [second], 0)
        stream.receive(1)
        assert held(inside, subscription) == [2]


@spec("STR-07")
def test_the_bytes_are_those_of_the_encoded_messages(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    publish_numbers(wire, names, 3, size=1_000)
    [sample] = wire.pull(subscription, 1)
    wire.modify(subscription, [sample], 0)
    size = sample.message.ByteSize()
    for limit, count in ((2 * size, 2), (2 * size - 1, 1)):
        with RawStream(wire, subscription, max_outstanding_bytes=limit) as stream:
            received = stream.receive(count)
            assert held(inside, subscription) == [count]
            wire.modify(subscription, received, 600)
        until(lambda: held(inside, subscription) == [])
        wire.modify(subscription, received, 0)


@spec("STR-07")
def test_a_message_larger_than_the_window_is_sent_when_nothing_is_out(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    publish_numbers(wire, names, 3, size=5_000)
    with RawStream(wire, subscription, max_outstanding_bytes=1_000) as stream:
        for left in (2, 1, 0):
            received = stream.receive(1)
            assert inside.counts(subscription) == (left, 1)
            wire.acknowledge(subscription, received)


@spec("STR-07")
def test_a_large_message_waits_for_an_empty_window(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    wire.publish(names.topic(), b"small", b"s", b"large" * 1_000)
    with RawStream(wire, subscription, max_outstanding_bytes=1_000) as stream:
        one, two = stream.receive(2)
        wire.acknowledge(subscription, [one])
        assert inside.counts(subscription) == (1, 1)
        wire.acknowledge(subscription, [two])
        assert data(stream.receive(1)) == [b"large" * 1_000]


# --- responses ---


@spec("STR-09")
def test_a_response_has_a_thousand_messages_at_most(
    wire: Wire, names: Names, subscription: str
) -> None:
    for _ in range(5):
        publish_numbers(wire, names, 1_000)
    sizes: list[int] = []
    with RawStream(wire, subscription) as stream:
        while sum(sizes) < 5_000:
            sizes.append(len(stream.response().received_messages))
    assert max(sizes) == 1_000
    assert sum(sizes) == 5_000


@spec("STR-09")
def test_a_response_stays_below_ten_megabytes(wire: Wire, names: Names, subscription: str) -> None:
    for _ in range(4):
        publish_numbers(wire, names, 9, size=1_000_000)
    count = 0
    with RawStream(wire, subscription) as stream:
        while count < 36:
            response = stream.response()
            assert response.ByteSize() < 10_100_000
            count += len(response.received_messages)
    assert count == 36
