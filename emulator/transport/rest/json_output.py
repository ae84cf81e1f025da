"""JSON text from response messages (RST-20..26, RST-31)."""

from __future__ import annotations

import json
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message

from emulator.api.pool import POOL


def as_json(message: Message, *, has_enum_numbers: bool = False) -> dict[str, Any]:
    """Return what is set; 64-bit integers are texts, as is everything with a known spelling."""
    value: dict[str, Any] = json_format.MessageToDict(
        message, use_integers_for_enums=has_enum_numbers, descriptor_pool=POOL
    )
    return value


def encode(value: Any, *, is_pretty: bool = True) -> bytes:
    """Write JSON with two spaces and a last newline, or all on one line."""
    if is_pretty:
        text = json.dumps(value, ensure_ascii=False, indent=2)
    else:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # What comes from a request's target can have lone surrogates, which UTF-8 cannot.
    return f"{text}\n".encode("utf-8", "replace")
