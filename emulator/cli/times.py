"""Times as people write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_AGO = re.compile(r"-?([0-9]+)(s|m|h|d)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def timestamp(text: str, now: datetime | None = None) -> str:
    """Return RFC 3339 for `start`, `now`, `10m` (ago) or a time with a zone; ValueError if not."""
    now = now or datetime.now(UTC)
    if text == "start":
        return "1970-01-01T00:00:00Z"
    if text == "now":
        return _written(now)
    ago = _AGO.fullmatch(text)
    if ago:
        return _written(now - timedelta(**{_UNITS[ago[2]]: int(ago[1])}))
    try:
        when = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time like 2024-01-31T12:00:00Z") from error
    if when.tzinfo is None:
        raise ValueError(f"{text!r} has no zone: write {text}Z for UTC")
    return _written(when.astimezone(UTC))


def _written(when: datetime) -> str:
    return when.replace(tzinfo=None).isoformat() + "Z"
