"""Delivery to open streams, published and acknowledged as fast as it goes."""

from __future__ import annotations

import asyncio

from scripts.bench import requests, wire
from scripts.bench.client import Stream
from scripts.bench.measurement import Measurement
from scripts.bench.target import Target

_BATCH = 100
_WINDOW_BATCHES = 40
"""Messages published and not yet delivered: 4,000, so that the backlog stays flat."""
_PUBLISHERS = 8
_FANOUT = 5
_WARM_UP_S = 1.0
"""Enough for Google's too: it delivers every 50 ms however warm it is."""


class NothingDeliveredError(Exception):
    """The streams stayed silent while they were measured."""


async def one_stream(target: Target, seconds: float) -> dict[str, Measurement]:
    """Publish to one subscription and take everything from one stream."""
    return {"one_stream": await _steady(target, seconds, [requests.SUBSCRIPTION])}


async def five_streams(target: Target, seconds: float) -> dict[str, Measurement]:
    """Do the same with five subscriptions of one topic, a stream each; deliveries are counted."""
    names = [f"{requests.SUBSCRIPTION}-{number}" for number in range(_FANOUT)]
    return {"five_streams": await _steady(target, seconds, names)}


async def _steady(target: Target, seconds: float, names: list[str]) -> Measurement:
    await target.client.create_topic(requests.topic())
    for name in names:
        await target.client.create_subscription(requests.subscription(name))
    flow = _Flow(target, len(names))
    streams = [await target.client.open_stream(requests.open_stream(name)) for name in names]
    async with asyncio.TaskGroup() as group:
        crew = [group.create_task(flow.publish()) for _ in range(_PUBLISHERS)]
        crew += [group.create_task(flow.consume(stream)) for stream in streams]
        measured = await flow.measure(seconds)
        for task in crew:
            task.cancel()
    return measured


class _Flow:
    """Publishes as fast as deliveries come in, and never more than a window ahead of them."""

    def __init__(self, target: Target, copies: int) -> None:
        self._target = target
        self._deliveries_per_batch = _BATCH * copies
        self._room = asyncio.Semaphore(_WINDOW_BATCHES)
        self._delivered = 0
        self._released_batches = 0

    async def publish(self) -> None:
        """Publish until cancelled."""
        request = requests.publish(_BATCH)
        while True:
            await self._room.acquire()
            await self._target.client.publish(request)

    async def consume(self, stream: Stream) -> None:
        """Acknowledge what comes until cancelled."""
        while True:
            ack_ids = wire.sized_ack_ids(await stream.read())
            if ack_ids:
                await stream.write(requests.acknowledge_on_stream(ack_ids))
                self._count(len(ack_ids))

    async def measure(self, seconds: float) -> Measurement:
        """Return the deliveries per second, once the server is warm."""
        await asyncio.sleep(_WARM_UP_S)
        before = self._delivered
        with self._target.meter() as meter:
            await asyncio.sleep(seconds)
            moved = self._delivered - before
        if not moved:
            raise NothingDeliveredError("no message was delivered")
        return meter.rate(moved)

    def _count(self, deliveries: int) -> None:
        self._delivered += deliveries
        while self._released_batches < self._delivered // self._deliveries_per_batch:
            self._released_batches += 1
            self._room.release()
