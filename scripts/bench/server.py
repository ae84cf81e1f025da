"""A server as a child process: started, watched, stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import time
from collections import deque

from scripts.bench.programs import PORT, Program

_READY = re.compile(rb"Server started, listening on (\d+)")
_START_LIMIT_S = 60.0
_STOP_LIMIT_S = 5.0
_LONGEST_LINE_BYTES = 1 << 20
_LINES_KEPT = 5
_HTTP2_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""The preface and an empty SETTINGS frame; a server answers with its own settings."""


class StartError(Exception):
    """The server has ended or kept silent instead of saying that it is ready."""


class Server:
    """A running server. `ready_s` is the time from its spawn to its first answer."""

    def __init__(self, program: Program, process: asyncio.subprocess.Process) -> None:
        self._program = program
        self._process = process
        self._last_lines: deque[bytes] = deque(maxlen=_LINES_KEPT)
        self._reader: asyncio.Task[None] | None = None
        self.port = 0
        self.ready_s = 0.0

    @property
    def address(self) -> str:
        """Host and port to connect to."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process that serves."""
        return self._process.pid

    @classmethod
    async def start(cls, program: Program) -> Server:
        """Start a program and wait until it answers; raise `StartError` if it does not."""
        began = time.monotonic()
        server = cls(program, await _spawn(program))
        try:
            async with asyncio.timeout(_START_LIMIT_S):
                await server._become_ready()
        except BaseException as error:
            await server.stop()
            if isinstance(error, TimeoutError):
                raise StartError(f"not ready within {_START_LIMIT_S:.0f} s") from None
            raise
        server.ready_s = time.monotonic() - began
        return server

    async def stop(self) -> None:
        """End the process, by force if it takes too long."""
        if self._process.returncode is None:
            self._process.send_signal(self._program.stop_signal)
            try:
                await asyncio.wait_for(self._process.wait(), _STOP_LIMIT_S)
            except TimeoutError:
                self.kill()
                await self._process.wait()
        if self._reader is not None:
            await self._reader

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    async def death(self) -> str | None:
        """Tell how the server has ended by itself, None if it is running."""
        # A process that is just dying resets connections before its end can be seen.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), 0.2)
        if self._process.returncode is None:
            return None
        return f"the server ended with {self._process.returncode}{self._last_words()}"

    async def _become_ready(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self._last_lines.append(line)
            if match := _READY.search(line):
                self.port = int(match[1])
                break
        else:
            code = await self._process.wait()
            raise StartError(f"ended with {code} instead of starting{self._last_words()}")
        self._reader = asyncio.create_task(self._read_on(self._process.stderr))
        await _say_hello(self.port)

    async def _read_on(self, stderr: asyncio.StreamReader) -> None:
        """Keep the pipe empty: a server whose log line blocks would not serve."""
        async for line in stderr:
            self._last_lines.append(line)

    def _last_words(self) -> str:
        lines = [line.decode(errors="replace").strip() for line in self._last_lines]
        said = next((line for line in reversed(lines) if line), None)
        return f": {said}" if said else ""


async def _spawn(program: Program) -> asyncio.subprocess.Process:
    command = [part.replace(PORT, str(_free_port())) for part in program.command]
    return await asyncio.create_subprocess_exec(
        *command,
        cwd=program.directory,
        env={**os.environ, **program.environment},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        limit=_LONGEST_LINE_BYTES,
        # Its own group: Ctrl-C reaches the benchmark alone, which then stops its servers.
        start_new_session=True,
    )


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


async def _say_hello(port: int) -> None:
    """Wait for the first bytes of HTTP/2 from the port: it does not only listen, it answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_HTTP2_HELLO)
    if not await reader.read(1):
        raise StartError("the port was open but closed the connection without an answer")
    writer.close()
    await writer.wait_closed()
