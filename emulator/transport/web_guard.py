"""Which HTTP requests are answered, seeing that any web page can have a browser send some.

A browser sends a page's requests to the developer's own machine and says whose they are in `Origin`
and `Sec-Fetch-Site`; `Host` says by which name the page found the machine, which is the page's own
where its owner made it point here (DNS rebinding). Programs send no `Origin`, and are not stopped.

Pure: header values in, a refusal out. Every request passes it, upgrades to WebSocket included.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence

#: Names by which containers reach their host. Nobody can register one, so no page can have it.
_CONTAINER_HOSTS = ("host.docker.internal", "gateway.docker.internal", "host.containers.internal")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_SHOWN_CHARACTERS = 200


class WebGuard:
    """`origins` and `hosts` are allowed besides those that always are; either may have "*".

    An origin is written as browsers do, `https://app.example:3000` or `null`; a host without a
    port, or as `*.example` for all names below one.
    """

    def __init__(self, origins: Iterable[str] = (), hosts: Iterable[str] = ()) -> None:
        self._origins = frozenset(map(_plain_origin, origins))
        self._hosts = frozenset(host.lower() for host in (*_CONTAINER_HOSTS, *hosts))

    def __repr__(self) -> str:
        return f"<WebGuard origins {sorted(self._origins)}, hosts {sorted(self._hosts)}>"

    def refusal(
        self, *, hosts: Sequence[str], origins: Sequence[str], sites: Sequence[str]
    ) -> str | None:
        """Return the sentence to refuse a request with, or None if it may be answered.

        The arguments are the values of its headers `Host`, `Origin` and `Sec-Fetch-Site`.
        """
        for host in hosts:
            if not self._is_host_allowed(host):
                name = _shown(_name_of(host))
                return (
                    f'This emulator does not answer to the host name "{name}": '
                    f"start it with --allow-host {name} if it should."
                )
        for origin in origins:
            if not self._is_origin_allowed(origin, hosts):
                shown = _shown(origin)
                return (
                    f"Web pages of {shown} may not use this emulator: "
                    f"start it with --allow-origin {shown} if they should."
                )
        if not origins and "*" not in self._origins and "cross-site" in map(str.lower, sites):
            return (
                "Web pages of other sites may not use this emulator: "
                "start it with --allow-origin and the origin of those that should."
            )
        return None

    def _is_host_allowed(self, host: str) -> bool:
        name = _name_of(host)
        return _is_address(name) or _is_local(name) or "." not in name or self._is_named(name)

    def _is_named(self, name: str) -> bool:
        if name in self._hosts or "*" in self._hosts:
            return True
        parents = name.split(".")[1:]
        return any(f"*.{'.'.join(parents[at:])}" in self._hosts for at in range(len(parents)))

    def _is_origin_allowed(self, origin: str, hosts: Sequence[str]) -> bool:
        if "*" in self._origins or _plain_origin(origin) in self._origins:
            return True
        scheme, _, authority = origin.lower().partition("://")
        if scheme not in _DEFAULT_PORTS:
            return False
        name = _name_of(authority)
        if _is_local(name) or _is_loopback(name):
            return True
        # A page that came from here. Names without a dot do not tell: a network gives them away.
        is_certain = _is_address(name) or self._is_named(name)
        return is_certain and [host.lower() for host in hosts] == [authority]


def _name_of(authority: str) -> str:
    """Return the lower-case host of `host`, `host:port`, `[v6]` or `[v6]:port`."""
    authority = authority.strip().lower()
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    name, colon, port = authority.rpartition(":")
    return name if colon and ":" not in name and port.isascii() and port.isdigit() else authority


def _is_address(name: str) -> bool:
    """Whether it is no name at all: no top-level domain is a number, no name has colons."""
    last = name.rpartition(".")[2]
    return name.count(":") > 1 or (last.isascii() and last.isdigit())


def _is_local(name: str) -> bool:
    name = name.removesuffix(".")
    return name == "localhost" or name.endswith(".localhost")


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _plain_origin(origin: str) -> str:
    """In lower case, without the port that goes without saying."""
    origin = origin.strip().lower()
    return origin.removesuffix(_DEFAULT_PORTS.get(origin.partition("://")[0], "/"))


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
