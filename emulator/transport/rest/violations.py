"""What is wrong with a request's JSON or query, in the platform's words (ERR-70..72).

Paths in texts are made of proto names: `messages[0].attributes[0].value`.
"""

from __future__ import annotations

import json
from typing import Any

from emulator.api import rpc, wkt
from emulator.engine.values.errors import InvalidArgument

#: More than this nobody reads, and a body of ten megabytes could cause millions.
_MOST = 50
_VALUE_CHARACTERS = 500


class Violations:
    """Collects what is wrong, in the order in which it is met."""

    def __init__(self) -> None:
        self._found: list[tuple[str, str]] = []

    def add(self, field: str, description: str) -> None:
        """Note what is wrong with `field`, which is a path or empty for the whole request.

        Raises INVALID_ARGUMENT when that was enough to tell.
        """
        self._found.append((field, description))
        if len(self._found) == _MOST:
            self.check()

    def unknown(self, name: str, at: str, problem: str = "Cannot find field.") -> None:
        """ERR-70: `name` stands in the object that is at `at`."""
        place = f" at '{at}'" if at else ""
        self.add(at, f'Invalid JSON payload received. Unknown name "{name}"{place}: {problem}')

    def wrong(self, at: str, kind: str, problem: str) -> None:
        """ERR-71 and ERR-72 with words of their own."""
        place = f" at '{at}'" if at else ""
        self.add(at, f"Invalid value{place} ({kind}), {problem}")

    def wrong_value(self, at: str, kind: str, value: Any) -> None:
        """ERR-72: `kind` is TYPE_INT32 and the like, or the url of a message type."""
        if isinstance(value, dict):
            self.wrong(at, kind, "Starting an object on a scalar field")
        elif isinstance(value, list):
            parent, _, name = at.rpartition(".")
            self.unknown(name, parent, "Proto field is not repeating, cannot start list.")
        else:
            self.wrong(at, kind, _shown(value))

    def check(self) -> None:
        """Raise INVALID_ARGUMENT if anything is wrong."""
        if self._found:
            raise _refusal(self._found)


def refusal(description: str) -> InvalidArgument:
    """One violation of the request as a whole."""
    return _refusal([("", description)])


def _refusal(found: list[tuple[str, str]]) -> InvalidArgument:
    bad = rpc.BadRequest()
    for field, description in found:
        bad.field_violations.add(field=field, description=description)
    detail = wkt.Any()
    detail.Pack(bad)
    return InvalidArgument("\n".join(description for _, description in found), [detail])


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _VALUE_CHARACTERS else f"{text[:_VALUE_CHARACTERS]}…"
