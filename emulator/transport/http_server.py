"""aiohttp's server with the answers of the HTTP/1.1 face; imported on first use only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from aiohttp import web
from aiohttp.http import HttpProcessingError

from emulator.engine.values.errors import Internal, NotFound
from emulator.service.service import Handler as RpcHandler
from emulator.transport import cors
from emulator.transport.http_answers import error_response, json_response
from emulator.transport.http_connection import HttpConnection, connection_of
from emulator.transport.web_guard import WebGuard

if TYPE_CHECKING:
    from emulator.transport.http import Control
    from emulator.transport.rest.face import RestFace

logger = logging.getLogger(__name__)

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

#: Names are long, and credentials longer.
_LINE_BYTES = 32_768
_METHODS = {"/": ("GET", "HEAD"), "/reset": ("POST",), "/shutdown": ("POST",)}


class Patience(NamedTuple):
    """`head_s` is the time from a connection's first byte to the end of its first request's head,
    `body_s` that for one body.

    Idle connections are kept for `idle_s`, longer than clients keep them, so that none is closed
    just when its client uses it again.
    """

    head_s: float = 60.0
    body_s: float = 120.0
    idle_s: float = 620.0


def make_server(
    control: Control,
    handlers: Mapping[str, RpcHandler],
    guard: WebGuard,
    patience: Patience | None = None,
) -> web.Server:
    """Return a server whose instances are protocols for connections that others accept."""
    patience = patience or Patience()
    router = Router(control, handlers, patience.body_s)
    return PatientServer(Guarded(guard, Shielded(router)), patience)


class PatientServer(web.Server):
    """Watches over each connection's first request, and aiohttp over the others."""

    def __init__(self, handler: Handler, patience: Patience) -> None:
        super().__init__(
            self._first_of_all(handler),
            # PUL-06: a pull that waits must hear that its client left.
            handler_cancellation=True,
            access_log=None,
            logger=PeerErrorLog(logger, {}),
            keepalive_timeout=patience.idle_s,
            max_line_size=_LINE_BYTES,
            max_field_size=_LINE_BYTES,
            # aiohttp unpacks without a bound in some of its releases.
            auto_decompress=False,
        )
        self._head_s = patience.head_s
        self._timers: dict[web.RequestHandler, asyncio.TimerHandle] = {}

    def __call__(self) -> HttpConnection:
        """Make the protocol of a connection."""
        return HttpConnection(self, loop=self._loop, **self._kwargs)

    def _first_of_all(self, handler: Handler) -> Handler:
        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            connection = connection_of(request)
            self._stop_timer(connection)
            connection.begin(request)
            try:
                return await handler(request)
            finally:
                connection.end(request)

        return handle

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Start the time of a connection."""
        super().connection_made(handler, transport)
        loop = asyncio.get_running_loop()
        self._timers[handler] = loop.call_later(self._head_s, handler.force_close)

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        """Forget a connection."""
        self._stop_timer(handler)
        super().connection_lost(handler, exc)

    def _stop_timer(self, handler: web.RequestHandler) -> None:
        timer = self._timers.pop(handler, None)
        if timer is not None:
            timer.cancel()


class Guarded:
    """Before every handler there is: what the guard refuses is not executed."""

    def __init__(self, guard: WebGuard, handler: Handler) -> None:
        self._guard = guard
        self._handler = handler

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        headers = request.headers
        refusal = self._guard.refusal(
            hosts=headers.getall("Host", ()),
            origins=headers.getall("Origin", ()),
            sites=headers.getall("Sec-Fetch-Site", ()),
        )
        if refusal is None:
            return await self._handler(request)
        logger.debug("Refused %s %s: %s", request.method, request.path, refusal)
        error = {"code": 403, "message": refusal, "status": "PERMISSION_DENIED"}
        return json_response({"error": error}, status=403)


class Router:
    """Answers what Google's emulator answers besides gRPC, and passes on what is REST."""

    def __init__(self, control: Control, handlers: Mapping[str, RpcHandler], body_s: float) -> None:
        self._control = control
        self._handlers = handlers
        self._body_s = body_s

    @cached_property
    def _rest(self) -> RestFace:
        from emulator.transport.rest.face import RestFace

        return RestFace(self._handlers, self._body_s)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; RST-11: an unknown path or method is a 404."""
        if request.path.startswith("/v1/"):
            return await self._rest(request)
        if (request.method, request.path) == ("POST", "/shutdown"):
            return await self._shutdown(request)
        response = self._plain(request)
        cors.allow(request, response)
        return response

    def _plain(self, request: web.BaseRequest) -> web.StreamResponse:
        match request.method, request.path:
            case (("GET" | "HEAD"), "/"):
                return web.Response(text="Ok\n")
            case "POST", "/reset":
                self._control.reset()
                return web.Response(text="Resetting...\n")
            case "OPTIONS", ("/" | "/reset" | "/shutdown"):
                return cors.preflight(request, _METHODS[request.path])
        return error_response(NotFound(f"No such path: {request.method} {request.path}"))

    async def _shutdown(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.Response(text="Shutting down...\n")
        cors.allow(request, response)
        response.force_close()
        # Sent before the stop begins, which closes connections as they are.
        await response.prepare(request)
        await response.write_eof()
        self._control.shutdown()
        return response


class Shielded:
    """A handler whose failures become a JSON 500 and one log line."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        try:
            return await self._handler(request)
        except web.HTTPException:
            raise
        except ConnectionError:
            return web.Response()  # aiohttp finds out by itself that there is nobody to send it to
        except Exception as error:
            logger.error("%s %s failed: %r", request.method, request.path, error)
            logger.debug("Where it failed:", exc_info=error)
            return error_response(Internal("Internal error."))


class PeerErrorLog(logging.LoggerAdapter[logging.Logger]):
    """aiohttp's log: what a client did wrong is not worth a traceback."""

    def exception(self, msg: object, *args: object, exc_info: Any = True, **kwargs: Any) -> None:
        """Log one line: for a malformed request at debug level, else as an error."""
        is_peer = isinstance(exc_info, HttpProcessingError)
        self.log(
            logging.DEBUG if is_peer else logging.ERROR,
            f"{msg}: %r",
            *args,
            exc_info,
        )

    def process(
        self, msg: object, kwargs: MutableMapping[str, Any]
    ) -> tuple[object, MutableMapping[str, Any]]:
        """Drop tracebacks from every line."""
        kwargs.pop("exc_info", None)
        return msg, kwargs
