"""Health checks and reflection beside our own services (RST-70).

gRPC's own packages serve them, reflection from our descriptor pool. They are imported when
somebody first asks: most servers never need them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc

from emulator.api.pool import POOL
from emulator.service.rpcs import SERVICES

if TYPE_CHECKING:
    from google.protobuf.descriptor import FileDescriptor
    from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

_HEALTH = "grpc.health.v1.Health"
#: Two names for the same messages: older clients ask for the first only.
_REFLECTION = ("grpc.reflection.v1alpha.ServerReflection", "grpc.reflection.v1.ServerReflection")

_Handlers = dict[str, "grpc.RpcMethodHandler[Any, Any]"]


class Extras(grpc.GenericRpcHandler):
    """Answers the paths of health checks and reflection, and no other."""

    def __init__(self) -> None:
        self._handlers: _Handlers = {}

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        path: str = handler_call_details.method
        service = path[1:].rpartition("/")[0]
        if service == _HEALTH and path not in self._handlers:
            self._handlers |= _health()
        elif service in _REFLECTION and path not in self._handlers:
            self._handlers |= _reflection()
        return self._handlers.get(path)


def _health() -> _Handlers:
    from grpc_health.v1 import health_pb2 as messages

    health = _Health()
    decode = messages.HealthCheckRequest.FromString
    encode = messages.HealthCheckResponse.SerializeToString
    return {
        f"/{_HEALTH}/Check": grpc.unary_unary_rpc_method_handler(health.check, decode, encode),
        f"/{_HEALTH}/Watch": grpc.unary_stream_rpc_method_handler(health.watch, decode, encode),
    }


class _Health:
    """The package's servicer, which has to be told in a coroutine which services there are."""

    def __init__(self) -> None:
        from grpc_health.v1 import health

        self._servicer = health.aio.HealthServicer()
        self._is_told = False

    async def check(self, request: HealthCheckRequest, context: Any) -> HealthCheckResponse:
        await self._tell()
        return await self._servicer.Check(request, context)

    async def watch(self, request: HealthCheckRequest, context: Any) -> None:
        await self._tell()
        await self._servicer.Watch(request, context)

    async def _tell(self) -> None:
        from grpc_health.v1.health_pb2 import HealthCheckResponse

        if not self._is_told:
            self._is_told = True
            for service in (*SERVICES, _HEALTH):
                await self._servicer.set(service, HealthCheckResponse.SERVING)


class _Symbols:
    """Our pool as the package asks it; by itself it does not know methods for symbols."""

    def __getattr__(self, name: str) -> Any:
        return getattr(POOL, name)

    def FindFileContainingSymbol(self, symbol: str) -> FileDescriptor:
        try:
            return POOL.FindFileContainingSymbol(symbol)
        except KeyError:
            return POOL.FindMethodByName(symbol).containing_service.file


def _reflection() -> _Handlers:
    from grpc_reflection.v1alpha import reflection
    from grpc_reflection.v1alpha import reflection_pb2 as messages

    servicer = reflection.aio.ReflectionServicer((*SERVICES, _HEALTH), _Symbols())
    handler = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=messages.ServerReflectionRequest.FromString,
        response_serializer=messages.ServerReflectionResponse.SerializeToString,
    )
    return {f"/{service}/ServerReflectionInfo": handler for service in _REFLECTION}
