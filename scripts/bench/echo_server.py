"""The least a gRPC server in Python can do: send back what came, behind this emulator's front.

The cost of grpc.aio and of the front is in it, the cost of Pub/Sub is not. So what this emulator
takes beyond it is its own doing. Run as a program it logs the line the benchmark waits for.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import grpc.aio

from emulator.transport.event_loop import new_event_loop
from emulator.transport.front import Front

if TYPE_CHECKING:
    Context = grpc.aio.ServicerContext[bytes, bytes]

_STREAMING = "/StreamingPull"


class Echo(grpc.GenericRpcHandler):
    """Answers every method."""

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[bytes, bytes]:
        """Return a handler that passes bytes through."""
        if str(handler_call_details.method).endswith(_STREAMING):
            return grpc.stream_stream_rpc_method_handler(_echo_stream)
        return grpc.unary_unary_rpc_method_handler(_echo)


async def _echo(request: bytes, context: Context) -> bytes:
    return request


async def _echo_stream(requests: AsyncIterator[bytes], context: Context) -> AsyncIterator[bytes]:
    async for request in requests:
        yield request


async def serve(folder: Path) -> None:
    """Serve on a free port until the process is stopped."""
    upstream = str(folder / "echo.sock")
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((Echo(),))
    server.add_insecure_port(f"unix:{upstream}")
    await server.start()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    front = Front(upstream, asyncio.Protocol)
    front.start([listener])
    print(f"Server started, listening on {listener.getsockname()[1]}", file=sys.stderr, flush=True)
    await server.wait_for_termination()


def main() -> None:
    """Serve on the loop that the emulator uses."""
    with (
        tempfile.TemporaryDirectory() as folder,
        asyncio.Runner(loop_factory=new_event_loop) as runner,
    ):
        runner.run(serve(Path(folder)))


if __name__ == "__main__":
    main()
