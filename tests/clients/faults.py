"""Connections to a server that break when told to: `python faults.py HOST:PORT`.

Prints the address where it takes orders, and serves until its input ends. Orders are HTTP:

    POST /links/tcp   a new address that passes bytes on; {"address": "127.0.0.1:N", "id": N}
    POST /links/grpc  a new address that passes gRPC calls on, as they are
    POST /links/N/break?silent_s=S   tcp: cut every connection, and new ones at once for S seconds;
                                     grpc: end every StreamingPull with UNAVAILABLE
    GET /links/N      {"sent_bytes": N, "streams": N}: what clients have sent over connections of
                      tcp; how many StreamingPulls they have opened over grpc
    DELETE /links/N   close it

The answer to `break` says how many connections or streams it ended: {"broken": N}.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

import grpc
import grpc.aio
from aiohttp import web

LOOPBACK = "127.0.0.1"
UNLIMITED = (("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1))
#: What the service says when it moves a stream elsewhere.
MOVED = (
    "The StreamingPull stream closed for an expected reason and should be recreated, "
    "which is done automatically if using Cloud Pub/Sub client libraries."
)


class Link(Protocol):
    port: int
    sent_bytes: int
    streams: int

    async def break_all(self, silent_s: float) -> int: ...

    async def close(self) -> None: ...


class TcpLink:
    """Passes bytes between each connection and one of its own to the server."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._host, self._target_port = host, int(port)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._is_silent = False
        self.port = 0
        self.sent_bytes = 0
        self.streams = 0

    async def open(self) -> TcpLink:
        self._server = await asyncio.start_server(self._serve, LOOPBACK, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_silent:
            writer.transport.abort()
            return
        self._writers.add(writer)
        try:
            there = await asyncio.open_connection(self._host, self._target_port)
            self._writers.add(there[1])
            await asyncio.gather(pour(reader, there[1], self._count), pour(there[0], writer))
        except OSError:
            writer.close()
        finally:
            self._writers.discard(writer)

    def _count(self, some: bytes) -> None:
        self.sent_bytes += len(some)

    async def break_all(self, silent_s: float) -> int:
        broken, self._writers = self._writers, set()
        for writer in broken:
            writer.transport.abort()
        # The port is kept: while nobody listened on it another program could take it.
        self._is_silent = True
        await asyncio.sleep(silent_s)
        self._is_silent = False
        return len(broken) // 2

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()


async def pour(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    seen: Callable[[bytes], None] = lambda some: None,
) -> None:
    """Copy until either side ends; then end the other."""
    try:
        while some := await reader.read(65_536):
            seen(some)
            writer.write(some)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


class GrpcLink(grpc.GenericRpcHandler):
    """Passes every call on as bytes, and its status back; can end streams with UNAVAILABLE."""

    def __init__(self, target: str) -> None:
        self._channel = grpc.aio.insecure_channel(target, options=UNLIMITED)
        self._server = grpc.aio.server(options=UNLIMITED)
        self._server.add_generic_rpc_handlers([self])
        self._open: set[asyncio.Event] = set()
        self.sent_bytes = 0
        self.streams = 0
        self.port = self._server.add_insecure_port(f"{LOOPBACK}:0")

    async def open(self) -> GrpcLink:
        await self._server.start()
        return self

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        async def pass_on(requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
            call = self._channel.stream_stream(details.method)(requests, metadata=())
            try:
                if details.method.endswith("/StreamingPull"):
                    async for answer in self._until_broken(call, context):
                        yield answer
                else:
                    async for answer in call:
                        yield answer
            except grpc.aio.AioRpcError as error:
                trailers = tuple(error.trailing_metadata() or ())
                await context.abort(error.code(), error.details() or "", trailers)
            finally:
                call.cancel()

        return grpc.stream_stream_rpc_method_handler(pass_on)

    async def _until_broken(self, call: Any, context: Any) -> AsyncIterator[bytes]:
        """Pass answers on; end with UNAVAILABLE when told to."""
        broken = asyncio.Event()
        self._open.add(broken)
        self.streams += 1
        end = asyncio.create_task(broken.wait())
        try:
            while True:
                answer = asyncio.ensure_future(call.read())
                await asyncio.wait({answer, end}, return_when=asyncio.FIRST_COMPLETED)
                if not answer.done():
                    answer.cancel()
                    await context.abort(grpc.StatusCode.UNAVAILABLE, MOVED)
                if answer.result() is grpc.aio.EOF:
                    return
                yield answer.result()
        finally:
            end.cancel()
            self._open.discard(broken)

    async def break_all(self, silent_s: float) -> int:
        broken = len(self._open)
        for stream in self._open:
            stream.set()
        return broken

    async def close(self) -> None:
        await self._server.stop(grace=None)
        await self._channel.close()


class Orders:
    """The HTTP side."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._links: dict[int, Link] = {}

    def application(self) -> web.Application:
        application = web.Application()
        application.add_routes(
            [
                web.post("/links/{kind:tcp|grpc}", self._open),
                web.post(r"/links/{port:\d+}/break", self._break),
                web.get(r"/links/{port:\d+}", self._show),
                web.delete(r"/links/{port:\d+}", self._close),
            ]
        )
        application.on_shutdown.append(self._close_all)
        return application

    async def _open(self, request: web.Request) -> web.Response:
        kind = TcpLink if request.match_info["kind"] == "tcp" else GrpcLink
        link = await kind(self._target).open()
        self._links[link.port] = link
        return web.json_response({"address": f"{LOOPBACK}:{link.port}", "id": link.port})

    async def _break(self, request: web.Request) -> web.Response:
        link = self._links[int(request.match_info["port"])]
        broken = await link.break_all(float(request.query.get("silent_s", "0")))
        return web.json_response({"broken": broken})

    async def _show(self, request: web.Request) -> web.Response:
        link = self._links[int(request.match_info["port"])]
        return web.json_response({"sent_bytes": link.sent_bytes, "streams": link.streams})

    async def _close(self, request: web.Request) -> web.Response:
        await self._links.pop(int(request.match_info["port"])).close()
        return web.json_response({})

    async def _close_all(self, _: web.Application) -> None:
        for link in self._links.values():
            await link.close()


async def serve(target: str) -> None:
    """Serve until the standard input ends, so that nobody has to stop it."""
    runner = web.AppRunner(Orders(target).application())
    await runner.setup()
    site = web.TCPSite(runner, LOOPBACK, 0)
    await site.start()
    host, port = runner.addresses[0]
    print(f"{host}:{port}", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
