"""How soon the server answers, and what it holds then."""

from scripts.bench.measurement import Measurement
from scripts.bench.target import Target


async def start(target: Target, seconds: float) -> dict[str, Measurement]:
    """Read what the start has shown, s from spawn to answer and MB."""
    return {
        "start": Measurement(target.server.ready_s),
        "memory": Measurement(target.rss_bytes() / 1e6),
    }
