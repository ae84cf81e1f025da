"""Forwarded connections: every byte, bounded buffers, and how they end."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import socket
import struct
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from emulator.transport import relay as relay_module
from emulator.transport.first_bytes import HTTP2_PREFACE
from emulator.transport.front import Front
from emulator.transport.relay import WRITE_HIGH_BYTES, Relay, UpstreamSide
from tests.transport.stubs import (
    READ_BYTES,
    FakeTransport,
    HttpStub,
    Upstream,
    connect,
    flood,
    fronted,
    read_to_end,
    wait_until,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forwards to a unix socket")

Run = Callable[[Coroutine[Any, Any, None]], None]


def test_ten_megabytes_go_both_ways_unchanged(run: Run, tmp_path: Path) -> None:
    payload = HTTP2_PREFACE + random.Random(1).randbytes(10_000_000)

    async def main() -> None:
        upstream = Upstream(tmp_path)
        async with await upstream.start(), fronted(upstream.path) as (front, port):
            reader, writer = await connect(port)
            writer.write(payload)
            assert await reader.readexactly(len(payload)) == payload
            assert upstream.received == payload
            assert repr(front).startswith("<Front accepting, 1 sockets, <Admission 1 open")
            writer.close()
            await upstream.wait_open(0)
        assert repr(front) == "<Front closed, 0 sockets, <Admission 0 open, 0 silent>>"
        assert HttpStub.made == 0

    run(main())


def test_slow_client_bounds_what_is_buffered(run: Run, tmp_path: Path) -> None:
    payload = random.Random(2).randbytes(24_000_000)

    async def send_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(payload)
        await reader.read()

    async def main() -> None:
        upstream = Upstream(tmp_path, send_all)
        async with await upstream.start(), fronted(upstream.path) as (front, port):
            with socket.create_connection(("127.0.0.1", port)) as sock:
                sock.sendall(HTTP2_PREFACE)
                await wait_until(lambda: front.buffered_bytes > WRITE_HIGH_BYTES)
                sock.setblocking(False)
                assert await read_slowly(sock, len(payload), front) == hash_of(payload)

    run(main())


async def read_slowly(sock: socket.socket, count: int, front: Front) -> str:
    """Read `count` bytes in small pieces, watching the front's buffers; return their hash."""
    digest = hashlib.sha256()
    while count:
        data = await asyncio.get_running_loop().sock_recv(sock, 64 * 1024)
        assert data, "closed too early"
        digest.update(data)
        count -= len(data)
        assert front.buffered_bytes <= WRITE_HIGH_BYTES + READ_BYTES
    return digest.hexdigest()


def hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_upstream_that_does_not_read_bounds_what_is_buffered(run: Run, tmp_path: Path) -> None:
    payload = HTTP2_PREFACE + random.Random(3).randbytes(24_000_000)
    may_read = asyncio.Event()
    received = bytearray()

    async def read_late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await may_read.wait()
        while len(received) < len(payload):
            received.extend(await reader.read(READ_BYTES))
        writer.write(b"done")
        await writer.drain()

    async def main() -> None:
        upstream = Upstream(tmp_path, read_late)
        async with await upstream.start(), fronted(upstream.path) as (front, port):
            reader, writer = await connect(port)
            writer.write(payload)
            await wait_until(lambda: front.buffered_bytes > WRITE_HIGH_BYTES)
            unsent = writer.transport.get_write_buffer_size()
            assert unsent > len(payload) // 4, "the client should still hold most of it"
            assert front.buffered_bytes <= WRITE_HIGH_BYTES + READ_BYTES
            may_read.set()
            assert await reader.readexactly(4) == b"done"
            assert received == payload
            writer.close()

    run(main())


def test_unreachable_upstream_closes_the_client_with_a_line(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with fronted(str(tmp_path / "none")) as (front, port):
            reader, writer = await connect(port)
            writer.write(HTTP2_PREFACE)
            assert await read_to_end(reader) == b""
            await wait_until(lambda: front.connections == 0)
            writer.close()

    run(main())
    [record] = caplog.records
    assert record.getMessage().startswith("Cannot reach the gRPC server behind the port")


@pytest.mark.parametrize("linger", [None, struct.pack("ii", 1, 0)], ids=["closed", "reset"])
def test_client_that_leaves_ends_upstream(run: Run, tmp_path: Path, linger: bytes | None) -> None:
    async def main() -> None:
        upstream = Upstream(tmp_path)
        async with await upstream.start(), fronted(upstream.path) as (front, port):
            sock = socket.create_connection(("127.0.0.1", port))
            sock.sendall(HTTP2_PREFACE)
            await upstream.wait_open(1)
            if linger is not None:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            sock.close()
            await upstream.wait_open(0)
            await wait_until(lambda: front.connections == 0)

    run(main())


def test_client_that_stops_reading_and_half_closes_ends_upstream(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        upstream = Upstream(tmp_path, flood)
        async with await upstream.start(), fronted(upstream.path) as (front, port):
            with socket.create_connection(("127.0.0.1", port)) as sock:
                sock.sendall(HTTP2_PREFACE)
                await wait_until(lambda: front.buffered_bytes > WRITE_HIGH_BYTES)
                sock.shutdown(socket.SHUT_WR)
                await upstream.wait_open(0)

    run(main())


def test_closed_client_that_does_not_read_is_cut_off(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_module, "LINGER_S", 0.05)

    async def main() -> None:
        upstream = Upstream(tmp_path, flood)
        async with await upstream.start(), fronted(upstream.path) as (front, port):
            with socket.create_connection(("127.0.0.1", port)) as sock:
                sock.sendall(HTTP2_PREFACE)
                await wait_until(lambda: front.buffered_bytes > WRITE_HIGH_BYTES)
                sock.shutdown(socket.SHUT_WR)
                await wait_until(lambda: front.connections == 0)

    run(main())


def test_upstream_that_leaves_flushes_to_the_client(run: Run, tmp_path: Path) -> None:
    payload = random.Random(4).randbytes(3_000_000)

    async def answer_and_leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(len(HTTP2_PREFACE))
        writer.write(payload)
        await writer.drain()

    async def main() -> None:
        upstream = Upstream(tmp_path, answer_and_leave)
        async with await upstream.start(), fronted(upstream.path) as (front, port):
            reader, writer = await connect(port)
            writer.write(HTTP2_PREFACE)
            assert await reader.read() == payload
            await wait_until(lambda: front.connections == 0)
            writer.close()

    run(main())


def test_upstream_reached_after_the_client_left_is_cut_off() -> None:
    gone: list[str] = []
    client, upstream = FakeTransport(is_closing=True), FakeTransport()
    relay = Relay(client, lambda: gone.append("gone"))
    side = UpstreamSide(relay, client=client, first_bytes=HTTP2_PREFACE)
    relay.side_lost()
    side.connection_made(upstream)
    assert upstream.calls == ["abort"]
    assert gone == []
    side.connection_lost(None)
    assert gone == ["gone"]
