"""Long runs: memory that must come back, and books that must not grow."""

from scripts.bench import load, requests, wire
from scripts.bench.measurement import Measurement
from scripts.bench.rows.publishing import publish_many
from scripts.bench.rows.pulling import pull_and_ack
from scripts.bench.target import Target

_RUNS = 3
_RUN_MESSAGES = 200_000
_LEASES = 1_000
_EXTENSIONS = 1_000
_EXTENDERS = 4
_DEADLINE_S = 600
_PULL_BATCH = 100


async def settled_memory(target: Target, seconds: float) -> dict[str, Measurement]:
    """Publish and acknowledge 200,000 messages three times; MB after each run.

    The first runs warm up pools and caches; growth from the second to the third is a leak.
    """
    await target.client.set_up()
    after_mb = []
    for _ in range(_RUNS):
        await publish_many(target, _RUN_MESSAGES)
        await pull_and_ack(target, _RUN_MESSAGES)
        after_mb.append(target.rss_bytes() / 1e6)
    return {
        "runs_memory": Measurement(after_mb[-1]),
        "runs_growth": Measurement(after_mb[-1] - after_mb[-2]),
    }


async def extended_leases(target: Target, seconds: float) -> dict[str, Measurement]:
    """Extend 1,000 leases 1,000 times each; MB that memory has grown in the second half."""
    await target.client.set_up()
    request = requests.modify_ack_deadline(await _lease_all(target), _DEADLINE_S)

    async def extend() -> int:
        await target.client.modify_ack_deadline(request)
        return _LEASES

    with target.meter() as meter:
        moved = await load.for_times(_EXTENSIONS // 2, _EXTENDERS, extend)
        half_bytes = target.rss_bytes()
        moved += await load.for_times(_EXTENSIONS // 2, _EXTENDERS, extend)
    return {
        "extensions": meter.rate(moved),
        "extensions_growth": Measurement((target.rss_bytes() - half_bytes) / 1e6),
    }


async def _lease_all(target: Target) -> list[bytes]:
    """Publish as many messages as leases are wanted; pull them all; return their ack ids."""
    await publish_many(target, _LEASES)
    ack_ids: list[bytes] = []
    while len(ack_ids) < _LEASES:
        ack_ids += wire.sized_ack_ids(await target.client.pull(requests.pull(_PULL_BATCH)))
    return ack_ids
