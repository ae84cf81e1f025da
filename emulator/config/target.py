"""Where resources are made: a service, called by the paths of its RPCs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from google.protobuf.message import Message

from emulator.service.rpcs import RPCS
from emulator.service.service import Handler

_PUBLISHER = "/google.pubsub.v1.Publisher/"
_SUBSCRIBER = "/google.pubsub.v1.Subscriber/"
_SCHEMAS = "/google.pubsub.v1.SchemaService/"
#: Methods that are called here, by their names alone.
PATHS: Mapping[str, str] = {
    rpc.name: rpc.path for rpc in RPCS if rpc.path.startswith((_PUBLISHER, _SUBSCRIBER, _SCHEMAS))
}
_RESPONSES: Mapping[str, type[Message]] = {rpc.path: rpc.response for rpc in RPCS}


class Target(Protocol):
    """Raises PubsubError when a call is refused, and OSError when the endpoint is not reached."""

    async def call(self, method: str, request: Message) -> Any:
        """Call `CreateTopic` and the like; return the response message."""
        ...


class InProcess:
    """The handlers of a service in this process, as any transport calls them."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = handlers

    async def call(self, method: str, request: Message) -> Any:
        """Call a handler on the running loop."""
        path = PATHS[method]
        answer: Any = self._handlers[path](request, LocalCall(request))
        if inspect.isawaitable(answer):
            answer = await answer
        return _RESPONSES[path].FromString(answer) if isinstance(answer, bytes) else answer


class LocalCall:
    """A call whose caller waits for ever and is always there."""

    def __init__(self, request: Message) -> None:
        self._request = request

    @property
    def encoded(self) -> bytes:
        return self._request.SerializeToString()

    @property
    def limited_bytes(self) -> int:
        return 0  # DLV-27 is about what comes over the wire

    def remaining_s(self) -> float | None:
        return None

    def on_abandoned(self, callback: Callable[[], None]) -> None:
        """Nobody goes away."""
