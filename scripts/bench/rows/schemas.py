"""Publish to a topic whose messages must fit an Avro schema of ten fields, in binary."""

import io
import json
import time
from typing import Any

import fastavro

from scripts.bench import load, requests
from scripts.bench.measurement import Measurement
from scripts.bench.rows.publishing import BATCH, BATCH_WORKERS
from scripts.bench.target import Target

_PLAIN_TOPIC = "projects/bench/topics/plain"
_DECODED = 20_000
_TYPES: list[Any] = [
    "string", "long", "double", "boolean", "int", ["null", "string"], "bytes",
    {"type": "enum", "name": "Kind", "symbols": ["A", "B"]},
    {"type": "array", "items": "string"}, "string",
]  # fmt: skip
_DEFINITION = {
    "type": "record",
    "name": "Event",
    "fields": [{"name": f"f{number}", "type": kind} for number, kind in enumerate(_TYPES)],
}
_VALUES = ["event", 2**40, 0.5, True, 42, "optional", b"raw", "B", ["one", "two"], "some more text"]


async def schema(target: Target, seconds: float) -> dict[str, Measurement]:
    """Publish 100 messages a call to a topic with a schema, and the same to one without."""
    client = target.client
    await client.create_schema(requests.create_schema(json.dumps(_DEFINITION)))
    await client.create_topic(requests.schema_topic(requests.TOPIC))
    await client.create_topic(requests.topic(_PLAIN_TOPIC))
    payload = _payload()
    plain = await _publish(target, seconds, _PLAIN_TOPIC, payload)
    checked = await _publish(target, seconds, requests.TOPIC, payload)
    measured = {"schema_plain": plain, "schema": checked}
    if plain.cpu_us and checked.cpu_us:
        check_us = checked.cpu_us - plain.cpu_us
        measured["schema_check"] = Measurement(check_us / _decoding_us(payload))
    return measured


async def _publish(target: Target, seconds: float, topic: str, payload: bytes) -> Measurement:
    request = requests.publish_to(topic, payload, BATCH)

    async def publish() -> int:
        await target.client.publish(request)
        return BATCH

    await load.for_seconds(target.warm_up_s, BATCH_WORKERS, publish)
    with target.meter() as meter:
        moved = await load.for_seconds(seconds, BATCH_WORKERS, publish)
    return meter.rate(moved)


def _payload() -> bytes:
    buffer = io.BytesIO()
    datum = {f"f{number}": value for number, value in enumerate(_VALUES)}
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(_DEFINITION), datum)
    return buffer.getvalue()


def _decoding_us(payload: bytes) -> float:
    """Return the CPU time that fastavro takes to decode a payload."""
    parsed = fastavro.parse_schema(_DEFINITION)
    start_s = time.process_time()
    for _ in range(_DECODED):
        fastavro.schemaless_reader(io.BytesIO(payload), parsed, None)
    return (time.process_time() - start_s) * 1e6 / _DECODED
