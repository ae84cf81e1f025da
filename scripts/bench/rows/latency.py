"""How long one message takes when nothing else goes on."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable

from scripts.bench import requests, wire
from scripts.bench.client import Stream
from scripts.bench.measurement import Measurement
from scripts.bench.target import Target

_WARM_UP_S = 1.0


async def delivery(target: Target, seconds: float) -> dict[str, Measurement]:
    """Publish one message, wait for it on the open stream, acknowledge it; then the next."""
    await target.client.set_up()
    stream = await target.client.open_stream(requests.open_stream())
    request = requests.publish(1)

    async def exchange() -> float:
        began = time.perf_counter()
        call = target.client.publish(request)
        ack_ids = await _next_ack_ids(stream)
        latency_s = time.perf_counter() - began
        await call
        await stream.write(requests.acknowledge_on_stream(ack_ids))
        return latency_s

    return await _latencies(target, seconds, "delivery", exchange)


async def echo_delivery(target: Target, seconds: float) -> dict[str, Measurement]:
    """Send one message on the open stream and wait for it to come back."""
    request = requests.publish(1)
    stream = await target.client.open_stream(request)
    await stream.read()

    async def exchange() -> float:
        began = time.perf_counter()
        await stream.write(request)
        await stream.read()
        return time.perf_counter() - began

    return await _latencies(target, seconds, "delivery", exchange)


async def round_trip(target: Target, seconds: float) -> dict[str, Measurement]:
    """Publish one message, wait for the answer; then the next."""
    await target.client.set_up()
    request = requests.publish(1)

    async def exchange() -> float:
        began = time.perf_counter()
        await target.client.publish(request)
        return time.perf_counter() - began

    return await _latencies(target, seconds, "round_trip", exchange)


async def _latencies(
    target: Target, seconds: float, figure: str, exchange: Callable[[], Awaitable[float]]
) -> dict[str, Measurement]:
    """Repeat the exchange, which returns seconds; return its percentiles in ms."""
    warm_at = time.monotonic() + _WARM_UP_S
    while time.monotonic() < warm_at:
        await exchange()
    latencies_s = []
    end = time.monotonic() + seconds
    with target.meter() as meter:
        while time.monotonic() < end:
            latencies_s.append(await exchange())
    percentiles_s = statistics.quantiles(latencies_s, n=100, method="inclusive")
    count = len(latencies_s)
    return {
        f"{figure}_p50": meter.value(percentiles_s[49] * 1e3, count),
        f"{figure}_p99": meter.value(percentiles_s[98] * 1e3, count),
    }


async def _next_ack_ids(stream: Stream) -> list[bytes]:
    """Return the ack ids of the next response that has messages."""
    while True:
        if ack_ids := wire.sized_ack_ids(await stream.read()):
            return ack_ids
