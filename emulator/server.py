"""The composition root: puts the service, the gRPC server, the HTTP face and the port together."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from emulator.service.core import Core
from emulator.service.service import Service
from emulator.transport.descriptors import raise_descriptor_limit
from emulator.transport.front import Front
from emulator.transport.grpc_server import make_server
from emulator.transport.http import HttpFace
from emulator.transport.listeners import (
    DEFAULT_HOSTS,
    ListenError,
    Listeners,
    PortInUse,
    open_listeners,
)

__all__ = ["ListenError", "Options", "PortInUse", "Server"]

DEFAULT_PORT = 8085
#: Answers that are on their way have this long to leave before connections are cut.
_GRACE_S = 0.5
#: The kernel's limit for the address of a unix socket is 104 bytes on some systems.
_SOCKET_PATH_BYTES = 100
_FOLDER_PREFIX = "pubsub-emulator-"


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Event loops for servers: uvloop's where there is a wheel of it, asyncio's own elsewhere."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


@dataclass(frozen=True)
class Options:
    """`hosts` and `port` (0: any free one, the same for all hosts) are where it listens.

    `projects` are the only projects that exist; None for any (NAM-16). `profile` is "relaxed" or
    "strict" (GEN-02).
    """

    hosts: tuple[str, ...] = DEFAULT_HOSTS
    port: int = DEFAULT_PORT
    projects: frozenset[str] | None = None
    profile: str = "relaxed"


class Server:
    """One emulator on the running loop: `start`, then `stop`, each once."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.stopping = asyncio.Event()
        self._core = Core(options.projects)
        self._grpc = make_server(Service(self._core))
        self._http = HttpFace(self)
        self._listeners: Listeners | None = None
        self._front: Front | None = None
        self._folder: Path | None = None

    @property
    def port(self) -> int:
        assert self._listeners is not None
        return self._listeners.port

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where clients reach it, as `127.0.0.1:8085` or `[::1]:8085`."""
        assert self._listeners is not None
        return self._listeners.addresses

    async def start(self) -> None:
        """Serve; raises ListenError, of which PortInUse is one, if an address cannot be had."""
        raise_descriptor_limit()
        self._listeners = open_listeners(self.options.hosts, self.options.port)
        upstream = self._private_address()
        await self._grpc.start()
        self._front = Front(upstream, self._http.protocol)
        self._front.start(self._listeners.sockets)

    def _private_address(self) -> str | tuple[str, int]:
        """Give the gRPC server an address that only this user can reach; return it."""
        if sys.platform == "win32":
            return "127.0.0.1", self._grpc.add_insecure_port("127.0.0.1:0")
        self._folder = _private_folder()
        path = str(self._folder / "grpc")
        self._grpc.add_insecure_port(f"unix:{path}")
        return path

    async def stop(self) -> None:
        """Answer whoever waits, free the port and close every connection."""
        if self._front is not None:
            await self._front.stop_accepting()
        self._core.close()
        await self._grpc.stop(_GRACE_S)
        await self._http.close(_GRACE_S)
        if self._front is not None:
            await self._front.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def reset(self) -> None:
        """Forget every topic and subscription."""
        self._core.reset()

    def shutdown(self) -> None:
        """Ask whoever runs this server to stop it."""
        self.stopping.set()

    def __repr__(self) -> str:
        return f"<Server {self._core.engine!r}, {self._front!r}>"


def _private_folder() -> Path:
    """A new folder for the socket, in a place whose path is short enough."""
    for place in (tempfile.gettempdir(), "/tmp"):
        if len(os.fsencode(place)) + len(_FOLDER_PREFIX) + 16 <= _SOCKET_PATH_BYTES:
            return Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX, dir=place))
    raise OSError(f"The path of the temporary folder is too long: {tempfile.gettempdir()}")
