"""Consumers that go away while they wait take no message with them (PUL-06)."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulator.api import pubsub
from emulator.testing import Emulator
from emulator.transport.grpc_call import GrpcCall
from emulator.transport.pending_input import PendingInput
from tests.inside import Inside
from tests.service.streams import RawStream
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
        self._server = self.inside._server
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

    @contextmanager
    def publishing_unheard(self) -> Iterator[None]:
        """Hold the server while a consumer leaves, then publish before it can read of that."""
        is_held, has_left = threading.Event(), threading.Event()

        def publish() -> None:
            is_held.set()
            assert has_left.wait(HANG_LIMIT_S)
            until(self._has_hang_up)
            self._publish_inside()

        publishing = self.inside.begin(publish)
        assert is_held.wait(HANG_LIMIT_S)
        yield
        has_left.set()
        publishing.result(HANG_LIMIT_S)

    def _has_hang_up(self) -> bool:
        inputs = [PendingInput(relay._client) for relay in self._server._peers._relays.values()]
        for each in inputs:
            each.look()
        return any(each.has_hung_up for each in inputs)

    def _publish_inside(self) -> None:
        message = pubsub.PubsubMessage(data=b"x")
        request = pubsub.PublishRequest(topic=self.names.topic(), messages=[message])
        handler = self._server._service.handlers["/google.pubsub.v1.Publisher/Publish"]
        handler(request, GrpcCall(request.SerializeToString(), None))

    def assert_next_message_arrives(self) -> None:
        """Publish; another consumer gets the message, and nobody holds anything."""
        self.wire.publish(self.names.topic(), b"x")
        self.assert_message_arrives()

    def assert_message_arrives(self) -> None:
        """Another consumer gets the one message, and nobody holds anything."""
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
def test_a_message_sent_right_after_a_kill(round_: Round) -> None:
    """The process may have its connections for some time yet, and is sent the message there."""
    for _ in range(ROUNDS):
        kill_the_process(round_)
        round_.assert_next_message_arrives()


def a_process(round_: Round) -> Callable[[], object]:
    process = round_.start_puller_process()
    return lambda: (process.kill(), process.wait())


def a_pull(round_: Round) -> Callable[[], object]:
    wire = Wire(round_.host_port)
    call = wire.start_pull(round_.names.subscription())
    return lambda: (wire.close(), call)


def a_stream(round_: Round) -> Callable[[], object]:
    wire = Wire(round_.host_port)
    stream = RawStream(wire, round_.names.subscription()).open()
    return lambda: (wire.close(), stream)


@spec("PUL-06", "STR-05")
@pytest.mark.parametrize("start", [a_process, a_pull, a_stream])
def test_a_message_taken_before_the_server_reads_of_the_end(
    round_: Round, start: Callable[[Round], Callable[[], object]]
) -> None:
    """It is handed out over a connection that is at its end, and does not stay lost there."""
    for _ in range(ROUNDS):
        leave = start(round_)
        round_.until_waiting()
        with round_.publishing_unheard():
            leave()
        round_.assert_message_arrives()
        round_.until_waiting(0)


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
