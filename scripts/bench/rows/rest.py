"""Publish, pull and acknowledge as JSON over HTTP/1.1."""

from scripts.bench import load, rest_requests
from scripts.bench.measurement import Measurement
from scripts.bench.rest_client import RestClient
from scripts.bench.rows import pulling
from scripts.bench.rows.publishing import BATCH, publish_many
from scripts.bench.target import Target

_CONNECTIONS = 4


async def rest_publish(target: Target, seconds: float) -> dict[str, Measurement]:
    """Publish 100 messages a call over 4 connections."""
    await target.client.set_up()
    body = rest_requests.publish(BATCH)
    async with RestClient(target.server.address, _CONNECTIONS) as client:

        async def publish() -> int:
            await client.publish(body)
            return BATCH

        await load.for_seconds(target.warm_up_s, _CONNECTIONS, publish)
        with target.meter() as meter:
            moved = await load.for_seconds(seconds, _CONNECTIONS, publish)
    return {"rest_publish": meter.rate(moved)}


async def rest_pull(target: Target, seconds: float) -> dict[str, Measurement]:
    """Do over 4 connections what the plain pull does; the backlog is published over gRPC."""
    await target.client.set_up()
    await publish_many(target, pulling.BACKLOG)
    body = rest_requests.pull(pulling.BATCH)
    async with RestClient(target.server.address, _CONNECTIONS) as client:

        async def exchange() -> int:
            ack_ids = await client.pull(body)
            await client.acknowledge(ack_ids)
            return len(ack_ids)

        return {"rest_pull": await pulling.drain_by(target, exchange, _CONNECTIONS)}
