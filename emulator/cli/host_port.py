"""Hosts and ports as people write them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from emulator.config.defaults import DEFAULT_PORT

_HOST_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?")
_HOST_PORT = re.compile(r"(\[.*\]|[^:]*)(?::(.*))?")
_EVERYWHERE = ("0.0.0.0", "::")


@dataclass(frozen=True)
class HostPort:
    """`host` is a name or address, IPv6 without brackets; None where nothing was said."""

    host: str | None = None
    port: int | None = None

    @classmethod
    def parse(cls, text: str) -> HostPort:
        """Read `host:port`, `[::1]:port`, `:port`, `port` or a host alone; ValueError if not."""
        bare = text.strip()
        if bare.isdecimal():
            return cls(None, port(bare))
        if bare.count(":") > 1 and not bare.startswith("["):
            raise ValueError(f"{text!r} is ambiguous: write IPv6 addresses like [::1]:8085")
        parts = _HOST_PORT.fullmatch(bare)
        if not bare or parts is None:
            raise ValueError(f"{text!r} is not host:port")
        host_text, port_text = parts.groups()
        return cls(
            host(host_text) if host_text else None,
            port(port_text) if port_text is not None else None,
        )

    def for_clients(self) -> str:
        """Return what clients connect to: `localhost` where the server was told no one address."""
        name = "localhost" if self.host is None or self.host in _EVERYWHERE else self.host
        bracketed = f"[{name}]" if ":" in name else name
        return f"{bracketed}:{DEFAULT_PORT if self.port is None else self.port}"


def port(text: str) -> int:
    """Read a port; ValueError if it is none."""
    if not (text.isascii() and text.isdecimal() and int(text) <= 65535):
        raise ValueError(f"{text!r} is not a port: it must be a number from 0 to 65535")
    return int(text)


def hosts(text: str) -> list[str]:
    """Read a comma list of hosts; ValueError if one is none."""
    return [host(each.strip()) for each in text.split(",")]


def host(text: str) -> str:
    """Read a host name or address, IPv6 with or without brackets; ValueError if it is none."""
    if ":" in text or text.startswith("["):
        return _ipv6(text)
    if not _HOST_NAME.fullmatch(text):
        raise ValueError(f"{text!r} is not a host")
    return text


def _ipv6(text: str) -> str:
    import ipaddress

    is_bracketed = text.startswith("[") and text.endswith("]")
    address = text[1:-1] if is_bracketed else text
    try:
        ipaddress.IPv6Address(address)
        host(address.partition("%")[2] or "none")  # the zone is a name that ipaddress lets pass
    except ValueError as error:
        hint = "" if is_bracketed or text.count(":") != 1 else "; for a port, use --host-port"
        raise ValueError(f"{text!r} is not a host{hint}") from error
    return address
