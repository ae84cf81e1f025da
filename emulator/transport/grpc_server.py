"""The gRPC face: raw bytes in, the service's answer out, on a private address behind the front."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, cast

import grpc
import grpc.aio

from emulator.engine.values.errors import Internal, PubsubError
from emulator.service.rpcs import RPCS, SERVICES, Rpc
from emulator.service.service import Handler, Service
from emulator.service.stream import Stream
from emulator.transport.grpc_call import GrpcCall
from emulator.transport.grpc_codec import decode, encode
from emulator.transport.grpc_extras import Extras
from emulator.transport.grpc_status import code_of, trailing_metadata
from emulator.transport.grpc_stream import carry
from emulator.transport.peers import Peers

log = logging.getLogger("emulator.grpc")

#: Larger requests than the service takes must reach us, so that the refusal is ours: clients repeat
#: the RESOURCE_EXHAUSTED that gRPC itself would answer (PUB-21, PUB-61).
_RECEIVE_BYTES = 128 * 1024 * 1024
_OPTIONS = (
    ("grpc.max_receive_message_length", _RECEIVE_BYTES),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_metadata_size", 1024 * 1024),
    ("grpc.absolute_max_metadata_size", 4 * 1024 * 1024),
    # RST-72: no ping of a client is ever one too many.
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 1),
    ("grpc.so_reuseport", 0),
)

_Unary = Callable[[bytes, Any], Awaitable[bytes]]


def make_server(service: Service, peers: Peers) -> grpc.aio.Server:
    """A server that answers every RPC of the registry, health checks and reflection.

    `peers` are the clients of which calls can come. Add an address and start it.
    """
    server = grpc.aio.server(options=_OPTIONS)
    for name in SERVICES:
        methods = {
            rpc.name: _method(rpc, service.handlers[rpc.path], peers)
            for rpc in RPCS
            if rpc.service == name
        }
        handler = grpc.method_handlers_generic_handler(name, methods)
        server.add_generic_rpc_handlers((handler,))
    server.add_generic_rpc_handlers((Extras(),))
    return server


def _method(rpc: Rpc, handler: Handler, peers: Peers) -> grpc.RpcMethodHandler[Any, Any]:
    # No (de)serializers: what cannot be decoded is refused in our words.
    if rpc.is_streaming:
        return grpc.stream_stream_rpc_method_handler(_stream(rpc, handler, peers))
    if inspect.iscoroutinefunction(handler):
        return grpc.unary_unary_rpc_method_handler(_waiting_unary(rpc, handler, peers))
    return grpc.unary_unary_rpc_method_handler(_unary(rpc, handler))


def _unary(rpc: Rpc, handler: Handler) -> _Unary:
    async def answer(encoded: bytes, context: Any) -> bytes:
        try:
            request = decode(rpc.request, encoded)
            return encode(handler(request, GrpcCall(encoded, context)))
        except Exception as error:
            return await _abort(rpc, error, context)

    return answer


def _waiting_unary(rpc: Rpc, handler: Handler, peers: Peers) -> _Unary:
    """Cancels the handler when its client goes away, which gRPC would do some moments later."""

    async def answer(encoded: bytes, context: Any) -> bytes:
        client = peers.find(context.peer())
        if client.has_ended:
            raise asyncio.CancelledError
        task = asyncio.current_task()
        assert task is not None
        client.on_end(task.cancel)
        try:
            call = GrpcCall(encoded, context, client)
            response = await handler(decode(rpc.request, encoded), call)  # type: ignore[misc]
            return call.answer(encode(response))
        except Exception as error:
            return await _abort(rpc, error, context)
        finally:
            client.forget(task.cancel)

    return answer


def _stream(rpc: Rpc, handler: Handler, peers: Peers) -> Callable[[Any, Any], Awaitable[None]]:
    async def answer(requests: Any, context: Any) -> None:
        try:
            encoded = await context.read()
            if encoded is grpc.aio.EOF:
                return  # STR-14: it said nothing at all
            stream = handler(decode(rpc.request, encoded), GrpcCall(encoded, context))
            await carry(cast(Stream, stream), context, peers.find(context.peer()))
        except Exception as error:
            await _abort(rpc, error, context)

    return answer


async def _abort(rpc: Rpc, error: Exception, context: Any) -> bytes:
    if not isinstance(error, PubsubError):
        log.error("%s failed.", rpc.path, exc_info=error)
        error = Internal(
            "A service error has occurred. Please retry your request. If the error persists, "
            "please report it."
        )  # ERR-47
    await context.abort(code_of(error), error.message, trailing_metadata(error))
    raise AssertionError("abort raises")
