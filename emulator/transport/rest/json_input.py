"""Request messages from JSON text."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from google.protobuf import json_format
from google.protobuf.message import Message

from emulator.api.pool import POOL
from emulator.engine.values.errors import InvalidArgument
from emulator.transport.rest.violations import refusal

_SNIPPET_CHARACTERS = 30


def parse(body: bytes) -> dict[str, Any]:
    """Return the object that a body is; nothing but white space is an empty one (RST-14)."""
    if not body.strip():
        return {}
    try:
        value = json.loads(body.decode(), parse_constant=_refuse_constant)
        if b"\\u" in body:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise malformed(_located(error)) from error
    except UnicodeError as error:
        raise malformed("Text must be UTF-8.") from error
    except (ValueError, RecursionError) as error:
        raise malformed("Unable to parse number or nested too deeply.") from error
    if not isinstance(value, dict):
        raise malformed('Unknown name "": Root element must be a message.')
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _located(error: json.JSONDecodeError) -> str:
    """What is wrong, and a line that points at the place."""
    before = error.doc[max(error.pos - _SNIPPET_CHARACTERS, 0) : error.pos].rpartition("\n")[2]
    after = error.doc[error.pos : error.pos + _SNIPPET_CHARACTERS].partition("\n")[0]
    return f"{error.msg}.\n{before}{after}\n{' ' * len(before)}^"


def malformed(problem: str) -> InvalidArgument:
    """RST-28."""
    return refusal(f"Invalid JSON payload received. {problem}")


def fill(request: Message, value: dict[str, Any]) -> None:
    """Merge JSON that was checked into `request`."""
    try:
        json_format.ParseDict(value, request, descriptor_pool=POOL)
    except (json_format.ParseError, ValueError, TypeError, ArithmeticError) as error:
        raise malformed(str(error)) from error
    except RecursionError as error:
        raise malformed("Nested too deeply.") from error
