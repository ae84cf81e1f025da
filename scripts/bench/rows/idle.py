"""What a server that has nothing to do still takes."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from scripts.bench import load, requests
from scripts.bench.client import Client, Stream
from scripts.bench.measurement import Measurement
from scripts.bench.target import Target

_TOPICS = 500
_SUBSCRIPTIONS_EACH = 2
_STREAMS = 200
_CONNECTIONS = 10
_SETTLE_S = 3.0
_WATCH_S = 10.0
_CREATORS = 16


async def idle(target: Target, seconds: float) -> dict[str, Measurement]:
    """Watch 500 topics with 2 subscriptions each and 200 open streams; % of a core."""
    names = await _create_all(target)
    async with AsyncExitStack() as stack:
        clients = [Client(target.server.address) for _ in range(_CONNECTIONS)]
        for client in clients:
            stack.push_async_callback(client.close)
        streams = [
            await clients[index % _CONNECTIONS].open_stream(requests.open_stream(name))
            for index, name in enumerate(names[:_STREAMS])
        ]
        await asyncio.sleep(_SETTLE_S)
        with target.meter() as meter:
            await asyncio.sleep(_WATCH_S)
        await _check_open(streams)
    return {"idle": Measurement(meter.server_cpu_s / meter.elapsed_s * 100)}


async def _create_all(target: Target) -> list[str]:
    """Create topics and subscriptions; return the subscriptions' names."""
    names = [f"{requests.TOPIC}-{index}" for index in range(_TOPICS)]
    topics = iter(names)

    async def create() -> int:
        topic = next(topics)
        await target.client.create_topic(requests.topic(topic))
        for name in _subscriptions_of(topic):
            await target.client.create_subscription(requests.subscription(name, topic))
        return 1

    await load.for_times(_TOPICS, _CREATORS, create)
    return [name for topic in names for name in _subscriptions_of(topic)]


def _subscriptions_of(topic: str) -> list[str]:
    name = topic.replace("/topics/", "/subscriptions/")
    return [f"{name}-{number}" for number in range(_SUBSCRIPTIONS_EACH)]


async def _check_open(streams: list[Stream]) -> None:
    """Raise the error of a stream that has ended: it was not measured, then."""
    for stream in streams:
        if stream.has_ended():
            await stream.read()
