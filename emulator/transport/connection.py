"""One accepted connection, from its first byte to the protocol that serves it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from emulator.transport.admission import Admission
from emulator.transport.first_bytes import Speech, recognise
from emulator.transport.peers import Peers, Upstream
from emulator.transport.relay import Relay, UpstreamSide

logger = logging.getLogger(__name__)

CONNECTION_DESCRIPTORS = 1
FORWARDING_DESCRIPTORS = 2
"""On top of the client's: both ends of the connection to the gRPC server in this process."""


@dataclass(frozen=True)
class Routes:
    """Where connections go by what they speak, and how long they may take to tell."""

    upstream: Upstream
    http_protocol: Callable[[], asyncio.Protocol]
    decide_s: float
    peers: Peers = field(default_factory=Peers)


class Connection(asyncio.Protocol):
    """Reads until the first bytes tell where the connection belongs, then hands it over."""

    def __init__(self, routes: Routes, admission: Admission) -> None:
        self._routes = routes
        self._admission = admission
        self._speech = Speech.UNDECIDED
        self._first_bytes = b""
        self._is_closed = False
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._relay: Relay | None = None
        self._peer_name = ""
        self._connecting: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        closed = ", closed" if self._is_closed else ""
        return f"<Connection {self._speech.value}{closed}>"

    @property
    def buffered_bytes(self) -> int:
        """Bytes in our hands on their way between the client and upstream."""
        return self._relay.buffered_bytes if self._relay is not None else 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to listen, unless the connection was given up before it began."""
        # uvloop's transports do not derive from asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        if self._is_closed:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Collect the first bytes and route the connection once they suffice."""
        if not self._first_bytes:
            self._admission.spoke(self)
        self._first_bytes += data
        self._speech = recognise(self._first_bytes)
        if self._speech is Speech.UNDECIDED:
            self._await_more()
            return
        self._stop_deadline()
        if self._speech is Speech.HTTP2:
            self._forward()
        elif self._speech is Speech.HTTP1:
            self._serve_http()
        else:
            self._refuse_tls()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection: its client left before it was handed over."""
        self._is_closed = True
        self._stop_deadline()
        if self._relay is None:
            self._forget()
        else:
            self._relay.client_ended(exc)
            self._relay.side_lost()

    def close(self) -> None:
        """Send what is buffered, then close."""
        self._is_closed = True
        if self._relay is not None:
            self._relay.close()
        elif self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Cut the connection off at once."""
        self._is_closed = True
        if self._relay is not None:
            self._relay.abort()
        elif self._transport is not None:
            self._transport.abort()

    def abandon(self) -> None:
        """Forget a connection of which the event loop could not make a transport."""
        if self._transport is None:
            self._forget()

    def _forget(self) -> None:
        """Leave the list of open connections: every descriptor of this one is closed."""
        self._routes.peers.leave(self._peer_name)
        self._admission.leave(self)

    def _await_more(self) -> None:
        if self._deadline is None:
            loop = asyncio.get_running_loop()
            self._deadline = loop.call_later(self._routes.decide_s, self._give_up)

    def _give_up(self) -> None:
        logger.debug("Closed a connection that sent only %r", self._first_bytes)
        self.close()

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse_tls(self) -> None:
        logger.warning(
            "A client tried TLS, but this port speaks plaintext: "
            "use an insecure channel, or an http:// address."
        )
        self.close()

    def _serve_http(self) -> None:
        assert self._transport is not None
        protocol = self._routes.http_protocol()
        self._transport.set_protocol(Handed(protocol, self._forget))
        protocol.connection_made(self._transport)
        first_bytes, self._first_bytes = self._first_bytes, b""
        protocol.data_received(first_bytes)

    def _forward(self) -> None:
        assert self._transport is not None
        if not self._admission.make_room(FORWARDING_DESCRIPTORS):
            self.abort()
            return
        self._admission.widen(self, FORWARDING_DESCRIPTORS)
        self._transport.pause_reading()
        self._relay = Relay(self._transport, self._forget)
        first_bytes, self._first_bytes = self._first_bytes, b""
        side = UpstreamSide(self._relay, client=self._transport, first_bytes=first_bytes)
        self._connecting = asyncio.get_running_loop().create_task(self._connect(self._relay, side))

    async def _connect(self, relay: Relay, side: UpstreamSide) -> None:
        loop, upstream = asyncio.get_running_loop(), self._routes.upstream
        try:
            sock, self._peer_name = self._routes.peers.enter(relay, upstream)
            try:
                await loop.sock_connect(sock, upstream)
                if isinstance(upstream, str):
                    await loop.create_unix_connection(lambda: side, sock=sock)
                else:
                    await loop.create_connection(lambda: side, sock=sock)
            except BaseException:
                sock.close()
                raise
        except OSError as error:
            logger.error("Cannot reach the gRPC server behind the port: %s", error)
            relay.side_lost()


class Handed(asyncio.Protocol):
    """A protocol that a connection was handed to, which also tells when the connection ends."""

    __slots__ = ("_on_gone", "_protocol", "data_received")

    def __init__(self, protocol: asyncio.Protocol, on_gone: Callable[[], None]) -> None:
        self._protocol = protocol
        self._on_gone = on_gone
        self.data_received = protocol.data_received  # type: ignore[method-assign]

    def pause_writing(self) -> None:
        """Pass on that the client does not take its bytes."""
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """Pass on that the client takes bytes again."""
        self._protocol.resume_writing()

    def eof_received(self) -> bool | None:
        """Pass on that the client sends no more."""
        return self._protocol.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass on that the connection is gone."""
        try:
            self._protocol.connection_lost(exc)
        finally:
            self._on_gone()
