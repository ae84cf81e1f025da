"""aiohttp's side of one connection, which outlives its client's last word."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from aiohttp import web

#: Time for a refusal to come back: much on one machine, enough in one network.
_REFUSAL_S = 0.02


class HttpConnection(web.RequestHandler):
    """Answers what was asked before the client closed its side of the connection (`nc -N`).

    Such a client waits for its answers; one that is gone altogether looks just the same until it is
    sent something. So whoever waits for something to happen is told by `on_last_word`.
    """

    __slots__ = ("_answered_count", "_listeners", "_requests", "has_last_word")

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.has_last_word = False
        self._answered_count = 0
        self._requests: list[web.BaseRequest] = []
        self._listeners: list[Callable[[], object]] = []

    def eof_received(self) -> bool:  # type: ignore[override]
        """Stay open for answers that are due; close at once if none is."""
        self.has_last_word = True
        for request in self._requests:
            _end_body(request)
        for listener in self._listeners.copy():
            listener()
        return self._due_count > 0

    @property
    def _due_count(self) -> int:
        """Requests that have come, those that wait for their turn included."""
        return self._request_count - self._answered_count

    def begin(self, request: web.BaseRequest) -> None:
        """Take note that a handler has begun to answer a request."""
        self._requests.append(request)
        if self.has_last_word:
            _end_body(request)

    def end(self, request: web.BaseRequest) -> None:
        """Take note that a handler is done with a request."""
        self._requests.remove(request)
        if self.has_last_word and not request.content.is_eof():
            request.content.feed_eof()  # aiohttp need not linger for the rest
        self._answered_count += 1
        if self.has_last_word and not self._due_count:
            self.close()  # once the answer is sent

    def on_last_word(self, listener: Callable[[], object]) -> None:
        """Have `listener` called when the client has said all that it will."""
        self._listeners.append(listener)

    def forget(self, listener: Callable[[], object]) -> None:
        """Call `listener` no more."""
        self._listeners.remove(listener)

    async def is_refused(self) -> bool:
        """Tell, when its system had time to say so, whether the client is not there any more.

        To be asked after something was sent to a client that has said its last word.
        """
        await asyncio.sleep(_REFUSAL_S)
        sock = self.transport and self.transport.get_extra_info("socket")
        return not sock or bool(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))


def _end_body(request: web.BaseRequest) -> None:
    """Fail whoever reads a body of which the rest will not come."""
    if not request.content.is_eof():
        request.content.set_exception(web.RequestPayloadError("the body is not whole"))


def connection_of(request: web.BaseRequest) -> HttpConnection:
    """Return the connection that a request came by."""
    connection = request.protocol
    assert isinstance(connection, HttpConnection), connection
    return connection
