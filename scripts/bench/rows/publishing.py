"""Publish, on a topic with one subscription that nobody reads."""

import itertools
from collections.abc import Sequence

from scripts.bench import load, requests
from scripts.bench.measurement import Measurement
from scripts.bench.target import Target

COLD_S = 1.0
BATCH = 100
SINGLE_WORKERS = 32
BATCH_WORKERS = 8


async def publish_single(target: Target, seconds: float) -> dict[str, Measurement]:
    """Publish 1 message a call, 32 calls in flight."""
    return await _cold_and_warm(target, seconds, "publish_single", 1, SINGLE_WORKERS)


async def publish_batch(target: Target, seconds: float) -> dict[str, Measurement]:
    """Publish 100 messages a call, 8 calls in flight."""
    return await _cold_and_warm(target, seconds, "publish_batch", BATCH, BATCH_WORKERS)


async def publish_many(target: Target, messages: int, workers: int = BATCH_WORKERS) -> None:
    """Publish a backlog, 100 messages a call."""
    await publish_in_turn(target, [requests.publish(BATCH)], messages // BATCH, workers)


async def publish_in_turn(
    target: Target, made: Sequence[bytes], times: int, workers: int = BATCH_WORKERS
) -> None:
    """Make so many Publish calls, going through the requests again and again."""
    turns = itertools.cycle(made)

    async def publish() -> int:
        await target.client.publish(next(turns))
        return 1

    await load.for_times(times, workers, publish)


async def _cold_and_warm(
    target: Target, seconds: float, figure: str, batch: int, workers: int
) -> dict[str, Measurement]:
    await target.client.set_up()
    request = requests.publish(batch)

    async def publish() -> int:
        await target.client.publish(request)
        return batch

    with target.meter() as meter:
        moved = await load.for_seconds(COLD_S, workers, publish)
    cold = meter.rate(moved)
    await load.for_seconds(target.warm_up_s, workers, publish)
    with target.meter() as meter:
        moved = await load.for_seconds(seconds, workers, publish)
    return {f"{figure}_cold": cold, figure: meter.rate(moved)}
