"""Bytes carried both ways between a client's connection and an upstream one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

WRITE_HIGH_BYTES = 256 * 1024
"""Unsent bytes towards one side above which the other side is no longer read."""
LINGER_S = 10.0
"""Time that a closed side has to take the bytes still buffered for it before it is cut off."""


class Relay:
    """A pair of connections: what one sends the other receives; both end together.

    Half-closing is not relayed: streams of HTTP/2 end inside it, and a connection of which only
    one half is closed would stay open for as long as the other end likes.
    """

    def __init__(self, client: asyncio.Transport, on_gone: Callable[[], None]) -> None:
        self._client = client
        self._upstream: asyncio.Transport | None = None
        self._on_gone = on_gone
        self._sides = 2  # the upstream side counts from when its connecting begins
        self._linger: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        return f"<Relay {self._sides} sides, {self.buffered_bytes} bytes buffered>"

    @property
    def buffered_bytes(self) -> int:
        """Bytes received from one side that the other one did not take yet."""
        return sum(transport.get_write_buffer_size() for transport in self._transports())

    def join(self, upstream: asyncio.Transport, first_bytes: bytes) -> None:
        """Start carrying: `first_bytes` are what the client has sent so far."""
        self._upstream = upstream
        if self._client.is_closing():
            upstream.abort()
            return
        for transport in self._transports():
            transport.set_write_buffer_limits(high=WRITE_HIGH_BYTES)
        upstream.write(first_bytes)
        self._client.set_protocol(Side(self, peer=upstream))
        self._client.resume_reading()

    def close(self) -> None:
        """Flush and close both sides; cut off one that does not take its bytes in time."""
        for transport in self._transports():
            transport.close()
        if self._linger is None and self.buffered_bytes:
            self._linger = asyncio.get_running_loop().call_later(LINGER_S, self.abort)

    def abort(self) -> None:
        """Cut off both sides at once, dropping what is still buffered."""
        for transport in self._transports():
            transport.abort()

    def side_lost(self) -> None:
        """Take note that a side is gone or was not reached, which ends the other one as well."""
        self._sides -= 1
        if self._sides:
            self.close()
            return
        if self._linger is not None:
            self._linger.cancel()
        self._on_gone()

    def _transports(self) -> list[asyncio.Transport]:
        return [self._client] if self._upstream is None else [self._client, self._upstream]


class Side(asyncio.Protocol):
    """What the event loop calls for one side of a relay."""

    __slots__ = ("_peer", "_relay", "data_received")

    def __init__(self, relay: Relay, *, peer: asyncio.Transport) -> None:
        self._relay = relay
        self._peer = peer
        # The loop calls the peer's write itself: no Python code runs per read.
        self.data_received = peer.write  # type: ignore[method-assign]

    def pause_writing(self) -> None:
        """Stop reading the peer while this side does not take its bytes."""
        if not self._peer.is_closing():
            self._peer.pause_reading()

    def resume_writing(self) -> None:
        """Read the peer again."""
        if not self._peer.is_closing():
            self._peer.resume_reading()

    def eof_received(self) -> None:
        """End both sides: the peer's buffered bytes are still sent."""
        self._relay.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the other side too, however this one ended."""
        self._relay.side_lost()


class UpstreamSide(Side):
    """The upstream side, which joins the relay as soon as it is connected."""

    __slots__ = ("_first_bytes",)

    def __init__(self, relay: Relay, *, client: asyncio.Transport, first_bytes: bytes) -> None:
        super().__init__(relay, peer=client)
        self._first_bytes = first_bytes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start carrying bytes."""
        self._relay.join(cast(asyncio.Transport, transport), self._first_bytes)
        self._first_bytes = b""
