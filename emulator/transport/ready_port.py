"""A second port that opens when everything is ready: what answers there is ready to be used.

Scripts of images around Google's emulator look whether it is open; what asks by HTTP is told `Ok`.
"""

from __future__ import annotations

import asyncio
from typing import cast

from emulator.transport.listeners import Listeners, open_listeners

_ANSWER = b"\r\n".join(
    (
        b"HTTP/1.1 200 OK",
        b"Content-Type: text/plain",
        b"Content-Length: 3",
        b"Connection: close",
        b"",
        b"Ok\n",
    )
)
#: For what connects and says nothing.
_PATIENCE_S = 10.0


class ReadyPort:
    """Opened with `open`, closed with `close`; `port` is the one that it got."""

    def __init__(self, listeners: Listeners, servers: list[asyncio.Server]) -> None:
        self._servers = servers
        self.port = listeners.port

    @classmethod
    async def open(cls, hosts: tuple[str, ...], port: int) -> ReadyPort:
        """Listen; raises ListenError if an address cannot be had."""
        listeners = open_listeners(hosts, port)
        loop = asyncio.get_running_loop()
        servers = [await loop.create_server(_Answer, sock=sock) for sock in listeners.sockets]
        return cls(listeners, servers)

    def close(self) -> None:
        """Listen no more."""
        for server in self._servers:
            server.close()

    def __repr__(self) -> str:
        return f"<ReadyPort {self.port}>"


class _Answer(asyncio.Protocol):
    """One answer to whatever is asked, then the end."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_PATIENCE_S, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        self._transport.write(_ANSWER)
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
