"""The composition root: puts the service, the gRPC server, the HTTP face and the port together."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from emulator.config.defaults import DEFAULT_PORT
from emulator.config.sources import NO_SOURCES, Sources
from emulator.service.core import Core
from emulator.service.memory import tune_garbage_collector
from emulator.service.service import Service
from emulator.service.time_control import TimeControl
from emulator.transport.descriptors import raise_descriptor_limit
from emulator.transport.event_loop import new_event_loop
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
from emulator.transport.peers import Peers
from emulator.transport.private_folder import PrivateFolder
from emulator.transport.tls_error import TlsError
from emulator.transport.web_guard import WebGuard

if TYPE_CHECKING:
    import grpc.aio

    from emulator.config.applying import Plan
    from emulator.config.resources import Resources
    from emulator.transport.ready_port import ReadyPort
    from emulator.transport.tls import Tls

__all__ = [
    "DEFAULT_HOSTS",
    "ListenError",
    "Options",
    "PortInUse",
    "Server",
    "TimeControl",
    "TlsError",
    "loop_factory",
]

#: Answers that are on their way have this long to leave before connections are cut.
_GRACE_S = 0.5
#: What has been answered by now is out of gRPC's hands after this.
_FLUSH_S = 0.03


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """What makes the event loops that servers run on."""
    return new_event_loop


@dataclass(frozen=True)
class Options:
    """`hosts` and `port` (0: any free one, the same for all hosts) are where it listens.

    `projects` are the only projects that exist; None for any (NAM-16). `profile` is "relaxed" or
    "strict" (GEN-02). `allow_origins` are the web pages that may use it besides the machine's own,
    `allow_hosts` names by which HTTP clients reach it (`WebGuard`). `owns_process`: nothing but the
    server lives in the process, whose limits and garbage collector it may set to its own needs.
    `sources` have the resources that exist from the start. With `auto_create` topics are made when
    they are first used. `tls` are the files of a certificate and its key, to speak TLS as well.
    """

    hosts: tuple[str, ...] = DEFAULT_HOSTS
    port: int = DEFAULT_PORT
    projects: frozenset[str] | None = None
    profile: str = "relaxed"
    allow_origins: tuple[str, ...] = ()
    allow_hosts: tuple[str, ...] = ()
    owns_process: bool = False
    sources: Sources = NO_SOURCES
    auto_create: bool = False
    tls: tuple[str, str] | None = None


class Server:
    """One emulator on the running loop: `start`, then `stop`, each once."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.stopping = asyncio.Event()
        self._core = self._new_core()
        self._service = Service(self._core)
        if options.auto_create:
            from emulator.service.auto_create import with_topics_made

            self._service.handlers = with_topics_made(self._service.handlers)
        # The names that it was told to listen on are names of its own.
        guard = WebGuard(options.allow_origins, (*options.allow_hosts, *options.hosts))
        self._http = HttpFace(self, self._service.handlers, guard)
        self._peers = Peers()
        self._grpc: grpc.aio.Server | None = None
        self.time = TimeControl(self._core)
        self._listeners: Listeners | None = None
        self._front: Front | None = None
        self._folder: PrivateFolder | None = None
        self._ready_port: ReadyPort | None = None
        #: What was done about the start-up resources, for those who tell of it.
        self.start_up: Plan | None = None

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
        """Serve, with all that is to exist from the start.

        Raises ListenError, of which PortInUse is one, if an address cannot be had, ConfigError for
        start-up resources that cannot be made, and TlsError for files that are no certificate.
        """
        tls = self._tls()
        if self.options.owns_process:
            raise_descriptor_limit()
        self._listeners = open_listeners(self.options.hosts, self.options.port)
        try:
            upstream = await self._start_grpc()
            # Before anybody is let in: no client ever sees a part of them.
            if self.options.sources:
                self.start_up = await self.apply(self.options.sources.load())
            self._front = Front(upstream, self._http.protocol, peers=self._peers, tls=tls)
        except BaseException:
            self._listeners.close()
            await self.stop()
            raise
        self._front.start(self._listeners.sockets)
        if self.options.owns_process:
            tune_garbage_collector()

    def _tls(self) -> Tls | None:
        if self.options.tls is None:
            return None
        from emulator.transport.tls import Tls

        return Tls(*self.options.tls)

    async def apply(self, resources: Resources) -> Plan:
        """Make what is wanted and missing, update what differs; raises ConfigError."""
        from emulator.config.applying import apply
        from emulator.config.target import InProcess

        return await apply(resources, InProcess(self._service.handlers), self._new_core)

    def _new_core(self) -> Core:
        """The core, or another one under the same rules, to try something out."""
        return Core(self.options.projects, is_strict=self.options.profile == "strict")

    async def open_ready_port(self, port: int) -> None:
        """Open a second port, which says that all is ready; raises ListenError."""
        from emulator.transport.ready_port import ReadyPort

        self._ready_port = await ReadyPort.open(self.options.hosts, port)

    async def _start_grpc(self) -> str | tuple[str, int]:
        """Serve gRPC at an address that only this user can reach; return it."""
        server = self._grpc = make_server(self._service, self._peers)
        address: str | tuple[str, int]
        if sys.platform == "win32":
            address = "127.0.0.1", server.add_insecure_port("127.0.0.1:0")
        else:
            self._folder = PrivateFolder()
            address = self._folder.socket
            server.add_insecure_port(f"unix:{address}")
        await server.start()
        return address

    async def stop(self) -> None:
        """Answer whoever waits, free the port and close every connection."""
        if self._ready_port is not None:
            self._ready_port.close()
        try:
            if self._front is not None:
                await self._front.stop_accepting()
            self._service.close()
            # Connections go before gRPC does: it would end calls that arrive now with CANCELLED,
            # which clients do not repeat as they repeat UNAVAILABLE (STR-18).
            await asyncio.sleep(_FLUSH_S)
            await self._http.close(_GRACE_S)
            if self._front is not None:
                await self._front.close()
            if self._grpc is not None:
                await self._grpc.stop(_GRACE_S)
        finally:
            if self._folder is not None:
                self._folder.remove()
                self._folder = None
            # gRPC keeps a thread for as long as any server of its is referred to.
            self._grpc = None

    def reset(self) -> None:
        """Forget every topic and subscription."""
        self._core.reset()

    def shutdown(self) -> None:
        """Ask whoever runs this server to stop it."""
        self.stopping.set()

    def __repr__(self) -> str:
        return f"<Server {self._core!r}, {self._front!r}>"
