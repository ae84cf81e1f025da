"""The values of `--allow-origin` and `--allow-host`."""

from __future__ import annotations

import re

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\]|[^\s/?#@:\[\]]+)(:[0-9]{1,5})?", re.I)
_HOST = re.compile(r"(\*\.)?[^\s/?#@:*\[\],]+")


def origin(text: str) -> str:
    """Return an origin as browsers write it; ValueError for what is none."""
    text = text.strip()
    if text not in ("*", "null") and not _ORIGIN.fullmatch(text):
        raise ValueError(
            f"{text!r} is not an origin: https://app.example, http://10.0.0.7:3000, null, or * "
            "for every page"
        )
    return text


def host(text: str) -> str:
    """Return a name by which clients reach the server; ValueError for what is none."""
    text = text.strip()
    if text != "*" and not _HOST.fullmatch(text):
        raise ValueError(
            f"{text!r} is not a host name without a port: pubsub.example, *.example, or * for any"
        )
    return text
