"""The one port: accepts every connection and routes it by its first bytes."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from emulator.transport.admission import Admission
from emulator.transport.connection import (
    CONNECTION_DESCRIPTORS,
    Connection,
    Routes,
)
from emulator.transport.descriptors import DescriptorBudget, SpareDescriptor
from emulator.transport.peers import Peers, Upstream

if TYPE_CHECKING:
    from emulator.transport.tls import Tls

logger = logging.getLogger(__name__)

DECIDE_S = 10.0
"""Time a client has from its first byte to those that tell what it speaks."""
CLOSE_S = 1.0
"""Time connections have at the end to take the bytes still buffered for them."""
SHORTAGE_PAUSE_S = 0.1
"""Pause between tries to accept while the process has no descriptor left."""
_SHORTAGE = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class Front:
    """Serves HTTP/2 by forwarding it to the gRPC server, all else by an HTTP/1 protocol.

    `upstream` is where the gRPC server of this process listens; `http_protocol` is called for
    each HTTP/1 connection, and not before the first, so that it may import what it needs.
    `peers` is told whose connection is whose. With `tls` it is spoken to those who begin so.
    """

    def __init__(
        self,
        upstream: Upstream,
        http_protocol: Callable[[], asyncio.Protocol],
        *,
        peers: Peers | None = None,
        descriptors: DescriptorBudget | None = None,
        decide_s: float = DECIDE_S,
        tls: Tls | None = None,
    ) -> None:
        peers = Peers() if peers is None else peers
        self._routes = Routes(upstream, http_protocol, decide_s, peers)
        self._admission = Admission(descriptors or DescriptorBudget.of_process())
        self._sockets: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._spare = SpareDescriptor()
        self._tls = tls
        self._greetings: set[asyncio.Task[None]] = set()
        self._state = "new"

    def __repr__(self) -> str:
        return f"<Front {self._state}, {len(self._sockets)} sockets, {self._admission!r}>"

    @property
    def connections(self) -> int:
        """Number of clients' connections that are open, whatever they speak."""
        return len(self._admission)

    @property
    def buffered_bytes(self) -> int:
        """Bytes received from clients and upstream that the other side did not take yet."""
        return sum(connection.buffered_bytes for connection in self._admission.guests())

    def start(self, sockets: Iterable[socket.socket]) -> None:
        """Accept connections from listening sockets, which belong to the front from now on."""
        assert self._state == "new", self
        self._state = "accepting"
        self._sockets = list(sockets)
        loop = asyncio.get_running_loop()
        self._accepting = [loop.create_task(self._accept_from(sock)) for sock in self._sockets]

    async def close(self) -> None:
        """Accept no more, close every connection and wait until all are gone."""
        await self.stop_accepting()
        for connection in self._admission.guests():
            connection.close()
        try:
            await asyncio.wait_for(self._admission.wait_empty(), CLOSE_S)
        except TimeoutError:
            for connection in self._admission.guests():
                connection.abort()
            await self._admission.wait_empty()
        self._spare.release()
        self._state = "closed"

    async def stop_accepting(self) -> None:
        """Close the listening sockets; connections that are open go on."""
        self._state = "closing"
        for sock in self._sockets:
            with contextlib.suppress(NotImplementedError):  # by the proactor of Windows
                asyncio.get_running_loop().remove_reader(sock)
        await asyncio.sleep(0)  # a connection accepted by now reaches its task, not the void
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        for greeting in self._greetings:
            greeting.cancel()
        await asyncio.gather(*self._greetings, return_exceptions=True)
        for sock in self._sockets:
            sock.close()
        self._accepting, self._sockets = [], []

    async def _accept_from(self, listener: socket.socket) -> None:
        """Accept one connection at a time, so that no descriptor is ever uncounted for long."""
        loop = asyncio.get_running_loop()
        while self._state == "accepting":
            try:
                sock, _ = await loop.sock_accept(listener)
            except OSError as error:
                await self._accept_failed(error, listener)
                continue
            if self._admission.make_room(CONNECTION_DESCRIPTORS):
                connection = Connection(self._routes, self._admission)
                self._admission.enter(connection, CONNECTION_DESCRIPTORS)
                await self._greet(sock, connection)
            else:
                sock.close()
                await asyncio.sleep(0)  # a crowd at the door must not keep the loop from serving

    async def _greet(self, sock: socket.socket, connection: Connection) -> None:
        if self._tls is None:
            # Shielded: a connection half adopted at the end would be forgotten open.
            await asyncio.shield(self._adopt(sock, connection))
        else:
            # Others are accepted while this one says whether it wants TLS, and shakes hands.
            task = asyncio.get_running_loop().create_task(self._adopt(sock, connection))
            self._greetings.add(task)
            task.add_done_callback(self._greetings.discard)

    async def _adopt(self, sock: socket.socket, connection: Connection) -> None:
        try:
            if self._tls is None:
                await asyncio.get_running_loop().connect_accepted_socket(lambda: connection, sock)
            else:
                await self._tls.adopt(sock, lambda: connection)
        except asyncio.CancelledError:
            connection.abandon()
            sock.close()
            raise
        except Exception as error:  # whatever it is, the next connection must be accepted
            level = logging.WARNING if self._tls is None else logging.DEBUG
            logger.log(level, "A connection was lost as it was accepted: %r", error)
            connection.abandon()
            sock.close()

    async def _accept_failed(self, error: OSError, listener: socket.socket) -> None:
        if error.errno not in _SHORTAGE:
            logger.debug("A connection was lost before it was accepted: %s", error)
            await asyncio.sleep(0)
            return
        had_spare = self._spare.release()
        is_refused = had_spare and _turn_away(listener)
        self._spare.refill()
        if is_refused or not had_spare:
            self._admission.relieve()
        # Accepting fails in a shortage even when nobody waits, hence the pause.
        await asyncio.sleep(0 if is_refused else SHORTAGE_PAUSE_S)


def _turn_away(listener: socket.socket) -> bool:
    """Close the next waiting connection; tell whether there was one to close."""
    try:
        sock, _ = listener.accept()
    except OSError:
        return False
    sock.close()
    return True
