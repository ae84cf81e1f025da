"""Durations: protobuf's, ours in whole microseconds, and the words that errors use."""

from __future__ import annotations

from emulator.api.wkt import Duration, Timestamp

MILLISECOND_US = 1_000
SECOND_US = 1_000_000


def from_seconds(seconds: int) -> Duration:
    return Duration(seconds=seconds)


def to_us(duration: Duration) -> int:
    """Microseconds in `duration`; finer parts are cut off."""
    return int(duration.seconds) * SECOND_US + int(duration.nanos) // 1_000


def total_ns(duration: Duration) -> int:
    """Nanoseconds in `duration`, exactly."""
    return int(duration.seconds) * 1_000_000_000 + int(duration.nanos)


def to_timestamp(time_us: int) -> Timestamp:
    seconds, micros = divmod(time_us, SECOND_US)
    return Timestamp(seconds=seconds, nanos=micros * 1_000)


def timestamp_us(timestamp: Timestamp) -> int:
    """Microseconds since 1970, rounded up: what came before the timestamp stays before it."""
    return int(timestamp.seconds) * SECOND_US - int(-timestamp.nanos // 1_000)


def text(duration: Duration) -> str:
    """Spell a duration as the service's errors do: `744h`, `9m59.5s`, `0s` (ERR-93)."""
    nanos = total_ns(duration)
    sign, nanos = ("-", -nanos) if nanos < 0 else ("", nanos)
    seconds, fraction = divmod(nanos, 1_000_000_000)
    hours, seconds = divmod(seconds, 3_600)
    minutes, seconds = divmod(seconds, 60)
    parts = [f"{hours}h"] if hours else []
    parts += [f"{minutes}m"] if minutes else []
    if seconds or fraction or not parts:
        decimals = f".{fraction:09d}".rstrip("0") if fraction else ""
        parts.append(f"{seconds}{decimals}s")
    return sign + "".join(parts)
