"""Unary pull and acknowledge, on a backlog published before."""

import math

from scripts.bench import load, requests, wire
from scripts.bench.measurement import Measurement
from scripts.bench.rows.publishing import publish_many
from scripts.bench.target import Target

BATCH = 100
WORKERS = 4
_WARM_UP_MESSAGES = 30_000
_MEASURED_MESSAGES = 80_000
BACKLOG = _WARM_UP_MESSAGES + _MEASURED_MESSAGES


async def pull(target: Target, seconds: float) -> dict[str, Measurement]:
    """Pull and acknowledge 100 messages a call, 4 callers, 80,000 messages in all.

    The work is fixed and not the time, so that the backlog is as deep for every server.
    """
    await target.client.set_up()
    await publish_many(target, BACKLOG)
    return {"pull": await drain(target)}


async def drain(target: Target) -> Measurement:
    """Empty a backlog of `BACKLOG` messages; all but the first 30,000 are measured."""
    return await drain_by(target, _exchange(target), WORKERS)


async def drain_by(target: Target, exchange: load.Operation, workers: int) -> Measurement:
    """Do as `drain` does, with exchanges that pull and acknowledge up to 100 messages."""
    await _take(_WARM_UP_MESSAGES, exchange, workers)
    with target.meter() as meter:
        await _take(_MEASURED_MESSAGES, exchange, workers)
    return meter.rate(_MEASURED_MESSAGES)


async def pull_and_ack(target: Target, messages: int, workers: int = WORKERS) -> None:
    """Pull and acknowledge so many messages of a backlog that holds them, 100 a call."""
    await _take(messages, _exchange(target), workers)


def _exchange(target: Target) -> load.Operation:
    request = requests.pull(BATCH)

    async def exchange() -> int:
        ack_ids = wire.sized_ack_ids(await target.client.pull(request))
        await target.client.acknowledge(requests.acknowledge(ack_ids))
        return len(ack_ids)

    return exchange


async def _take(messages: int, exchange: load.Operation, workers: int) -> None:
    rest = messages
    while rest > 0:
        # A server may return fewer than asked. Never more calls than full ones would take: a pull
        # from an empty backlog would wait.
        rest -= await load.for_times(math.ceil(rest / BATCH), workers, exchange)
