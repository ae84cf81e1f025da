"""Carries a StreamingPull between gRPC and the service's stream."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc.aio

from emulator.api import pubsub
from emulator.service.stream import Stream
from emulator.transport.grpc_codec import decode
from emulator.transport.peers import Client

FINISH_S = 5.0
"""Time that a client has to take what was meant for it when it has said that it is done."""


async def carry(stream: Stream, context: Any, client: Client) -> None:
    """Pass requests and responses on until either side ends the stream.

    Returns when the client has said all that it had to say (STR-14), raises the error to end with
    otherwise. A client that goes away without a word cancels this.
    """
    reader = asyncio.create_task(_read(stream, context))
    writer = asyncio.create_task(_write(stream, context, client))
    ends: list[asyncio.Future[None]] = [stream.over, reader, writer]
    client.on_end(stream.leave)
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if reader.done() and not stream.over.done():
            reader.result()
            await _finish(stream, writer)
        for end in ends:
            if end.done():
                return end.result()
    finally:
        client.forget(stream.leave)
        reader.cancel()
        writer.cancel()
        try:
            await asyncio.gather(reader, writer, return_exceptions=True)
        finally:
            stream.close()


async def _read(stream: Stream, context: Any) -> None:
    while (encoded := await context.read()) is not grpc.aio.EOF:
        stream.receive(decode(pubsub.StreamingPullRequest, encoded))


async def _write(stream: Stream, context: Any, client: Client) -> None:
    # Clients learn that the stream is open, even if no message comes for long.
    await context.send_initial_metadata(())
    while (response := await stream.next_response()) is not None:
        recall = stream.recall()
        if recall is not None:
            client.guard(len(response), recall)
        # Awaiting this is the back-pressure: nothing is leased for a client that does not read.
        await context.write(response)
        stream.sent()


async def _finish(stream: Stream, writer: asyncio.Task[None]) -> None:
    """Send what was leased or confirmed before the client was done."""
    stream.finish()
    await asyncio.wait((stream.over, writer), timeout=FINISH_S, return_when=asyncio.FIRST_COMPLETED)
