"""The listening sockets of the one port, on every address it is asked to serve."""

from __future__ import annotations

import errno
import logging
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

logger = logging.getLogger(__name__)

DEFAULT_HOSTS = ("127.0.0.1", "::1")
BACKLOG = 1024
"""Connections that may wait to be accepted; the system caps it at its own maximum."""
FREE_PORT_ATTEMPTS = 50
"""Times a port that is free on one address, but not on all, is given back for another one."""
_SEVERAL = {"localhost": DEFAULT_HOSTS, "::": ("0.0.0.0", "::")}
"""Names that mean two addresses. Each family has a socket of its own, so that no peer
has a mapped address and a system without dual-stack sockets serves both too."""
_WILDCARDS = ("0.0.0.0", "::")
_EVERY_MACHINE_V6 = ("::", "::1")
"""IPv6 addresses that are missing only where IPv6 is."""
_NO_SUCH_FAMILY = {errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.EADDRNOTAVAIL}


class ListenError(OSError):
    """An address cannot be listened on; its text is one line that names host and port."""

    def __init__(self, host: str, port: int, reason: str, number: int | None = None) -> None:
        super().__init__(f"Cannot listen on {_address(host, port)}: {reason}")
        self.errno = number


class PortInUse(ListenError):
    """Another socket listens on the port."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port, "the port is in use", errno.EADDRINUSE)


@dataclass(frozen=True)
class Listeners:
    """Listening sockets that share one port; `notes` are remarks that were logged already."""

    sockets: tuple[socket.socket, ...]
    port: int
    addresses: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def close(self) -> None:
        """Close every socket."""
        for sock in self.sockets:
            sock.close()


@dataclass(frozen=True)
class _Endpoint:
    """One address to bind, before its port is known."""

    host: str
    family: socket.AddressFamily
    sockaddr: tuple[Any, ...]

    @property
    def is_wildcard(self) -> bool:
        return self.sockaddr[0] in _WILDCARDS

    def at(self, port: int) -> tuple[Any, ...]:
        return (self.sockaddr[0], port, *self.sockaddr[2:])


def open_listeners(hosts: Sequence[str] = DEFAULT_HOSTS, port: int = 0) -> Listeners:
    """Listen on `port` of every host; port 0 finds one that is free on all of them.

    Raises PortInUse if any host's port is busy, ListenError if a host cannot be resolved or is
    not an address of this machine, ValueError for a port out of range or no host at all.
    """
    if not 0 <= port <= 65535:
        raise ValueError(f"Port must be within 0 and 65535, not {port}")
    endpoints = _resolve_all(hosts, port)
    if not endpoints:
        raise ValueError("No host to listen on")
    usable = [endpoint for endpoint in endpoints if _is_usable(endpoint)] or endpoints
    sockets = _listen_on_all(usable, port) if port else _listen_on_free_port(usable)
    notes = _notes(endpoints, usable)
    return Listeners(sockets, sockets[0].getsockname()[1], _addresses(sockets), notes)


def _expanded(hosts: Sequence[str]) -> list[str]:
    """Return the hosts without brackets and doubles, names of several addresses replaced."""
    bare = [host.strip().removeprefix("[").removesuffix("]").lower() for host in hosts]
    each = [address for host in bare for address in _SEVERAL.get(host, (host,))]
    return list(dict.fromkeys(each))


def _resolve_all(hosts: Sequence[str], port: int) -> list[_Endpoint]:
    """Return each address once, without those that a wildcard of their family covers."""
    found = [endpoint for host in _expanded(hosts) for endpoint in _resolve(host, port)]
    each = {(endpoint.family, endpoint.sockaddr): endpoint for endpoint in found}.values()
    covered = {endpoint.family for endpoint in each if endpoint.is_wildcard}
    return [end for end in each if end.is_wildcard or end.family not in covered]


def _resolve(host: str, port: int) -> list[_Endpoint]:
    if not host:
        raise ListenError(host, port, "the host is empty")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise ListenError(host, port, error.strerror or "unknown host", error.errno) from error
    except UnicodeError as error:
        raise ListenError(host, port, "not a host name") from error
    return [_Endpoint(host, family, sockaddr) for family, _, _, _, sockaddr in found]


def _is_usable(endpoint: _Endpoint) -> bool:
    """Tell whether the machine can serve the address at all: IPv6 is missing on many."""
    if endpoint.family != socket.AF_INET6 or endpoint.host not in _EVERY_MACHINE_V6:
        return True
    try:
        _bind(endpoint, 0).close()
    except OSError as error:
        return error.errno not in _NO_SUCH_FAMILY
    return True


def _listen_on_free_port(endpoints: list[_Endpoint]) -> tuple[socket.socket, ...]:
    """Listen on a port the system chooses for the first address and that the others have free."""
    for attempt in range(1, FREE_PORT_ATTEMPTS + 1):
        first = _listen(endpoints[0], 0)
        try:
            return (first, *_listen_on_all(endpoints[1:], first.getsockname()[1]))
        except ListenError as error:
            first.close()
            if attempt == FREE_PORT_ATTEMPTS or not isinstance(error, PortInUse):
                raise
    raise AssertionError("every attempt returns or raises")


def _listen_on_all(endpoints: list[_Endpoint], port: int) -> tuple[socket.socket, ...]:
    sockets: list[socket.socket] = []
    try:
        sockets.extend(_listen(endpoint, port) for endpoint in endpoints)
    except BaseException:
        for sock in sockets:
            sock.close()
        raise
    return tuple(sockets)


def _listen(endpoint: _Endpoint, port: int) -> socket.socket:
    try:
        sock = _bind(endpoint, port)
    except OSError as error:
        raise _explained(error, endpoint, port) from error
    try:
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise _explained(error, endpoint, port) from error
    return sock


def _explained(error: OSError, endpoint: _Endpoint, port: int) -> ListenError:
    if error.errno == errno.EADDRINUSE:
        return PortInUse(endpoint.host, port)
    return ListenError(endpoint.host, port, error.strerror or str(error), error.errno)


def _bind(endpoint: _Endpoint, port: int) -> socket.socket:
    sock = socket.socket(endpoint.family, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":
            # There SO_REUSEADDR would let two servers share the port.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            # A restart takes a port whose old connections linger; a live listener still bars it.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if endpoint.family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.setblocking(False)
        sock.bind(endpoint.at(port))
    except BaseException:
        sock.close()
        raise
    return sock


def _notes(wanted: list[_Endpoint], usable: list[_Endpoint]) -> tuple[str, ...]:
    if len(wanted) == len(usable):
        return ()
    note = "This machine has no IPv6: listening on IPv4 only."
    logger.info(note)
    return (note,)


def _addresses(sockets: Sequence[socket.socket]) -> tuple[str, ...]:
    return tuple(_address(*sock.getsockname()[:2]) for sock in sockets)


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
