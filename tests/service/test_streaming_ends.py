"""How streams end, from either side, and what stays behind: nothing."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable

import grpc
import pytest

from emulator.api import pubsub
from emulator.testing import Emulator
from emulator.transport import grpc_stream
from tests.inside import Inside, open_files
from tests.service.streams import RawStream, held, ids, present
from tests.spec import spec
from tests.wire import HANG_LIMIT_S, Names, Wire, data, until

NOT_FOUND = grpc.StatusCode.NOT_FOUND
FAILED_PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION
ROUNDS = 5
CYCLES = 200


@pytest.fixture
def subscription(wire: Wire, names: Names) -> str:
    wire.create(names.topic(), names.subscription())
    return names.subscription()


# --- from the server's side ---


def delete(wire: Wire, subscription: str) -> None:
    wire("DeleteSubscription", pubsub.DeleteSubscriptionRequest(subscription=subscription))


def detach(wire: Wire, subscription: str) -> None:
    wire("DetachSubscription", pubsub.DetachSubscriptionRequest(subscription=subscription))


def make_export(wire: Wire, subscription: str) -> None:
    given = pubsub.Subscription(name=subscription, bigquery_config={"table": "p.d.t"})
    mask = {"paths": ["bigquery_config"]}
    wire(
        "UpdateSubscription",
        pubsub.UpdateSubscriptionRequest(subscription=given, update_mask=mask),
    )


UNSUPPORTED = "This method is not supported for this subscription type."
ENDS = {
    "deleted": (delete, NOT_FOUND, "Resource not found (resource=subscription)."),
    "detached": (detach, FAILED_PRECONDITION, "Subscription is detached."),
    "switched to an export": (make_export, FAILED_PRECONDITION, UNSUPPORTED),
}


@spec("STR-13", "STR-18", "SUB-20", "SUB-21", "ERR-02", "ERR-40", "ERR-41")
@pytest.mark.parametrize("way", ENDS)
def test_streams_and_waiting_pulls_hear_of_the_end(
    wire: Wire, names: Names, subscription: str, inside: Inside, way: str
) -> None:
    end, code, text = ENDS[way]
    wire.publish(names.topic(), b"0", b"1")
    window = {"max_outstanding_messages": 1}
    full = [RawStream(wire, subscription, **window).open() for _ in range(2)]
    for stream in full:
        stream.receive(1)
    idle = [RawStream(wire, subscription).open() for _ in range(2)]
    pull = wire.start_pull(subscription)
    until(lambda: inside.waiting(subscription) == 5)
    end(wire, subscription)
    for stream in (*full, *idle):
        assert stream.end() == (code, text)
    assert (pull.exception(HANG_LIMIT_S).code(), pull.details()) == (code, text)
    assert inside.waiting(subscription) == 0
    assert held(inside, subscription) == []


@spec("STR-13", "ERR-02")
def test_a_reset_ends_streams(own_emulator: Emulator, names: Names) -> None:
    wire = Wire(own_emulator.host_port)
    wire.create(names.topic(), names.subscription())
    stream = RawStream(wire, names.subscription()).open()
    own_emulator.reset()
    assert stream.end() == (NOT_FOUND, "Resource not found (resource=subscription).")
    wire.close()


@spec("STR-13", "STR-16", "STR-18", "ERR-45")
def test_a_stopping_server_asks_for_new_streams(
    own_emulator: Emulator, names: Names, caplog: pytest.LogCaptureFixture
) -> None:
    wire = Wire(own_emulator.host_port)
    wire.create(names.topic(), names.subscription())
    wire.publish(names.topic(), b"x", b"y")
    full = RawStream(wire, names.subscription(), max_outstanding_messages=1).open()
    full.receive(1)
    unread = RawStream(wire, names.subscription()).open()
    idle = [RawStream(wire, names.subscription()).open() for _ in range(20)]
    with caplog.at_level(logging.DEBUG):
        own_emulator.stop()
    for stream in (full, unread, *idle):
        code, text = stream.end()
        assert code is grpc.StatusCode.UNAVAILABLE
        assert text.startswith(
            "The StreamingPull stream closed for an expected reason and should be recreated"
        )
        assert "Server shutdownNow invoked" not in text
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    wire.close()


@spec("STR-08")
def test_a_server_stops_though_a_client_does_not_read(own_emulator: Emulator, names: Names) -> None:
    wire = Wire(own_emulator.host_port)
    wire.create(names.topic(), names.subscription())
    stream = RawStream(wire, names.subscription()).open()
    for _ in range(4):
        wire.publish(names.topic(), *[bytes(1_000_000)] * 9)
    own_emulator.stop()
    assert stream.end()[0] is grpc.StatusCode.UNAVAILABLE
    wire.close()


# --- from the client's side ---


def is_finishing(inside: Inside) -> bool:
    """Whether the only stream knows that its client has said everything."""
    [stream] = inside._server._core.holders.values()
    return stream._is_finishing


@spec("STR-14")
def test_a_half_close_ends_a_stream_after_what_was_said(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    stream = RawStream(wire, subscription).open()
    wire.publish(names.topic(), b"0", b"1")
    acked, left = stream.receive(2)
    stream.send(ack_ids=[acked.ack_id])
    stream.half_close()
    assert stream.end()[0] is grpc.StatusCode.OK
    assert inside.counts(subscription) == (0, 1)
    wire.acknowledge(subscription, [left])
    assert inside.counts(subscription) == (0, 0)


@spec("STR-14")
def test_a_half_close_without_a_word(wire: Wire) -> None:
    stream = RawStream(wire)
    stream.half_close()
    assert stream.end()[0] is grpc.StatusCode.OK


@spec("STR-14")
def test_a_half_close_right_after_the_first_request(
    wire: Wire, subscription: str, inside: Inside
) -> None:
    stream = RawStream(wire, subscription)
    stream.half_close()
    assert stream.end()[0] is grpc.StatusCode.OK
    until(lambda: inside.waiting(subscription) == 0)


@spec("STR-14", "STR-11")
def test_a_half_close_ends_a_stream_after_the_answers(wire: Wire, subscription: str) -> None:
    stream = RawStream(wire, subscription, protocol_version=1)
    for _ in range(3):
        stream.send()
    stream.half_close()
    assert len(list(stream.rest())) == 4
    assert stream.call.code() is grpc.StatusCode.OK


@spec("STR-14", "STR-05")
def test_a_half_close_lets_a_response_be_read(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    stream = RawStream(wire, subscription).open()
    wire.publish(names.topic(), bytes(9_000_000))  # more than goes out without a reader
    until(lambda: inside.counts(subscription) == (0, 1))
    stream.half_close()
    until(lambda: is_finishing(inside))
    wire.publish(names.topic(), b"for somebody else")
    [response] = stream.rest()
    assert len(response.received_messages) == 1
    assert stream.call.code() is grpc.StatusCode.OK
    assert inside.counts(subscription) == (1, 1)


@spec("STR-14", "STR-05")
def test_a_half_close_ends_the_stream_of_a_client_that_does_not_read(
    wire: Wire,
    names: Names,
    subscription: str,
    inside: Inside,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grpc_stream, "FINISH_S", 0.01)
    stream = RawStream(wire, subscription).open()
    wire.publish(names.topic(), bytes(9_000_000))
    until(lambda: inside.counts(subscription) == (0, 1))
    stream.half_close()
    until(lambda: inside.waiting(subscription) == 0)
    assert inside.counts(subscription) == (1, 0)
    stream.cancel()


@spec("STR-13", "ERR-82")
def test_the_clients_deadline_ends_a_stream(wire: Wire, subscription: str, inside: Inside) -> None:
    stream = RawStream(wire, subscription, timeout_s=0.2)
    assert stream.end()[0] is grpc.StatusCode.DEADLINE_EXCEEDED
    until(lambda: inside.waiting(subscription) == 0)


@spec("STR-05", "DLV-02")
def test_the_next_message_after_a_cancellation_reaches_another_stream(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    for _ in range(ROUNDS):
        gone = RawStream(wire, subscription).open()  # the first in line
        stays = RawStream(wire, subscription).open()
        until(lambda: inside.waiting(subscription) == 2)
        # On one connection, so that the server hears of the one before the other.
        gone.cancel()
        wire.publish(names.topic(), b"x")
        wire.acknowledge(subscription, stays.receive(1))
        assert inside.counts(subscription) == (0, 0)
        stays.cancel()
        until(lambda: inside.waiting(subscription) == 0)


def cancel(wire: Wire, stream: RawStream) -> None:
    stream.cancel()


def close_the_connection(wire: Wire, stream: RawStream) -> None:
    wire.close()


@spec("STR-05", "DLV-02")
@pytest.mark.parametrize("go_away", [cancel, close_the_connection])
def test_a_stream_that_went_away_is_forgotten_at_once(
    emulator: Emulator,
    wire: Wire,
    names: Names,
    subscription: str,
    inside: Inside,
    go_away: Callable[[Wire, RawStream], None],
) -> None:
    for _ in range(ROUNDS):
        their_wire = Wire(emulator.host_port)
        gone = RawStream(their_wire, subscription).open()
        go_away(their_wire, gone)
        until(lambda: inside.waiting(subscription) == 0)
        with RawStream(wire, subscription) as stays:
            wire.publish(names.topic(), b"x")
            wire.acknowledge(subscription, stays.receive(1))
            assert inside.counts(subscription) == (0, 0)
        their_wire.close()


@spec("STR-05")
def test_what_a_lost_stream_got_stays_leased(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    with RawStream(wire, subscription) as stream:
        wire.publish(names.topic(), b"x")
        received = stream.receive(1)
    until(lambda: inside.waiting(subscription) == 0)
    assert inside.counts(subscription) == (0, 1)
    wire.modify(subscription, received, 0)
    assert data(wire.pull(subscription)) == [b"x"]


@spec("STR-15")
def test_a_stream_can_be_opened_again_and_again(
    wire: Wire, names: Names, subscription: str
) -> None:
    for _ in range(50):
        with RawStream(wire, subscription, client_id="me", max_outstanding_messages=1) as stream:
            wire.publish(names.topic(), b"x")
            received = stream.receive(1)
            stream.send(ack_ids=ids(received))
            stream.half_close()
            assert stream.end()[0] is grpc.StatusCode.OK


def test_streams_that_come_and_go_leave_nothing(own_emulator: Emulator, names: Names) -> None:
    inside = Inside(own_emulator)
    wire = Wire(own_emulator.host_port)
    wire.create(names.topic(), names.subscription())

    def cycle() -> None:
        their_wire = Wire(own_emulator.host_port)
        stream = RawStream(their_wire, names.subscription(), max_outstanding_messages=1).open()
        wire.publish(names.topic(), b"x")
        wire.acknowledge(names.subscription(), stream.receive(1))
        stream.cancel()
        their_wire.close()

    def figures() -> tuple[object, ...]:
        connections = inside.connections()
        return inside.tasks(), present(inside), connections, open_files()

    for _ in range(3):  # until everything is loaded and warm
        cycle()
    until(lambda: inside.connections() == 1 and present(inside) == (0, 0))
    before = figures()
    for _ in range(CYCLES):
        cycle()
    until(lambda: figures() == before)
    assert inside.counts(names.subscription()) == (0, 0)
    wire.close()


# --- pings of HTTP/2 ---

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_PING, _GOAWAY = 6, 7


def frames_until(connection: socket.socket, pings: int) -> list[int]:
    """Read frames until `pings` pings are answered or the server says goodbye."""
    kinds: list[int] = []
    stream = connection.makefile("rb")
    while kinds.count(_PING) < pings and _GOAWAY not in kinds:
        head = stream.read(9)
        stream.read(int.from_bytes(head[:3], "big"))
        if head[3] != _PING or head[4] & 1:  # an answer, not a ping of the server's own
            kinds.append(head[3])
    return kinds


@spec("RST-72")
def test_no_ping_is_one_too_many(emulator: Emulator) -> None:
    with socket.create_connection(("127.0.0.1", emulator.port), timeout=HANG_LIMIT_S) as connection:
        connection.sendall(_PREFACE)
        for number in range(100):
            connection.sendall(bytes([0, 0, 8, _PING, 0, 0, 0, 0, 0]) + number.to_bytes(8, "big"))
        kinds = frames_until(connection, 100)
    assert kinds.count(_PING) == 100
    assert _GOAWAY not in kinds


@spec("RST-72", "STR-13")
@pytest.mark.parametrize("seconds", [5, pytest.param(120, marks=pytest.mark.soak)])
def test_an_idle_stream_outlives_seconds_of_a_ping_each(
    emulator: Emulator,
    wire: Wire,
    names: Names,
    subscription: str,
    inside: Inside,
    seconds: int,
) -> None:
    pinging = Wire(
        emulator.host_port,
        ("grpc.keepalive_time_ms", 1_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
    )
    with RawStream(pinging, subscription, timeout_s=seconds + HANG_LIMIT_S) as stream:
        time.sleep(seconds)  # the pings go by real time
        wire.publish(names.topic(), b"x")
        assert data(stream.receive(1)) == [b"x"]
        assert len(held(inside, subscription)) == 1
    pinging.close()
