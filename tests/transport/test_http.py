"""The HTTP/1.1 face behind the front: its answers byte by byte, its errors and its log."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from emulator.transport.front import Front
from emulator.transport.http import HttpFace
from emulator.transport.listeners import open_listeners

Use = Callable[[int, HttpFace, Front], Coroutine[Any, Any, None]]
Serve = Callable[["ControlStub", Use], None]
Exchange = Callable[..., bytes]
Ask = Callable[..., tuple[int, str, bytes]]


class ControlStub:
    """Keeps the calls; reset fails when it is told to."""

    def __init__(
        self, error: Exception | None = None, on_shutdown: Callable[[], None] | None = None
    ) -> None:
        self.calls: list[str] = []
        self.stopping = asyncio.Event()
        self._error = error
        self._on_shutdown = on_shutdown

    def reset(self) -> None:
        if self._error is not None:
            raise self._error
        self.calls.append("reset")

    def shutdown(self) -> None:
        if self._on_shutdown is not None:
            self._on_shutdown()
        self.calls.append("shutdown")
        self.stopping.set()


@pytest.fixture
def serve(run: Callable[[Coroutine[Any, Any, None]], None]) -> Serve:
    """Run `use(port, face, front)` against a front whose HTTP/1 protocol is the face."""

    async def main(control: ControlStub, use: Use) -> None:
        face = HttpFace(control, {})
        front = Front("/no/grpc/here", face.protocol)
        listeners = open_listeners(("127.0.0.1",), 0)
        front.start(listeners.sockets)
        try:
            await use(listeners.port, face, front)
        finally:
            await front.stop_accepting()
            await face.close(1)
            await front.close()

    return lambda control, use: run(main(control, use))


@pytest.fixture
def exchange(serve: Serve) -> Exchange:
    """Send bytes on a connection of their own and return all that comes back."""

    def exchanged(request: bytes, control: ControlStub | None = None) -> bytes:
        answers: list[bytes] = []

        async def use(port: int, face: HttpFace, front: Front) -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            answers.append(await reader.read())
            writer.close()

        serve(control or ControlStub(), use)
        return answers[0]

    return exchanged


@pytest.fixture
def ask(exchange: Exchange) -> Ask:
    """Send one request; return status, content type and body of the answer."""

    def asked(
        line: str, control: ControlStub | None = None, body: bytes = b""
    ) -> tuple[int, str, bytes]:
        head = f"{line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
        head += f"Content-Length: {len(body)}\r\n\r\n"
        answer_head, _, answer = exchange(head.encode() + body, control).partition(b"\r\n\r\n")
        status, *lines = answer_head.decode().split("\r\n")
        headers = dict(each.lower().split(": ", 1) for each in lines)
        return int(status.split()[1]), headers.get("content-type", ""), answer

    return asked


def test_root_says_ok(ask: Ask) -> None:
    assert ask("GET /")[::2] == (200, b"Ok\n")


def test_root_with_a_query_says_ok(ask: Ask) -> None:
    assert ask("GET /?a=b")[::2] == (200, b"Ok\n")


def test_head_of_root_has_no_body(ask: Ask) -> None:
    assert ask("HEAD /")[::2] == (200, b"")


@pytest.mark.parametrize("body", [b"", b"{}", b"x" * 100_000])
def test_reset_takes_effect_before_its_answer(ask: Ask, body: bytes) -> None:
    control = ControlStub()
    assert ask("POST /reset", control, body)[::2] == (200, b"Resetting...\n")
    assert control.calls == ["reset"]


class Wire(asyncio.Transport):
    """Keeps what was handed to it to send."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += data

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        self.sent += b"<closed>"


def test_shutdown_begins_when_its_answer_is_on_the_way(
    run: Callable[[Coroutine[Any, Any, None]], None],
) -> None:
    wire = Wire()
    control = ControlStub(on_shutdown=lambda: control.calls.append(wire.sent.decode()))

    async def main() -> None:
        face = HttpFace(control, {})
        protocol = face.protocol()
        protocol.connection_made(wire)
        protocol.data_received(b"POST /shutdown HTTP/1.1\r\nHost: a\r\n\r\n")
        await control.stopping.wait()
        await face.close(1)

    run(main())
    [sent, call] = control.calls
    assert sent.startswith("HTTP/1.1 200 OK\r\n")
    assert "\r\nConnection: close\r\n" in sent
    assert sent.endswith("\r\n\r\nShutting down...\n")
    assert call == "shutdown"
    assert wire.sent.endswith(b"<closed>")


