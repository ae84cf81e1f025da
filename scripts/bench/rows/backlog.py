"""A backlog of 1,000,000: what a message costs in CPU and memory, and whether the loop pauses."""

from scripts.bench import requests
from scripts.bench.measurement import Measurement, Meter
from scripts.bench.prober import probing
from scripts.bench.rows.publishing import publish_many
from scripts.bench.rows.pulling import pull_and_ack
from scripts.bench.target import Target

_SMALL = 10_000
_LARGE = 1_000_000
_SAMPLE = 100_000
"""Messages over which CPU is taken: at either end of the large backlog, and in small ones."""
_WORKERS = 2
"""Few, so that a probe waits for the loop and not behind a queue of calls."""


async def backlog(target: Target, seconds: float) -> dict[str, Measurement]:
    """Publish and pull around backlogs of 10,000; then grow one of 1,000,000 and drain it."""
    await target.client.set_up()
    await _small_backlogs(target, _SAMPLE)  # warm-up
    small_us = await _small_backlogs(target, _SAMPLE)
    before_bytes = target.rss_bytes()
    async with probing(target.server) as waits:
        await publish_many(target, _LARGE - _SAMPLE, _WORKERS)
        with target.meter() as publishing:
            await publish_many(target, _SAMPLE, _WORKERS)
        grown_bytes = target.rss_bytes() - before_bytes
        with target.meter() as pulling:
            await pull_and_ack(target, _SAMPLE, _WORKERS)
        await pull_and_ack(target, _LARGE - _SAMPLE, _WORKERS)
    large_us = publishing.cpu_us(_SAMPLE) + pulling.cpu_us(_SAMPLE)
    return {
        "backlog_cpu": Measurement(large_us / small_us, cpu_us=large_us),
        "backlog_memory": Measurement(grown_bytes / _LARGE - requests.PAYLOAD_BYTES),
        "backlog_pause": Measurement(waits.longest_ms),
        "backlog_pause_cpu": Measurement(waits.longest_cpu_ms),
    }


async def _small_backlogs(target: Target, messages: int) -> float:
    """Fill and empty a small backlog again and again; return the CPU µs per message."""
    meter: Meter
    with target.meter() as meter:
        for _ in range(messages // _SMALL):
            await publish_many(target, _SMALL, _WORKERS)
            await pull_and_ack(target, _SMALL, _WORKERS)
    return meter.cpu_us(messages)
