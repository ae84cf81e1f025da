"""Terraform's language, as far as resources need it."""

from __future__ import annotations

import re
from typing import Any

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


class Reference(str):
    """An expression, which is written as it is."""

    __slots__ = ()


def text(value: str) -> str:
    """Quote a text: `${` and `%{` would begin a template."""
    escaped = "".join(_escaped(each) for each in value)
    return '"' + escaped.replace("${", "$${").replace("%{", "%%{") + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character < " " or character == "\x7f":
        return f"\\u{ord(character):04x}"
    return character


def expression(value: Any) -> str:
    """Write a scalar, a list or a map on one line."""
    if isinstance(value, Reference):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        items = ", ".join(f"{text(key)} = {expression(item)}" for key, item in value.items())
        return f"{{ {items} }}" if items else "{}"
    if isinstance(value, list):
        return f"[{', '.join(expression(item) for item in value)}]"
    return text(value)


class Label:
    """Names of resources for Terraform, each used once."""

    def __init__(self) -> None:
        self._used: set[tuple[str, str]] = set()

    def of(self, kind: str, name: str) -> str:
        """Return a label made of a name."""
        label = _UNSAFE.sub("_", name)
        number = 1
        while (kind, label) in self._used:
            number += 1
            label = f"{_UNSAFE.sub('_', name)}_{number}"
        self._used.add((kind, label))
        return label

    def __repr__(self) -> str:
        return f"<Label {len(self._used)} used>"


def block(head: str, body: list[str]) -> list[str]:
    """A block of lines, indented."""
    if not body:
        return [f"{head} {{}}"]
    return [f"{head} {{", *(f"  {line}" if line else "" for line in body), "}"]
