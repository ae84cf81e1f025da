"""TLS on the port that also speaks plaintext: for clients that know nothing else.

A connection is looked at before anything is read from it: one that begins with a TLS record is
given to the event loop's own TLS, and what comes out of it goes the way of every connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
import sys
from collections.abc import Callable

from emulator.transport.tls_error import TlsError

logger = logging.getLogger(__name__)

HANDSHAKE_S = 10.0
_HANDSHAKE_RECORD = b"\x16"
#: A client that offers both is one of HTTP, whose REST is in HTTP/1.1; gRPC offers h2 alone.
_PROTOCOLS = ["http/1.1", "h2"]


class Tls:
    """`certificate` and `key` are files in PEM; raises TlsError for those that cannot be used."""

    def __init__(self, certificate: str, key: str) -> None:
        if sys.platform == "win32":
            # Its event loop cannot say that a socket is readable without reading from it.
            raise TlsError("TLS is not to be had on Windows.")
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            self._context.load_cert_chain(certificate, key)
        except (OSError, ssl.SSLError) as error:
            reason = error.strerror or getattr(error, "reason", None) or error
            raise TlsError(f"{certificate} and {key} cannot be used for TLS: {reason}") from error
        self._context.set_alpn_protocols(_PROTOCOLS)

    async def adopt(
        self, sock: socket.socket, make_protocol: Callable[[], asyncio.Protocol]
    ) -> None:
        """Make the transport of an accepted connection, with TLS if its client begins so."""
        loop = asyncio.get_running_loop()
        if not await _begins_tls(sock):
            await loop.connect_accepted_socket(make_protocol, sock)
            return
        try:
            await loop.connect_accepted_socket(
                make_protocol, sock, ssl=self._context, ssl_handshake_timeout=HANDSHAKE_S
            )
        except (ssl.SSLError, ConnectionError, TimeoutError) as error:
            reason = getattr(error, "reason", None) or repr(error)
            hint = "; does the client trust the certificate's authority?" if (
                "UNKNOWN_CA" in reason or "BAD_CERTIFICATE" in reason
            ) else ""  # fmt: skip
            logger.info("A TLS handshake failed: %s%s", reason, hint)
            raise

    def __repr__(self) -> str:
        return f"<Tls {self._context.minimum_version.name}>"


async def _begins_tls(sock: socket.socket) -> bool:
    """Look at the first byte, and wait for it; one that does not come is not one of TLS."""
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(HANDSHAKE_S):
            await _readable(sock)
        return sock.recv(1, socket.MSG_PEEK) == _HANDSHAKE_RECORD
    return False


async def _readable(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    came: asyncio.Future[None] = loop.create_future()

    def note() -> None:
        if not came.done():
            came.set_result(None)

    loop.add_reader(sock, note)
    try:
        await came
    finally:
        loop.remove_reader(sock)
