"""Several consumers on one subscription: who gets what, and nobody holds back anybody."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from tests.inside import Inside
from tests.service.streams import RawStream, Received, held
from tests.spec import spec
from tests.wire import Names, Wire, data, until


@pytest.fixture
def subscription(wire: Wire, names: Names) -> str:
    wire.create(names.topic(), names.subscription())
    return names.subscription()


class Collector:
    """Reads a stream on a thread until the stream ends."""

    def __init__(self, stream: RawStream) -> None:
        self.received: Received = []
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream: RawStream) -> None:
        for response in stream.rest():
            self.received.extend(response.received_messages)


@spec("STR-07", "DLV-09", "NAM-04")
def test_two_windows_of_sixty_share_a_hundred_messages(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    window = {"max_outstanding_messages": 60}
    with (
        RawStream(wire, subscription, **window) as one,
        RawStream(wire, subscription, **window) as two,
    ):
        until(lambda: inside.waiting(subscription) == 2)
        collectors = Collector(one), Collector(two)
        sent = [b"%03d" % number for number in range(100)]
        wire.publish(names.topic(), *sent)
        until(lambda: sum(len(each.received) for each in collectors) >= 100)
        shares = [data(each.received) for each in collectors]
        assert sorted(shares[0] + shares[1]) == sent
        assert sum(held(inside, subscription)) == 100
        assert min(held(inside, subscription)) >= 40


@spec("DLV-09")
def test_single_messages_go_to_idle_streams_in_turn(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    with RawStream(wire, subscription) as one, RawStream(wire, subscription) as two:
        collectors = Collector(one), Collector(two)
        for number in range(1, 21):
            wire.publish(names.topic(), b"%d" % number)
            until(lambda n=number: sum(len(each.received) for each in collectors) == n)
        assert [len(each.received) for each in collectors] == [10, 10]
        assert held(inside, subscription) == [10, 10]


@spec("DLV-09", "DLV-02")
def test_a_pull_and_a_stream_share(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    with RawStream(wire, subscription) as stream:
        collector = Collector(stream)
        pull = wire.start_pull(subscription, 1)
        until(lambda: inside.waiting(subscription) == 2)
        for number in range(2):
            wire.publish(names.topic(), b"%d" % number)
        until(lambda: pull.done() and len(collector.received) == 1)
        both = data(pull.result().received_messages) + data(collector.received)
        assert sorted(both) == [b"0", b"1"]


@spec("NAM-04", "NAM-03")
def test_streams_of_different_subscriptions_get_everything_each(wire: Wire, names: Names) -> None:
    subscriptions = [names.subscription(f"subscription-{number}") for number in range(3)]
    wire.create(names.topic(), *subscriptions)
    streams = [RawStream(wire, name).open() for name in subscriptions]
    sent = [b"%03d" % number for number in range(50)]
    wire.publish(names.topic(), *sent)
    for stream in streams:
        assert sorted(data(stream.receive(50))) == sent
        stream.cancel()


@spec("STR-08", "STR-07")
def test_a_full_stream_leaves_the_rest_to_others(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    with RawStream(wire, subscription, max_outstanding_messages=1) as full:
        wire.publish(names.topic(), b"first")
        full.receive(1)
        with RawStream(wire, subscription) as other:
            wire.publish(names.topic(), *(b"%d" % number for number in range(100)))
            other.receive(100)
            assert held(inside, subscription) == [1, 100]


MESSAGES = 10_000
SIZE_BYTES = 10_000
#: One response that gRPC has taken in for a client that does not read, and one on its way there.
STUCK_BYTES = 20_000_000


@spec("STR-08", "DLV-09")
def test_a_stream_that_is_never_read_holds_nobody_back(
    wire: Wire, other_wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    with RawStream(other_wire, subscription) as stuck, RawStream(wire, subscription) as read:
        collector = Collector(read)
        for _ in range(MESSAGES // 900 + 1):
            wire.publish(names.topic(), *[bytes(SIZE_BYTES)] * 900)
        total = (MESSAGES // 900 + 1) * 900

        def is_shared_out() -> bool:
            return sum(inside.counts(subscription)) == inside.counts(subscription).leased == total

        until(is_shared_out)
        stuck_count, read_count = held(inside, subscription)
        print(f"leased to the stream that is not read: {stuck_count} of {total}")
        assert stuck_count * SIZE_BYTES <= STUCK_BYTES
        until(lambda: len(collector.received) == read_count)
        assert max(Counter(each.message.message_id for each in collector.received).values()) == 1
        stuck.cancel()
        until(lambda: len(held(inside, subscription)) == 1)
        wire.publish(names.topic(), b"last")
        until(lambda: b"last" in data(collector.received[-1_000:]))
