"""All rows by name, with the servers each is for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from scripts.bench.measurement import Measurement
from scripts.bench.programs import Kind
from scripts.bench.rows import (
    backlog,
    endurance,
    idle,
    latency,
    properties,
    publishing,
    pulling,
    rest,
    schemas,
    starting,
    streaming,
)
from scripts.bench.target import Target

Run = Callable[[Target, float], Awaitable[dict[str, Measurement]]]
"""Measures a fresh server, rates over so many seconds; returns values by figure."""

_EMULATORS: frozenset[Kind] = frozenset(("ours", "other", "google"))
_OURS: frozenset[Kind] = frozenset(("ours", "other"))
_ECHO: frozenset[Kind] = frozenset(("echo",))


@dataclass(frozen=True)
class Row:
    """Something to measure, on servers of some kinds."""

    name: str
    run: Run
    kinds: frozenset[Kind] = _EMULATORS
    rounds: int | None = None
    """Fixed number of rounds, for rows that are too quick or too long for the usual one."""
    is_soak: bool = False
    limit_s: float = 120.0
    """After so long a row is taken to hang."""


ROWS = (
    Row("start", starting.start, rounds=5),
    Row("publish_single", publishing.publish_single, kinds=_EMULATORS | _ECHO),
    Row("round_trip", latency.round_trip, kinds=_EMULATORS | _ECHO),
    Row("publish_batch", publishing.publish_batch),
    Row("pull", pulling.pull),
    # Google's emulator ignores filters.
    Row("filtered", properties.filtered, kinds=_OURS),
    Row("ordered_10", properties.few_keys),
    Row("ordered_1000", properties.many_keys),
    Row("exactly_once", properties.exactly_once),
    Row("rest_publish", rest.rest_publish),
    Row("rest_pull", rest.rest_pull),
    Row("schema", schemas.schema),
    Row("delivery", latency.delivery),
    Row("delivery", latency.echo_delivery, kinds=_ECHO),
    Row("one_stream", streaming.one_stream),
    Row("five_streams", streaming.five_streams),
    Row("backlog", backlog.backlog, kinds=_OURS, rounds=1, limit_s=300.0),
    Row("idle", idle.idle, rounds=1),
    Row("runs", endurance.settled_memory, kinds=_OURS, rounds=1, is_soak=True, limit_s=300.0),
    Row(
        "extensions", endurance.extended_leases, kinds=_OURS, rounds=1, is_soak=True, limit_s=300.0
    ),
)
NAMES = tuple(dict.fromkeys(row.name for row in ROWS))
