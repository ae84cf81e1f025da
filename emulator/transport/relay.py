"""Bytes carried both ways between a client's connection and an upstream one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from emulator.transport.guards import Guards
from emulator.transport.pending_input import PendingInput

WRITE_HIGH_BYTES = 256 * 1024
"""Unsent bytes towards one side above which the other side is no longer read."""
LINGER_S = 10.0
"""Time that a closed side has to take the bytes still buffered for it before it is cut off."""


class Relay:
    """A pair of connections: what one sends the other receives; both end together.

    Half-closing is not relayed: streams of HTTP/2 end inside it, and a connection of which only
    one half is closed would stay open for as long as the other end likes.

    What passes is looked at only while answers are guarded; see `guard`.
    """

    def __init__(self, client: asyncio.Transport, on_gone: Callable[[], None]) -> None:
        self._client = client
        self._upstream: asyncio.Transport | None = None
        self._on_gone = on_gone
        self._sides = 2  # the upstream side counts from when its connecting begins
        self._linger: asyncio.TimerHandle | None = None
        self._callers: dict[Callable[[], object], None] = {}
        self._guards = Guards()
        self._input: PendingInput | None = None
        self._has_stale_input = False
        self._certain_bytes = 0
        self.has_ended = False
        """Whether the client has ended its side: nobody reads what it is sent any more."""

    def __repr__(self) -> str:
        guarded = f", {len(self._guards)} answers guarded" if self._guards else ""
        return f"<Relay {self._sides} sides, {self.buffered_bytes} bytes buffered{guarded}>"

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
        self._client.set_protocol(ClientSide(self, peer=upstream))
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

    # --- whether the client is there ---

    def on_end(self, callback: Callable[[], object]) -> None:
        """Have `callback` called as soon as the client ends its side, until it is forgotten."""
        if self.has_ended:
            callback()
        else:
            self._callers[callback] = None

    def forget(self, callback: Callable[[], object]) -> None:
        """Do not call `callback` any more."""
        self._callers.pop(callback, None)

    def guard(self, size_bytes: int, on_abandoned: Callable[[], None]) -> None:
        """Have `on_abandoned` called if an answer about to go to gRPC does not reach the client.

        That is so if the client ends its side before the answer was sent to it, or if the
        connection breaks after that without a word from the client. An orderly end is taken for
        a client that has read its answer. The guard ends with the first bytes that the client
        sends when it was sent the answer: it is alive, and treats the answer as it sees fit.
        """
        if self.has_ended or self._client.is_closing():
            on_abandoned()
            return
        if not self._guards:
            self._watch()
        self._guards.add(size_bytes, on_abandoned)

    def client_ended(self, error: Exception | None) -> None:
        """Tell whom it concerns, at once; `error` is what broke the connection, if it broke."""
        if self.has_ended:
            return
        self.has_ended = True
        if error is not None:
            self._guards.abandon()
        elif self._guards:
            assert self._input is not None
            # Its system refuses what comes after its end: the last piece, if any.
            is_refused = self._input.take_error() != 0
            self._guards.abandon_unsent(self._certain_bytes if is_refused else self._sent_bytes)
            self._guards.clear()
        callers, self._callers = self._callers, {}
        for callback in callers:
            callback()

    @property
    def _sent_bytes(self) -> int:
        return self._guards.relayed_bytes - self._client.get_write_buffer_size()

    def _watch(self) -> None:
        if self._input is None:
            self._input = PendingInput(self._client)
        self._has_stale_input = False
        self._set_carriers(self._carry_to_upstream, self._carry_to_client)

    def _unwatch(self) -> None:
        assert self._upstream is not None
        self._set_carriers(self._upstream.write, self._client.write)

    def _set_carriers(
        self, from_client: Callable[[bytes], None], from_upstream: Callable[[bytes], None]
    ) -> None:
        assert self._upstream is not None
        for transport, carrier in ((self._client, from_client), (self._upstream, from_upstream)):
            side = cast(Side, transport.get_protocol())
            side.data_received = carrier  # type: ignore[method-assign, assignment]
            transport.set_protocol(side)  # uvloop looks the method up here and never again

    def _carry_to_client(self, data: bytes) -> None:
        assert self._input is not None
        self._certain_bytes = self._sent_bytes
        self._input.look()
        if self._input.has_hung_up:
            self._guards.abandon_unsent(self._sent_bytes)  # sent now, it would be read by nobody
        # What the client has said by now says nothing about this answer.
        self._has_stale_input = self._input.is_there
        self._guards.relayed_bytes += len(data)
        self._client.write(data)

    def _carry_to_upstream(self, data: bytes) -> None:
        assert self._upstream is not None
        self._upstream.write(data)
        if self._has_stale_input:
            self._has_stale_input = False
            return
        self._guards.confirm(self._sent_bytes)
        if not self._guards:
            self._unwatch()


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


class ClientSide(Side):
    """The client's side, whose end is the client's."""

    __slots__ = ()

    def eof_received(self) -> None:
        """End both sides."""
        self._relay.client_ended(None)
        super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """End both sides."""
        self._relay.client_ended(exc)
        super().connection_lost(exc)


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
