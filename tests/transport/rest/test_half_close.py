"""Clients that close their side of a connection and wait for the answer, as `nc -N` does."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from emulator.api import pubsub
from emulator.service.core import Core
from emulator.service.service import Service
from emulator.testing import Emulator
from emulator.transport.front import Front
from emulator.transport.http import HttpFace
from emulator.transport.listeners import open_listeners
from tests.inside import Inside
from tests.spec import spec
from tests.transport.rest.client import NoControl, RawHttp
from tests.wire import Names, Wire, data, until

Run = Callable[[Coroutine[Any, Any, None]], None]


def request(line: str, body: bytes = b"", *headers: str) -> bytes:
    lines = (f"{line} HTTP/1.1", "Host: a", f"Content-Length: {len(body)}", *headers, "", "")
    return "\r\n".join(lines).encode() + body


def publish(topic: str, size: int = 3) -> bytes:
    body = b'{"messages":[{"data":"%b"}]}' % (b"A" * (size // 3 * 4))
    return request(f"POST /v1/{topic}:publish", body)


def close_side(raw: RawHttp) -> None:
    raw._socket.shutdown(socket.SHUT_WR)


@pytest.fixture
def raws(emulator: Emulator) -> Any:
    made: list[RawHttp] = []

    def make() -> RawHttp:
        made.append(RawHttp(emulator.port))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("size", [3, 300_000, 7_000_000])
def test_every_publish_is_answered_once(
    raws: Callable[[], RawHttp], wire: Wire, names: Names, size: int
) -> None:
    wire.create(names.topic(), names.subscription())
    count = 20 if size < 1_000_000 else 2
    ids = set()
    for _ in range(count):
        raw = raws()
        raw.send(publish(names.topic(), size))
        close_side(raw)
        status, body = raw.answer()
        assert (status, raw.reader.read()) == (200, b"")  # and the connection ends
        ids.update(json.loads(body)["messageIds"])
    assert len(ids) == count


def test_pipelined_requests_are_all_answered(raws: Callable[[], RawHttp], names: Names) -> None:
    raw = raws()
    raw.send(request(f"PUT /v1/{names.topic()}") + publish(names.topic()) * 3)
    close_side(raw)
    assert [raw.answer()[0] for _ in range(4)] == [200] * 4
    assert raw.reader.read() == b""


@pytest.mark.parametrize("delay_turns", range(6))
def test_whenever_the_side_closes(run: Run, delay_turns: int) -> None:
    """The end of the client's side comes at each turn of the loop from the request on."""

    async def main() -> None:
        core = Core(None)
        face = HttpFace(NoControl(), Service(core).handlers)
        front = Front("/no/grpc/here", face.protocol)
        listeners = open_listeners(("127.0.0.1",), 0)
        front.start(listeners.sockets)
        for _ in range(5):
            reader, writer = await asyncio.open_connection("127.0.0.1", listeners.port)
            writer.write(request("GET /v1/projects/p/topics"))
            for _ in range(delay_turns):
                await asyncio.sleep(0)
            writer.write_eof()
            assert (await reader.read()).endswith(b"\r\n\r\n{}\n")
            writer.close()
        await front.stop_accepting()
        await face.close(1)
        await front.close()
        core.close()

    run(main())


def test_an_idle_connection_ends_with_its_clients_side(raws: Callable[[], RawHttp]) -> None:
    raw = raws()
    raw.send(request("GET /"))
    assert raw.answer() == (200, b"Ok\n")
    close_side(raw)
    assert raw.reader.read() == b""


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"P",
        b"POST / HTTP/1.1\r\nHost",
        b"PUT /v1/projects/p/topics/t HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{",
        b"PUT /v1/projects/p/topics/t HTTP/1.1\r\nHost: a\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n1\r\n{",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{",
    ],
)
@pytest.mark.parametrize("is_apart", [False, True])
def test_half_a_request_is_not_waited_for(
    own_emulator: Emulator, sent: bytes, is_apart: bool, caplog: pytest.LogCaptureFixture
) -> None:
    inside, raw = Inside(own_emulator), RawHttp(own_emulator.port)
    raw.send(sent)
    if is_apart:
        until(lambda: inside.connections() == 1)
    close_side(raw)
    answer = raw.reader.read()
    assert answer == b"" or answer.split()[1] in (b"400", b"200")
    until(lambda: inside.connections() == 0)
    assert [each for each in caplog.records if each.levelname in ("WARNING", "ERROR")] == []
    raw.close()


