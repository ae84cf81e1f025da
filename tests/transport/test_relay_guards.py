"""Guarded answers on forwarded connections: when they count as lost, and when not."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from emulator.transport.first_bytes import HTTP2_PREFACE
from emulator.transport.peers import Peers
from emulator.transport.pending_input import PendingInput
from emulator.transport.relay import Relay
from tests.spec import spec
from tests.transport.stubs import Upstream, fronted, wait_until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forwards to a unix socket")

Run = Callable[[Coroutine[Any, Any, None]], None]

ANSWER = b"answer"
RESET = struct.pack("ii", 1, 0)


class Line:
    """A client's socket and what stands at the other end of its relay."""

    def __init__(self, client: socket.socket) -> None:
        self.client = client
        self.lost = 0
        self.relay: Relay
        self.received = bytearray()
        self._upstream: asyncio.StreamWriter

    async def serve(
        self, peers: Peers, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        relay = peers.find("unix:" + writer.get_extra_info("peername"))
        assert isinstance(relay, Relay)
        self.relay, self._upstream = relay, writer
        while data := await reader.read(1_000):
            self.received += data

    def guard(self, size_bytes: int = len(ANSWER)) -> None:
        self.relay.guard(size_bytes, self._count)

    def _count(self) -> None:
        self.lost += 1

    def answer(self) -> None:
        self._upstream.write(ANSWER)

    async def pass_answer(self) -> None:
        """Send the answer and let the client read it."""
        self.answer()
        assert await asyncio.get_running_loop().sock_recv(self.client, 100) == ANSWER

    async def say(self, data: bytes = b"!") -> None:
        """Send bytes and wait until they have passed."""
        count = len(self.received) + len(data)
        self.client.sendall(data)
        await wait_until(lambda: len(self.received) == count)

    async def end(self, *, is_broken: bool = False) -> None:
        if is_broken:
            self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.client.close()
        await wait_until(lambda: self.relay.has_ended)

    @property
    def guarded(self) -> int:
        return len(self.relay._guards)

    @property
    def is_watched(self) -> bool:
        """Whether Python code runs for what passes, which it must for both ways or none."""
        relay, upstream = self.relay, self.relay._upstream
        assert upstream is not None
        from_client: Any = relay._client.get_protocol()
        from_upstream: Any = upstream.get_protocol()
        is_watched: bool = from_client.data_received != upstream.write
        assert is_watched == (from_upstream.data_received != relay._client.write)
        return is_watched


@asynccontextmanager
async def connected(path: Path) -> AsyncIterator[Line]:
    """Give a line over which the first bytes have gone."""
    peers = Peers()
    with socket.socket() as client:
        line = Line(client)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await line.serve(peers, reader, writer)

        upstream = Upstream(path, serve)
        async with await upstream.start(), fronted(upstream.path, peers=peers) as (front, port):
            client.connect(("127.0.0.1", port))
            client.setblocking(False)
            await line.say(HTTP2_PREFACE)
            assert len(peers) == 1
            yield line
            client.close()
            await wait_until(lambda: front.connections == 0)
            assert len(peers) == 0


def on_a_line(test: Callable[[Line], Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Make a test of a coroutine with a line, on either event loop."""

    def with_line(run: Run, tmp_path: Path) -> None:
        async def main() -> None:
            async with connected(tmp_path) as line:
                await test(line)

        run(main())

    return with_line


@spec("PUL-06")
@on_a_line
async def test_client_ends_before_the_answer(line: Line) -> None:
    line.guard()
    await line.end()
    assert (line.lost, line.guarded) == (1, 0)


@spec("PUL-06")
@on_a_line
async def test_connection_breaks_before_the_answer(line: Line) -> None:
    line.guard()
    await line.end(is_broken=True)
    assert (line.lost, line.guarded) == (1, 0)


@spec("PUL-06")
@on_a_line
async def test_connection_breaks_after_the_answer(line: Line) -> None:
    line.guard()
    await line.pass_answer()
    await line.end(is_broken=True)
    assert (line.lost, line.guarded) == (1, 0)


@spec("PUL-06")
@on_a_line
async def test_client_ends_after_the_answer(line: Line) -> None:
    line.guard()
    await line.pass_answer()
    await line.end()
    assert (line.lost, line.guarded) == (0, 0)


@spec("PUL-06")
@on_a_line
async def test_client_ends_after_a_part_of_the_answer(line: Line) -> None:
    line.guard(len(ANSWER) + 1)
    await line.pass_answer()
    await line.end()
    assert (line.lost, line.guarded) == (1, 0)


@spec("PUL-06")
@on_a_line
async def test_client_speaks_after_the_answer(line: Line) -> None:
    line.guard()
    await line.pass_answer()
    assert line.is_watched
    await line.say()
    assert line.guarded == 0
    assert not line.is_watched
    await line.say(b"more")
    await line.pass_answer()
    assert line.received == HTTP2_PREFACE + b"!more"
    await line.end(is_broken=True)
    assert line.lost == 0


@spec("PUL-06")
@on_a_line
async def test_client_speaks_before_the_answer(line: Line) -> None:
    line.guard()
    await line.say()
    await line.pass_answer()
    assert line.guarded == 1
    await line.end(is_broken=True)
    assert line.lost == 1


@spec("PUL-06")
@on_a_line
async def test_client_spoke_before_the_answer_and_was_not_heard_yet(line: Line) -> None:
    line.guard()
    line.relay._client.pause_reading()
    line.client.send(b"!")
    await line.pass_answer()
    line.relay._client.resume_reading()
    await wait_until(lambda: line.received.endswith(b"!"))
    assert line.guarded == 1, "it was said before the answer came"
    await line.say(b"?")
    assert line.guarded == 0
    assert line.lost == 0


@spec("PUL-06")
@on_a_line
async def test_client_ended_before_the_answer_and_was_not_heard_yet(line: Line) -> None:
    line.guard()
    line.relay._client.pause_reading()
    line.client.send(b"!")
    line.client.close()
    line.answer()
    await wait_until(lambda: line.lost == 1)
    assert not line.relay.has_ended
    line.relay._client.resume_reading()


@spec("PUL-06")
@on_a_line
async def test_client_ends_just_before_the_answer_is_written(line: Line) -> None:
    line.guard()
    line.relay._client.pause_reading()
    line.client.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PendingInput, "look", lambda self: None)  # it looked a moment before
        line.answer()
        await wait_until(lambda: line.relay._guards.relayed_bytes == len(ANSWER))
    await asyncio.sleep(0)  # the write reaches the system
    line.relay._client.resume_reading()
    await wait_until(lambda: line.relay.has_ended)
    assert (line.lost, line.guarded) == (1, 0)


@spec("PUL-06")
@on_a_line
async def test_guards_end_one_by_one(line: Line) -> None:
    line.guard()
    line.guard(2 * len(ANSWER))
    await line.pass_answer()
    await line.say()
    assert line.guarded == 1
    line.guard()
    await line.pass_answer()
    await line.say()
    assert line.guarded == 0
    assert line.lost == 0


@spec("PUL-06")
@on_a_line
async def test_answer_for_a_client_that_has_gone(line: Line) -> None:
    await line.end()
    line.guard()
    assert line.lost == 1
    assert line.guarded == 0


@spec("PUL-06")
@on_a_line
async def test_callers_hear_of_the_end_unless_they_are_forgotten(line: Line) -> None:
    heard: list[str] = []
    first, second = (lambda: heard.append("first")), (lambda: heard.append("second"))
    line.relay.on_end(first)
    line.relay.on_end(second)
    line.relay.forget(first)
    line.relay.forget(first)
    await line.end()
    assert heard == ["second"]
    line.relay.on_end(first)
    assert heard == ["second", "first"]
