"""Which client a gRPC call comes from.

gRPC knows calls by the address of the other end of their connection, which is the upstream end of
a relay. So each of those ends is bound to an address of its own.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from itertools import count
from typing import Protocol
from urllib.parse import unquote

from emulator.transport.relay import Relay

Upstream = str | tuple[str, int]
"""Path of a unix socket, or host and port."""

_NAMELESS = "unix:"


class Client(Protocol):
    """Where the calls of one connection come from; see `Relay`."""

    has_ended: bool

    def on_end(self, callback: Callable[[], object]) -> None: ...

    def forget(self, callback: Callable[[], object]) -> None: ...

    def guard(self, size_bytes: int, on_abandoned: Callable[[], None]) -> None: ...


class _Nobody:
    """Stands for a client about which nothing is known, or none but that it has gone."""

    def __init__(self, *, has_ended: bool) -> None:
        self.has_ended = has_ended

    def on_end(self, callback: Callable[[], object]) -> None:
        if self.has_ended:
            callback()

    def forget(self, callback: Callable[[], object]) -> None:
        pass

    def guard(self, size_bytes: int, on_abandoned: Callable[[], None]) -> None:
        if self.has_ended:
            on_abandoned()


_GONE: Client = _Nobody(has_ended=True)
UNKNOWN: Client = _Nobody(has_ended=False)


class Peers:
    """The relays that are open, by what gRPC calls their upstream ends."""

    def __init__(self) -> None:
        self._relays: dict[str, Relay] = {}
        self._numbers = count(1)

    def __len__(self) -> int:
        return len(self._relays)

    def __repr__(self) -> str:
        return f"<Peers {len(self)} connected>"

    def enter(self, relay: Relay, upstream: Upstream) -> tuple[socket.socket, str]:
        """Return a socket to connect upstream with, and the name that stands for `relay` now."""
        if isinstance(upstream, str):
            sock = socket.socket(socket.AF_UNIX)
            name = self._bind_beside(sock, upstream)
        else:
            sock = socket.socket(socket.AF_INET)
            sock.bind((upstream[0], 0))
            name = "ipv4:{}:{}".format(*sock.getsockname())
        sock.setblocking(False)
        if name != _NAMELESS:
            self._relays[name] = relay
        return sock, name

    def leave(self, name: str) -> None:
        """Forget a relay both of whose sides are gone."""
        self._relays.pop(name, None)

    def find(self, peer: str) -> Client:
        """Return the client of a call whose context says `peer`."""
        if peer == _NAMELESS:
            return UNKNOWN
        # Names are given before anything is sent, so one that is not known any more has left.
        return self._relays.get(unquote(peer, errors="surrogateescape"), _GONE)

    def _bind_beside(self, sock: socket.socket, path: str) -> str:
        own_path = os.path.join(os.path.dirname(path), f"{next(self._numbers):x}")
        try:
            sock.bind(own_path)
        except OSError:  # the disk is full, say: serve without knowing whom
            return _NAMELESS
        # The address lasts as long as the socket; the file must not outlive a killed process.
        with contextlib.suppress(OSError):
            os.unlink(own_path)
        return f"unix:{own_path}"
