"""Connections of clients that begin to say something and never end."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from emulator.transport.http_server import Patience, make_server
from emulator.transport.web_guard import WebGuard
from tests.transport.rest.client import NoControl

Run = Callable[[Coroutine[Any, Any, None]], None]
SOON_S = 0.02
HEAD = b"PUT /v1/projects/p/topics/t HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"


@asynccontextmanager
async def connected(**patience: float) -> AsyncIterator[tuple[Any, Any]]:
    """Give reader and writer of a connection to a server that is soon out of patience."""
    server = make_server(NoControl(), {}, WebGuard(), Patience(**patience))
    listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*listener.sockets[0].getsockname())
    try:
        yield reader, writer
    finally:
        writer.close()
        listener.close()
        await server.shutdown(0.1)
        assert server._timers == {}


@pytest.mark.parametrize("sent", [b"", b"G", b"GET / HTTP/1.1\r\nHost: a\r\n"])
def test_a_head_that_does_not_end(run: Run, sent: bytes) -> None:
    async def main() -> None:
        async with connected(head_s=SOON_S) as (reader, writer):
            writer.write(sent)
            assert await reader.read() == b""

    run(main())


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: a\r\n"])
def test_a_later_head_that_does_not_end(run: Run, sent: bytes) -> None:
    async def main() -> None:
        async with connected(idle_s=SOON_S) as (reader, writer):
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert (await reader.readuntil(b"Ok\n")).startswith(b"HTTP/1.1 200 OK")
            writer.write(sent)
            assert await reader.read() == b""

    run(main())


def test_a_body_that_does_not_come(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with connected(body_s=SOON_S) as (reader, writer):
            writer.write(HEAD + b"{")
            head, _, body = (await reader.readuntil(b"}\n}\n")).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 408 ")
            assert b"\r\nConnection: close" in head
            assert json.loads(body)["error"]["code"] == 408

    run(main())
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


def test_a_request_in_work_is_not_hurried(run: Run) -> None:
    """The time for a head ends with the head."""

    async def main() -> None:
        async with connected(head_s=SOON_S, body_s=60) as (reader, writer):
            writer.write(HEAD)
            await asyncio.sleep(2 * SOON_S)  # the time that must have no effect
            writer.write(b"not JSON.")
            answer = await reader.readuntil(b"}\n}\n")
            assert answer.startswith(b"HTTP/1.1 400 ")

    run(main())
