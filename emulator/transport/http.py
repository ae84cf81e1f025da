"""The HTTP/1.1 face of the port: REST, `GET /`, `POST /reset` and `POST /shutdown`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from emulator.transport.web_guard import WebGuard

if TYPE_CHECKING:
    from aiohttp import web

    from emulator.service.service import Handler


class Control(Protocol):
    """What a client may ask of the whole emulator; called on the event loop."""

    def reset(self) -> None:
        """Drop every resource at once."""

    def shutdown(self) -> None:
        """Begin to stop the process."""


class HttpFace:
    """Makes an HTTP/1.1 protocol for each connection; loads aiohttp for the first of them.

    `handlers` are the service's, by the paths that gRPC has for them; `guard` says which requests
    are answered.
    """

    def __init__(
        self, control: Control, handlers: Mapping[str, Handler], guard: WebGuard | None = None
    ) -> None:
        self._control = control
        self._handlers = handlers
        self._guard = guard or WebGuard()
        self._server: web.Server | None = None

    def __repr__(self) -> str:
        open_count = len(self._server.connections) if self._server is not None else 0
        return f"<HttpFace {open_count} connections>"

    def protocol(self) -> asyncio.Protocol:
        """Return the protocol for a new connection: the factory that `Front` asks for."""
        if self._server is None:
            from emulator.transport.http_server import make_server

            self._server = make_server(self._control, self._handlers, self._guard)
        return self._server()

    async def close(self, grace_s: float) -> None:
        """Let running requests end within `grace_s`, then close every connection."""
        if self._server is not None:
            self._server.pre_shutdown()
            await self._server.shutdown(grace_s)
