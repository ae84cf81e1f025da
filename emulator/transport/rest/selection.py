"""Partial answers: the `fields` parameter (RST-30), such as `topics(name,labels),nextPageToken`."""

from __future__ import annotations

import re
from typing import Any

from emulator.engine.values.errors import InvalidArgument
from emulator.transport.rest.json_fields import Descriptor, fields_of
from emulator.transport.rest.violations import refusal

#: By JSON name, or "*" for every field; None for all that is there.
Selection = dict[str, "Selection | None"]

_TOKEN = re.compile(r"[^,()/.\s]+|[,()/.]")
_DEEPEST = 20


def parse(text: str, descriptor: Descriptor) -> Selection | None:
    """Read the parameter; None, for everything, if it is empty.

    Raises INVALID_ARGUMENT where it does not fit the answer, which `descriptor` describes.
    """
    if not text.strip():
        return None
    parser = _Parser(text)
    selection = parser.selection(descriptor, _DEEPEST)
    if parser.peek():
        raise parser.refusal()
    return selection


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)[::-1]

    def peek(self) -> str:
        return self._tokens[-1] if self._tokens else ""

    def _take(self, *wanted: str) -> bool:
        if self.peek() not in wanted or not self._tokens:
            return False
        self._tokens.pop()
        return True

    def refusal(self) -> InvalidArgument:
        """The platform's words."""
        return refusal(
            "Error expanding 'fields' parameter. Cannot find matching fields for path "
            f"'{self._text}'."
        )

    def selection(self, descriptor: Descriptor, depth: int) -> Selection:
        """Read items up to the end or a closing parenthesis."""
        selected: Selection = {}
        self._item(selected, descriptor, depth)
        while self._take(","):
            self._item(selected, descriptor, depth)
        return selected

    def _item(self, selected: Selection, descriptor: Descriptor, depth: int) -> None:
        if depth == 0 or self.peek() in ("", *",()/."):
            raise self.refusal()
        name, inner = self._resolve(self._tokens.pop(), descriptor)
        below: Selection | None = None
        if self._take("/", "."):
            below = {}
            self._item(below, inner, depth - 1)
        elif self._take("("):
            below = self.selection(inner, depth - 1)
            if not self._take(")"):
                raise self.refusal()
        _add(selected, name, below)

    def _resolve(self, name: str, descriptor: Descriptor) -> tuple[str, Descriptor]:
        """Return the name in JSON and the message below it, None where anything may be."""
        if descriptor is None or name == "*":
            return name, None
        field = fields_of(descriptor).get(name)
        if field is None:
            raise self.refusal()
        return field.json_name, None if field.is_map else field.message


def _add(selected: Selection, name: str, below: Selection | None) -> None:
    present = selected.get(name, below)
    if below is None or present is None:
        selected[name] = None
    else:
        for key, value in below.items():
            _add(present, key, value)
        selected[name] = present


def select(value: Any, selection: Selection | None) -> Any:
    """Return what is selected of an answer's JSON."""
    if selection is None:
        return value
    if isinstance(value, list):
        return [select(item, selection) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: select(item, selection.get(key, selection.get("*")))
        for key, item in value.items()
        if key in selection or "*" in selection
    }
