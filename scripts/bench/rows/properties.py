"""Unary pull and acknowledge from a subscription that filters, orders or delivers exactly once.

Each does what the plain pull does, so that its CPU per delivered message can be held against that.
"""

from scripts.bench import requests
from scripts.bench.measurement import Measurement
from scripts.bench.rows.publishing import BATCH, publish_in_turn, publish_many
from scripts.bench.rows.pulling import BACKLOG, drain
from scripts.bench.target import Target

_FEW_KEYS = 10
_MANY_KEYS = 1_000
_ORDERED_BATCH = 10
"""Messages of one key in a request: few, so that the keys lie mixed in the backlog."""


async def filtered(target: Target, seconds: float) -> dict[str, Measurement]:
    """Publish twice the backlog, of which the filter takes half."""
    await target.client.set_up(requests.FILTERED)
    await publish_in_turn(target, [requests.publish_halves(BATCH)], 2 * BACKLOG // BATCH)
    return {"filtered": await drain(target)}


async def few_keys(target: Target, seconds: float) -> dict[str, Measurement]:
    """Deliver in order the messages of 10 keys."""
    return {"ordered_10": await _ordered(target, _FEW_KEYS)}


async def many_keys(target: Target, seconds: float) -> dict[str, Measurement]:
    """Deliver in order the messages of 1,000 keys."""
    return {"ordered_1000": await _ordered(target, _MANY_KEYS)}


async def exactly_once(target: Target, seconds: float) -> dict[str, Measurement]:
    """Deliver exactly once: every acknowledgement is confirmed."""
    await target.client.set_up(requests.EXACTLY_ONCE)
    await publish_many(target, BACKLOG)
    return {"exactly_once": await drain(target)}


async def _ordered(target: Target, keys: int) -> Measurement:
    await target.client.set_up(requests.ORDERED)
    # A request may hold messages of one key only.
    made = [requests.publish(_ORDERED_BATCH, f"key-{number}") for number in range(keys)]
    await publish_in_turn(target, made, BACKLOG // _ORDERED_BATCH)
    return await drain(target)
