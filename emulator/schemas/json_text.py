"""Reads JSON with no leniency: one document, each key once, no NaN, in UTF-8 (AVR-07)."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from emulator.schemas.failures import BadPayload

_SHOWN_CHARACTERS = 40


def parse(payload: bytes) -> Any:
    """Return the value; raise BadPayload."""
    try:
        return json.loads(
            payload.decode(), object_pairs_hook=_object, parse_constant=_refuse_constant
        )
    except BadPayload:
        raise
    except (ValueError, RecursionError) as error:
        raise BadPayload(f"not JSON: {error}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise BadPayload(f"the key {snippet(key)} occurs twice")
            seen.add(key)
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise BadPayload(f"{name} is not JSON")


def check_text(text: str) -> None:
    """Raise BadPayload for half of a pair of surrogates, which is no text."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise BadPayload("a string has half a character") from error


def snippet(value: Any) -> str:
    """The beginning of a value, as errors show it."""
    try:
        text = json.dumps(value)
    except (ValueError, RecursionError):  # a number of thousands of digits
        return "a value that is too long to show"
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