@spec("PUL-03", "PUL-06")
def test_a_pull_that_waits_is_answered_when_its_client_closes_its_side(
    raws: Callable[[], RawHttp], wire: Wire, names: Names, inside: Inside
) -> None:
    wire.create(names.topic(), names.subscription())
    raw = raws()
    raw.send(request(f"POST /v1/{names.subscription()}:pull", b'{"maxMessages": 9}'))
    until(lambda: inside.waiting(names.subscription()) == 1)
    close_side(raw)
    assert raw.answer() == (200, b"{}\n")
    assert inside.waiting(names.subscription()) == 0
    wire.publish(names.topic(), b"a")
    assert data(wire.pull(names.subscription())) == [b"a"]


@spec("PUL-03")
def test_a_pull_gets_what_there_is(raws: Callable[[], RawHttp], wire: Wire, names: Names) -> None:
    wire.create(names.topic(), names.subscription())
    for expected in (1, 0):
        if expected:
            wire.publish(names.topic(), b"a")
        raw = raws()
        raw.send(request(f"POST /v1/{names.subscription()}:pull", b'{"maxMessages": 9}'))
        close_side(raw)
        status, body = raw.answer()
        assert status == 200
        assert len(json.loads(body).get("receivedMessages", [])) == expected


@spec("PUL-06")
def test_a_client_that_asks_and_is_gone_takes_no_message_along(
    own_emulator: Emulator, names: Names
) -> None:
    """It closed both sides at once: its answer meets nobody."""
    blocked = threading.Event()
    inside, wire = Inside(own_emulator), Wire(own_emulator.host_port)
    wire.create(names.topic(), names.subscription())
    wire.publish(names.topic(), b"a")
    for _ in range(20):
        raw = RawHttp(own_emulator.port)
        raw.send(request("GET /"))
        assert raw.answer()[0] == 200
        # What it says and that it says no more is there when the server looks.
        waiting = inside.begin(blocked.wait)
        raw.send(request(f"POST /v1/{names.subscription()}:pull", b'{"maxMessages": 9}'))
        raw.close()
        blocked.set()
        waiting.result()
        blocked.clear()
        until(lambda: inside.connections() == 1)
        assert inside.counts(names.subscription()) == (1, 0)
    wire.close()


def test_a_shutdown_is_answered(own_emulator: Emulator) -> None:
    raw = RawHttp(own_emulator.port)
    raw.send(request("POST /shutdown"))
    close_side(raw)
    assert raw.answer() == (200, b"Shutting down...\n")
    raw.close()


# --- Expect ---


def test_the_old_version_is_told_nothing_before_its_answer(
    raws: Callable[[], RawHttp], names: Names
) -> None:
    raw = raws()
    body = b'{"labels": {"a": "b"}}'
    head = f"PUT /v1/{names.topic()} HTTP/1.0\r\nExpect: 100-continue\r\n"
    raw.send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    status, answer = raw.answer()
    assert (status, json.loads(answer)["labels"]) == (200, {"a": "b"})


def test_the_messages_are_there_once(raws: Callable[[], RawHttp], wire: Wire, names: Names) -> None:
    wire.create(names.topic(), names.subscription())
    for _ in range(20):
        raw = raws()
        raw.send(publish(names.topic()))
        close_side(raw)
        raw.answer()
    wire("Pull", pubsub.PullRequest(subscription=names.subscription(), max_messages=1))
    assert len(data(wire.pull(names.subscription(), 100))) == 19
