"""Consumers that go away while they wait take no message with them (PUL-06)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emulator.testing import Emulator
from tests.inside import Inside
from tests.spec import spec
from tests.wire import HANG_LIMIT_S, Names, Wire, data, until

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 5
#: Far longer than an answer takes, far shorter than the leases.
PATIENCE_S = 10.0


class Round:
    """One subscription whose leases are far longer than any test: what is lost stays lost."""

    def __init__(self, emulator: Emulator, names: Names) -> None:
        self.host_port = emulator.host_port
        self.names = names
        self.inside = Inside(emulator)
        self.wire = Wire(emulator.host_port)
        self.wire.create(names.topic(), names.subscription())
        self._processes: list[subprocess.Popen[str]] = []

    def close(self) -> None:
        self.wire.close()
        for process in self._processes:
            process.kill()
            process.communicate()

    def until_waiting(self, count: int = 1) -> None:
        until(lambda: self.inside.waiting(self.names.subscription()) == count)

    def start_puller_process(self) -> subprocess.Popen[str]:
        """A process that pulls, in a loop and without a time limit."""
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.service.waiting_puller",
                self.host_port,
                self.names.subscription(),
            ],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self._processes.append(process)
        return process

    def assert_next_message_arrives(self) -> None:
        """Publish; another consumer gets the message, and nobody holds anything."""
        self.wire.publish(self.names.topic(), b"x")
        call = self.wire.start_pull(self.names.subscription(), timeout_s=PATIENCE_S)
        received = call.result().received_messages
        assert data(received) == [b"x"]
        self.wire.acknowledge(self.names.subscription(), received)
        assert self.inside.counts(self.names.subscription()) == (0, 0)


@pytest.fixture
def round_(emulator: Emulator, names: Names) -> Iterator[Round]:
    made = Round(emulator, names)
    yield made
    made.close()


def cancel(round_: Round, wire: Wire) -> None:
    call = wire.start_pull(round_.names.subscription())
    round_.until_waiting()
    call.cancel()


def cancel_another_connections(round_: Round) -> None:
    wire = Wire(round_.host_port)
    cancel(round_, wire)


def close_the_channel(round_: Round) -> None:
    wire = Wire(round_.host_port)
    call = wire.start_pull(round_.names.subscription())  # gRPC cancels a call that nobody holds
    round_.until_waiting()
    wire.close()
    assert call.done()


def kill_the_process(round_: Round) -> None:
    process = round_.start_puller_process()
    round_.until_waiting()
    process.kill()  # and no waiting for its end


WAYS = [cancel_another_connections, close_the_channel, kill_the_process]


@spec("PUL-06")
def test_a_message_sent_behind_the_cancellation(round_: Round) -> None:
    """Both come over one connection, so the server hears of them in this order."""
    for _ in range(ROUNDS):
        cancel(round_, round_.wire)
        round_.assert_next_message_arrives()


@spec("PUL-06")
@pytest.mark.parametrize("go_away", WAYS, ids=lambda way: way.__name__)
def test_a_message_sent_after_the_server_noticed(
    round_: Round, go_away: Callable[[Round], None]
) -> None:
    for _ in range(ROUNDS):
        go_away(round_)
        round_.until_waiting(0)
        round_.assert_next_message_arrives()


@spec("PUL-06")
@pytest.mark.parametrize("go_away", WAYS, ids=lambda way: way.__name__)
def test_a_message_sent_at_the_same_moment(round_: Round, go_away: Callable[[Round], None]) -> None:
    """The consumer is gone, but the server may hear of the message first and hand it out."""
    for _ in range(ROUNDS):
        go_away(round_)
        round_.assert_next_message_arrives()


@spec("PUL-06")
def test_others_that_wait_are_not_affected(round_: Round) -> None:
    subscription = round_.names.subscription()
    gone = [round_.wire.start_pull(subscription) for _ in range(3)]
    round_.until_waiting(3)
    stays = round_.wire.start_pull(subscription)
    round_.until_waiting(4)
    for call in gone:
        call.cancel()
    round_.until_waiting(1)
    round_.wire.publish(round_.names.topic(), b"x")
    assert data(stays.result(HANG_LIMIT_S).received_messages) == [b"x"]
