"""Requests for paths below `/v1/`: from HTTP to the service's handlers and back."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Mapping
from typing import Any

from aiohttp import web
from google.protobuf.message import Message

from emulator.engine.values.errors import Internal, NotFound, PubsubError
from emulator.service import features
from emulator.service.features import Feature
from emulator.service.rpcs import Rpc
from emulator.service.service import Handler
from emulator.transport import cors
from emulator.transport.http_answers import error_response, json_response
from emulator.transport.http_connection import connection_of
from emulator.transport.rest import body, json_output, parameters, selection
from emulator.transport.rest.bindings import all_bindings
from emulator.transport.rest.call import RestCall
from emulator.transport.rest.request import build
from emulator.transport.rest.routes import Route, Routes

log = logging.getLogger("emulator.rest")

_OVERRIDE = "X-HTTP-Method-Override"  # RST-33
_TIMEOUT = "X-Server-Timeout"
_PULL = "/google.pubsub.v1.Subscriber/Pull"


class RestFace:
    """`handlers` are the service's, by the paths that gRPC has for them; `body_s` is the time that
    a body may take to come."""

    def __init__(self, handlers: Mapping[str, Handler], body_s: float) -> None:
        self._handlers = handlers
        self._body_s = body_s
        self._routes = Routes(all_bindings())

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; the answer is sent when this returns."""
        path, query = _target(request)
        if request.method == "OPTIONS":
            return self._options(request, path)
        given = parameters.parse(query)
        exchange = Exchange(request)
        try:
            route = self._routes.find(_method(request), path)
            answer = await self._answer(exchange, route, given)
            response = json_response(answer, is_pretty=given.is_pretty)
        except PubsubError as error:
            exchange.abandon()
            response = error_response(error, is_pretty=given.is_pretty)
        except body.BodyTimeout:
            response = _timed_out()
        return await exchange.send(response)

    def _options(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        methods = self._routes.methods(path)
        if not methods:
            return error_response(NotFound(f"No such path: OPTIONS {path}"))
        response = cors.preflight(request, methods)
        cors.allow(request, response)
        return response

    async def _answer(self, exchange: Exchange, route: Route, given: parameters.Parameters) -> Any:
        target = route.binding.target
        if isinstance(target, Feature):
            raise features.refusal(target)
        selected = selection.parse(given.fields, target.response.DESCRIPTOR)
        content = await body.read(exchange.request, within_s=self._body_s)
        message = build(target.request(), route.binding, route.values, given.of_request, content)
        try:
            response = await self._handle(target, message, exchange)
            value = json_output.as_json(response, has_enum_numbers=given.has_enum_numbers)
        except PubsubError:
            raise
        except Exception as error:
            log.error("%s failed.", target.path, exc_info=error)
            raise Internal(
                "A service error has occurred. Please retry your request. If the error persists, "
                "please report it."
            ) from error  # ERR-47
        return selection.select(value, selected)

    async def _handle(self, rpc: Rpc, message: Any, exchange: Exchange) -> Message:
        handler, call = self._handlers[rpc.path], exchange.begin(message)
        answer = handler(message, call)
        if rpc.path == _PULL:
            answer = await exchange.unless_last_word(answer)
            if answer is None:
                message.return_immediately = True
                answer = handler(message, call)
        if inspect.isawaitable(answer):
            answer = await answer
        return rpc.response.FromString(answer) if isinstance(answer, bytes) else answer


class Exchange:
    """One request and the sending of its answer, which may turn out to reach nobody."""

    def __init__(self, request: web.BaseRequest) -> None:
        self.request = request
        self._connection = connection_of(request)
        self._call: RestCall | None = None

    def begin(self, message: Message) -> RestCall:
        """Return the call that the request is."""
        self._call = RestCall(message, _timeout_s(self.request))
        return self._call

    async def unless_last_word(self, waiting: Any) -> Any:
        """Return what `waiting` does, or None once the client closes its side.

        Were a pull to wait on, it would take messages along for a client that is gone (PUL-06).
        """
        task = asyncio.ensure_future(waiting)
        self._connection.on_last_word(task.cancel)
        try:
            if self._connection.has_last_word:
                task.cancel()
            return await task
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if self._connection.has_last_word and not (this and this.cancelling()):
                return None
            raise
        finally:
            self._connection.forget(task.cancel)

    async def send(self, response: web.Response) -> web.StreamResponse:
        """Send the answer, or tell the call that its client left (PUL-06)."""
        cors.allow(self.request, response)
        try:
            _check_connected(self.request)
            await response.prepare(self.request)
            await response.write_eof()
            if self._is_in_doubt() and await self._connection.is_refused():
                raise ConnectionResetError("the client had left")
        except (ConnectionError, asyncio.CancelledError):
            self.abandon()
            raise
        return response

    def _is_in_doubt(self) -> bool:
        """Whether it matters that the answer arrives, and its client may be gone altogether."""
        return self._connection.has_last_word and self._call is not None and self._call.is_guarded

    def abandon(self) -> None:
        """Tell the call, if it began, that its answer does not reach the client."""
        if self._call is not None:
            self._call.abandon()


def _check_connected(request: web.BaseRequest) -> None:
    if request.transport is None or request.transport.is_closing():
        raise ConnectionResetError("the client left")


def _timed_out() -> web.Response:
    error = {
        "code": 408,
        "message": "The request's body did not come.",
        "status": "DEADLINE_EXCEEDED",
    }
    response = json_response({"error": error}, status=408)
    response.force_close()
    return response


def _target(request: web.BaseRequest) -> tuple[str, str]:
    """Return path and query as they were sent: decoding is ours (RST-12)."""
    target = request.raw_path.partition("#")[0]
    path, _, query = target.partition("?")
    if "://" in path:  # the absolute form, which proxies are sent
        path = "/" + path.partition("://")[2].partition("/")[2]
    return path, query


def _method(request: web.BaseRequest) -> str:
    if request.method == "POST":
        return request.headers.get(_OVERRIDE, "POST").upper()
    return request.method


def _timeout_s(request: web.BaseRequest) -> float | None:
    """Return how long the client says that the server may take."""
    try:
        timeout_s = float(request.headers.get(_TIMEOUT, ""))
    except ValueError:
        return None
    return timeout_s if 0 < timeout_s < float("inf") else None
