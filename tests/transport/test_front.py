"""The front: routing by first bytes, deadlines, and the end of it all."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from emulator.transport import front as front_module
from emulator.transport.first_bytes import HTTP2_PREFACE
from emulator.transport.relay import WRITE_HIGH_BYTES
from tests.transport.stubs import (
    READ_BYTES,
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


TLS_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"


def test_preface_in_single_bytes_is_forwarded(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        upstream = Upstream(tmp_path)
        async with await upstream.start(), fronted(upstream.path) as (_, port):
            reader, writer = await connect(port)
            for byte in HTTP2_PREFACE:
                assert upstream.seen == 0
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0)
            assert await reader.readexactly(len(HTTP2_PREFACE)) == HTTP2_PREFACE
            writer.close()

    run(main())


def test_client_that_leaves_with_half_a_preface_reaches_nobody(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        upstream = Upstream(tmp_path)
        async with await upstream.start(), fronted(upstream.path) as (front, port):
            reader, writer = await connect(port)
            writer.write(HTTP2_PREFACE[:12])
            writer.write_eof()
            assert await reader.read() == b""
            await wait_until(lambda: front.connections == 0)
            writer.close()
        assert (upstream.seen, HttpStub.made) == (0, 0)

    run(main())


def test_undecided_client_is_closed_and_silent_one_is_not(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "emulator")

    async def main() -> None:
        async with fronted(str(tmp_path / "none"), decide_s=0.01) as (front, port):
            silent_reader, silent_writer = await connect(port)
            reader, writer = await connect(port)
            writer.write(b"PRI")
            assert await reader.read() == b""
            writer.close()
            await wait_until(lambda: front.connections == 1)
            silent_writer.write(b"hello")
            assert await silent_reader.readexactly(10) == b"http:hello"
            silent_writer.close()

    run(main())
    assert [record.getMessage() for record in caplog.records] == [
        "Closed a connection that sent only b'PRI'"
    ]


def test_deciding_in_time_ends_the_deadline(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        async with fronted(str(tmp_path / "none"), decide_s=0.2) as (front, port):
            late_reader, late_writer = await connect(port)
            reader, writer = await connect(port)
            writer.write(b"P")
            await wait_until(lambda: "2 open, 1 silent" in repr(front))
            writer.write(b"OST")
            assert await reader.readexactly(9) == b"http:POST"
            late_writer.write(b"P")  # its own deadline comes after that of the first connection
            assert await late_reader.read() == b""
            writer.write(b"!")
            assert await reader.readexactly(6) == b"http:!"
            writer.close()
            late_writer.close()

    run(main())


@pytest.mark.parametrize("seed", range(8))
def test_anything_else_reaches_http_unchanged(run: Run, tmp_path: Path, seed: int) -> None:
    data = b"\xff" + random.Random(seed).randbytes(200_000)

    async def main() -> None:
        async with fronted(str(tmp_path / "none")) as (_, port):
            reader, writer = await connect(port)
            writer.write(data)
            got = b""
            while len(got.replace(b"http:", b"")) < len(data):
                got += await reader.read(READ_BYTES)
            assert got.replace(b"http:", b"") == data
            assert HttpStub.made == 1
            writer.close()

    run(main())


def test_tls_hello_is_explained_once_and_closed(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with fronted(str(tmp_path / "none")) as (_, port):
            reader, writer = await connect(port)
            writer.write(TLS_HELLO)
            assert await read_to_end(reader) == b""
            writer.close()

    run(main())
    [record] = caplog.records
    assert "insecure channel" in record.getMessage()
    assert "\n" not in record.getMessage()
    assert HttpStub.made == 0


def test_close_cuts_off_a_client_that_does_not_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front_module, "CLOSE_S", 0.05)

    async def main() -> None:
        upstream = Upstream(tmp_path, flood)
        async with await upstream.start():
            async with fronted(upstream.path) as (front, port):
                sock = socket.create_connection(("127.0.0.1", port))
                sock.sendall(HTTP2_PREFACE)
                await wait_until(lambda: front.buffered_bytes > WRITE_HIGH_BYTES)
            await upstream.wait_open(0)
            sock.close()

    run(main())


def test_close_ends_connections_of_every_kind(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        upstream = Upstream(tmp_path)
        async with await upstream.start():
            readers = []
            async with fronted(upstream.path) as (front, port):
                for first_bytes in (b"", b"PRI", b"GET", HTTP2_PREFACE):
                    reader, writer = await connect(port)
                    writer.write(first_bytes)
                    readers.append((reader, writer))
                await upstream.wait_open(1)
                await wait_until(lambda: front.connections == 4 and HttpStub.made == 1)
            for reader, writer in readers:
                await read_to_end(reader)
                assert reader.at_eof() or reader.exception()
                writer.close()
            with pytest.raises(ConnectionRefusedError):
                await connect(port)

    run(main())


@pytest.mark.parametrize("turns", range(12))
def test_close_while_connections_arrive_forgets_none(run: Run, tmp_path: Path, turns: int) -> None:
    async def main() -> None:
        upstream = Upstream(tmp_path)
        async with await upstream.start():
            before = len(os.listdir("/dev/fd"))
            async with fronted(upstream.path) as (_, port):
                clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(5)]
                for client in clients:
                    client.sendall(HTTP2_PREFACE)
                for _ in range(turns):
                    await asyncio.sleep(0)
            for client in clients:
                client.close()
            await wait_until(lambda: len(os.listdir("/dev/fd")) <= before)

    run(main())


def test_five_hundred_connections_leave_nothing_behind(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        upstream = Upstream(tmp_path)
        async with await upstream.start(), fronted(upstream.path) as (front, port):
            reader, writer = await connect(port)
            writer.write(HTTP2_PREFACE)
            await reader.readexactly(1)
            writer.close()
            await wait_until(lambda: front.connections == 0 and upstream.open == 0)
            before = len(os.listdir("/dev/fd"))
            kinds = (b"", b"PRI", b"GET /", HTTP2_PREFACE, TLS_HELLO)
            for number in range(500):
                with socket.create_connection(("127.0.0.1", port)) as sock:
                    sock.sendall(kinds[number % len(kinds)])
                    if number % 3:
                        await asyncio.sleep(0)

            reader, writer = await connect(port)
            writer.write(b"x")
            assert await reader.readexactly(6) == b"http:x"
            writer.close()
            await wait_until(lambda: front.connections == 0 and upstream.open == 0)
            await wait_until(lambda: len(os.listdir("/dev/fd")) <= before)

    run(main())
