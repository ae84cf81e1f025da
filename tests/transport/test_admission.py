"""What happens to connections when descriptors run short."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from emulator.transport.admission import Admission
from emulator.transport.connection import Connection, Routes
from emulator.transport.descriptors import DescriptorBudget, raise_descriptor_limit
from emulator.transport.first_bytes import HTTP2_PREFACE
from tests.transport.stubs import (
    FakeTransport,
    HttpStub,
    Upstream,
    connect,
    fronted,
    read_to_end,
    wait_until,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forwards to a unix socket")

Run = Callable[[Coroutine[Any, Any, None]], None]


HANG_LIMIT_S = 60


def test_connection_given_up_before_it_began_is_cut_off() -> None:
    admission = Admission(DescriptorBudget(1))
    connection = Connection(Routes("/none", HttpStub, 1), admission)
    admission.enter(connection, 1)
    assert admission.make_room(1), "the only connection is silent and goes"
    assert repr(connection) == "<Connection undecided, closed>"
    transport = FakeTransport()
    connection.connection_made(transport)
    assert transport.calls == ["abort"]
    connection.connection_lost(None)
    assert len(admission) == 0


def test_every_shortage_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    admission = Admission(DescriptorBudget(4))
    guests = [Connection(Routes("/none", HttpStub, 1), admission) for _ in range(4)]
    for episode in (1, 2):
        for guest in guests:
            assert admission.make_room(1)
            admission.enter(guest, 1)
            admission.spoke(guest)
        for _ in range(3):
            assert not admission.make_room(1)
        assert len(caplog.records) == episode
        for guest in guests:
            admission.leave(guest)


def test_longest_silent_connection_makes_room(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        budget = DescriptorBudget(3, limit=77)
        async with fronted(str(tmp_path / "none"), descriptors=budget) as (front, port):
            readers = []
            for _ in range(3):
                readers.append(await connect(port))
                await wait_until(lambda: front.connections == len(readers))
            readers[0][1].write(b"a")
            await readers[0][0].readexactly(6)
            for victim in (1, 2):
                readers.append(await connect(port))
                assert await read_to_end(readers[victim][0]) == b""
            for reader, writer in (readers[0], readers[3], readers[4]):
                writer.write(b"b")
                assert await reader.readexactly(6) == b"http:b"
            assert budget.in_use == 3
            for _, writer in readers:
                writer.close()
        assert budget.in_use == 0

    run(main())
    [record] = caplog.records
    assert "3 are open" in record.getMessage()
    assert "77" in record.getMessage()
    assert "ulimit -n" in record.getMessage()


def test_newcomers_are_refused_where_nobody_is_silent(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        budget = DescriptorBudget(4)
        upstream = Upstream(tmp_path)
        async with (
            await upstream.start(),
            fronted(upstream.path, descriptors=budget) as (front, port),
        ):
            reader, writer = await connect(port)
            writer.write(HTTP2_PREFACE)
            await reader.readexactly(len(HTTP2_PREFACE))
            assert budget.in_use == 3
            for _ in range(5):  # fits as it comes, but not once it is to be forwarded
                other, other_writer = await connect(port)
                other_writer.write(HTTP2_PREFACE)
                assert await read_to_end(other) == b""
                other_writer.close()
            http, http_writer = await connect(port)
            http_writer.write(b"x")
            assert await http.readexactly(6) == b"http:x"
            for _ in range(5):
                other, other_writer = await connect(port)
                assert await read_to_end(other) == b""
                other_writer.close()
            assert upstream.seen == 1
            assert len(caplog.records) == 1
            writer.close()
            await wait_until(lambda: front.connections == 1)
            late, late_writer = await connect(port)
            late_writer.write(HTTP2_PREFACE)
            assert await late.readexactly(len(HTTP2_PREFACE)) == HTTP2_PREFACE
            for each in (http_writer, late_writer):
                each.close()

    run(main())
    assert len(caplog.records) == 1


SERVER = """
import asyncio, logging, os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
from emulator.transport.front import Front
from emulator.transport.http import HttpFace
from emulator.transport.listeners import open_listeners

class Control:
    def reset(self): pass
    def shutdown(self): stop.set()

async def main():
    global stop
    stop = asyncio.Event()
    listeners = open_listeners(("127.0.0.1",), 0)
    front = Front("/nowhere", HttpFace(Control(), {}).protocol)
    front.start(listeners.sockets)
    held = []
    if sys.argv[1] == "exhausted":
        await asyncio.get_running_loop().run_in_executor(None, int)
        try:
            while True:
                held.append(os.dup(0))
        except OSError:
            pass
    print(listeners.port, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    for descriptor in held:
        os.close(descriptor)
    print(front, flush=True)
    await front.close()

logging.basicConfig(level=logging.INFO, format="%(message)s")
asyncio.run(main())
"""


@contextmanager
def server_process(mode: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Give a front in a process of its own, limited to 1,024 descriptors."""
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SERVER), mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=root,
    )
    assert process.stdout is not None
    try:
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def finish(process: subprocess.Popen[str]) -> list[str]:
    """End the server in good order; return the lines of its log."""
    _, log = process.communicate("\n", timeout=HANG_LIMIT_S)
    assert process.returncode == 0, log
    return log.splitlines()


def test_a_thousand_idle_connections_do_not_shut_out_a_new_client() -> None:
    limit = raise_descriptor_limit()
    if limit is not None and limit < 2048:
        pytest.skip("this process may not open enough connections itself")

    async def main() -> list[str]:
        with server_process("open") as (process, port):
            idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(1000)]
            for _ in range(3):
                reader, writer = await connect(port)
                writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                answer = await asyncio.wait_for(reader.read(), HANG_LIMIT_S)
                assert answer.endswith(b"\r\n\r\nOk\n")
                writer.close()
            log = finish(process)
            for sock in idle:
                sock.close()
            return log

    log = asyncio.run(main())
    assert len(log) == 1
    assert "limit of open files (1024)" in log[0]


def test_a_process_without_descriptors_turns_clients_away() -> None:
    async def main() -> list[str]:
        with server_process("exhausted") as (process, port):
            for _ in range(5):
                reader, writer = await connect(port)
                assert await asyncio.wait_for(read_to_end(reader), HANG_LIMIT_S) == b""
                writer.close()
            return finish(process)

    assert len(asyncio.run(main())) == 1
