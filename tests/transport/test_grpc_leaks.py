"""Nothing is left of clients that have gone, nor of messages that are done with."""

from __future__ import annotations

import psutil
import pytest

from emulator.testing import Emulator
from tests.inside import Inside, open_files
from tests.spec import spec
from tests.wire import Names, Wire, until


class Books:
    """What an emulator, and this process around it, held when this was made."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self._start = self._count()

    def _count(self) -> tuple[int, ...]:
        inside = self._inside
        watching = inside.peers(), inside.guards(), inside.callers()
        return inside.tasks(), inside.connections(), open_files(), *watching

    def until_balanced(self) -> None:
        """Wait for the rest of what ends by itself; gRPC closes things behind one's back."""
        until(
            lambda: all(now <= then for now, then in zip(self._count(), self._start, strict=True))
        )


@pytest.fixture
def inside(own_emulator: Emulator) -> Inside:
    return Inside(own_emulator)


@pytest.fixture
def wire(own_emulator: Emulator) -> Wire:
    return Wire(own_emulator.host_port)


@spec("PUL-06")
def test_clients_that_come_and_go(
    own_emulator: Emulator, wire: Wire, inside: Inside, names: Names
) -> None:
    wire.create(names.topic(), names.subscription())
    subscription = names.subscription()

    def come_and_go(is_cancelled: bool) -> None:
        visitor = Wire(own_emulator.host_port)
        call = visitor.start_pull(subscription)
        until(lambda: inside.waiting(subscription) > 0)
        if is_cancelled:
            call.cancel()
        visitor.close()

    come_and_go(is_cancelled=True)  # what is made once only exists from now on
    until(lambda: inside.connections() == 1)
    books = Books(inside)
    for number in range(200):
        come_and_go(is_cancelled=number % 2 == 0)
    books.until_balanced()
    until(lambda: inside.waiting(subscription) == 0)
    assert inside.counts(subscription) == (0, 0)
    wire.publish(names.topic(), b"x")
    wire.acknowledge(subscription, wire.pull(subscription))
    wire.close()


SOAK_MESSAGES = 200_000
SOAK_GROWTH_BYTES = 10 * 1024 * 1024


@pytest.mark.soak
def test_memory_of_three_long_runs(
    own_emulator: Emulator, wire: Wire, inside: Inside, names: Names
) -> None:
    wire.create(names.topic(), names.subscription())
    books = Books(inside)
    process = psutil.Process()
    rss_bytes = []
    for _ in range(3):
        client = Wire(own_emulator.host_port)
        for number in range(0, SOAK_MESSAGES, 1_000):
            contents = [b"%092d" % each for each in range(number, number + 1_000)]
            client.publish(names.topic(), *contents)
            taken = 0
            while taken < 1_000:
                received = client.pull(names.subscription())
                client.acknowledge(names.subscription(), received)
                taken += len(received)
        client.close()
        assert inside.counts(names.subscription()) == (0, 0)
        assert inside.kept(names.topic()) == 0
        books.until_balanced()
        rss_bytes.append(process.memory_info().rss)
    print("RSS after each run:", *(f"{rss // 1024} KiB" for rss in rss_bytes))
    assert rss_bytes[2] - rss_bytes[1] <= SOAK_GROWTH_BYTES
    wire.close()