def test_shutdown_is_received_although_the_front_closes(serve: Serve) -> None:
    control = ControlStub()

    async def use(port: int, face: HttpFace, front: Front) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /shutdown HTTP/1.1\r\nHost: a\r\n\r\n")
        await control.stopping.wait()
        await front.close()
        assert (await reader.read()).endswith(b"\r\n\r\nShutting down...\n")
        writer.close()

    serve(control, use)
    assert control.calls == ["shutdown"]


@pytest.mark.parametrize(
    "line",
    [
        "GET /reset",
        "HEAD /reset",
        "GET /shutdown",
        "PUT /shutdown",
        "DELETE /shutdown",
        "POST /",
        "GET /nothing",
        "GET //",
        "OPTIONS *",
        "PROPFIND /x",
        "GET /%ff%00",
    ],
)
def test_anything_else_is_not_found(ask: Ask, line: str) -> None:
    control = ControlStub()
    status, content_type, body = ask(line, control)
    assert (status, content_type) == (404, "application/json; charset=utf-8")
    if not line.startswith("HEAD"):
        error = json.loads(body)["error"]
        assert (error["code"], error["status"]) == (404, "NOT_FOUND")
        assert line.split()[0] in error["message"]
    assert control.calls == []


def test_content_type_of_errors_is_spelled_as_the_service_does(exchange: Exchange) -> None:
    answer = exchange(b"GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert b"\r\nContent-Type: application/json; charset=UTF-8\r\n" in answer


def test_failing_handler_is_an_internal_error_without_its_traceback(
    ask: Ask,
    caplog: pytest.LogCaptureFixture,
) -> None:
    status, content_type, body = ask("POST /reset", ControlStub(KeyError("secret")))
    assert (status, content_type) == (500, "application/json; charset=utf-8")
    assert json.loads(body) == {
        "error": {"code": 500, "message": "Internal error.", "status": "INTERNAL"}
    }
    assert [record.getMessage() for record in caplog.records] == [
        "POST /reset failed: KeyError('secret')"
    ]
    assert caplog.records[0].exc_info is None


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x00\x01\x02 garbage\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    ],
)
def test_bad_request_is_a_400_and_no_noise(
    exchange: Exchange, request_bytes: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "emulator")
    answer = exchange(request_bytes)
    assert answer.split(b" ")[1] == b"400"
    assert b"Traceback" not in answer
    assert [record.levelname for record in caplog.records] == ["DEBUG"]
    assert caplog.records[0].exc_info is None


def test_bad_request_after_a_good_one_makes_no_noise(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async def use(port: int, face: HttpFace, front: Front) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await reader.readuntil(b"Ok\n")
        writer.write(b"rubbish\r\n\r\n")
        assert b"400 Bad Request" in await reader.read()
        writer.close()

    serve(ControlStub(), use)
    assert caplog.records == []


def test_pipelined_requests_on_one_connection_are_answered_in_order(exchange: Exchange) -> None:
    control = ControlStub()
    answer = exchange(
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        b"POST /reset HTTP/1.1\r\nHost: a\r\n\r\n"
        b"GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        control,
    )
    places = [answer.index(part) for part in (b"Ok\n", b"Resetting...\n", b"NOT_FOUND")]
    assert places == sorted(places)
    assert control.calls == ["reset"]


def test_idle_connections_are_closed_with_the_face(serve: Serve) -> None:
    async def use(port: int, face: HttpFace, front: Front) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await reader.readuntil(b"Ok\n")
        assert repr(face) == "<HttpFace 1 connections>"
        await face.close(60)
        assert await reader.read() == b""
        assert repr(face) == "<HttpFace 0 connections>"
        writer.close()

    serve(ControlStub(), use)


@pytest.mark.parametrize("module", ["aiohttp", "google.protobuf.json_format"])
def test_http_is_not_loaded_before_it_is_used(module: str) -> None:
    code = (
        "import sys, emulator.server;"
        "from emulator.transport.http import HttpFace; HttpFace(None, {});"
        f"sys.exit({module!r} in sys.modules)"
    )
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
