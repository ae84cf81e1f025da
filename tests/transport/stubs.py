"""Stand-ins for what is on either side of the front, and ways to use it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from emulator.transport.front import Front
from emulator.transport.listeners import open_listeners

READ_BYTES = 256 * 1024
"""The most that the event loops read at once."""


class Upstream:
    """A server on a unix socket that echoes, or does what `serve` says, and keeps the count."""

    def __init__(self, path: Path, serve: Any = None) -> None:
        self.path = str(path / "grpc.sock")
        self.received = bytearray()
        self.open = 0
        self.seen = 0
        self.changed = asyncio.Condition()
        self._serve = serve or self._echo

    async def start(self) -> asyncio.Server:
        return await asyncio.start_unix_server(self._handle, self.path)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._count(1)
        try:
            await self._serve(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()
            await self._count(-1)

    async def _count(self, step: int) -> None:
        async with self.changed:
            self.open += step
            self.seen += step > 0
            self.changed.notify_all()

    async def wait_open(self, count: int) -> None:
        async with self.changed:
            await self.changed.wait_for(lambda: self.open == count)

    async def _echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(READ_BYTES):
            self.received += data
            writer.write(data)
            await writer.drain()


class HttpStub(asyncio.Protocol):
    """Stands in for the HTTP/1 protocol: answers `http:` and the bytes it was given."""

    made = 0

    def __init__(self) -> None:
        type(self).made += 1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(b"http:" + data)


@asynccontextmanager
async def fronted(upstream: str, **options: Any) -> AsyncIterator[tuple[Front, int]]:
    """Give a front that listens on a free port, and that port."""
    front = Front(upstream, HttpStub, **options)
    listeners = open_listeners(("127.0.0.1",), 0)
    front.start(listeners.sockets)
    try:
        yield front, listeners.port
    finally:
        await front.close()
        assert front.connections == 0


async def connect(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port)


async def wait_until(is_true: Callable[[], bool]) -> None:
    """Let the loop run until the condition holds; the hang limit ends a wait in vain."""
    while not is_true():  # noqa: ASYNC110 - the front has no events for tests
        await asyncio.sleep(0.001)


async def read_to_end(reader: asyncio.StreamReader) -> bytes:
    """Read until the server closed the connection, politely or not."""
    try:
        return await reader.read()
    except ConnectionError:
        return b""


class FakeTransport(asyncio.Transport):
    """Keeps what is done to it and calls nothing back."""

    def __init__(self, *, is_closing: bool = False) -> None:
        super().__init__()
        self.calls: list[str] = []
        self._is_closing = is_closing

    def is_closing(self) -> bool:
        return self._is_closing

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.calls.append("write")

    def close(self) -> None:
        self.calls.append("close")

    def abort(self) -> None:
        self.calls.append("abort")


async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send more than any client's buffers hold, and wait for the end."""
    writer.write(bytes(24_000_000))
    await reader.read()
