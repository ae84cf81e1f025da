"""Carries a StreamingPull between gRPC and the service's stream."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc.aio

from emulator.api import pubsub
from emulator.service.stream import Stream
from emulator.transport.grpc_codec import decode


async def carry(stream: Stream, context: Any) -> None:
    """Pass requests and responses on until either side ends the stream.

    Returns when the client has said all that it had to say (STR-14), raises the error to end with
    otherwise. A client that goes away without a word cancels this.
    """
    reader = asyncio.create_task(_read(stream, context))
    writer = asyncio.create_task(_write(stream, context))
    ends: list[asyncio.Future[None]] = [stream.over, reader, writer]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            if end.done():
                return end.result()
    finally:
        reader.cancel()
        writer.cancel()
        try:
            await asyncio.gather(reader, writer, return_exceptions=True)
        finally:
            stream.close()


async def _read(stream: Stream, context: Any) -> None:
    while (encoded := await context.read()) is not grpc.aio.EOF:
        stream.receive(decode(pubsub.StreamingPullRequest, encoded))


async def _write(stream: Stream, context: Any) -> None:
    # Clients learn that the stream is open, even if no message comes for long.
    await context.send_initial_metadata(())
    while True:
        response = await stream.next_response()
        # Awaiting this is the back-pressure: nothing is leased for a client that does not read.
        await context.write(response)
        stream.sent()
