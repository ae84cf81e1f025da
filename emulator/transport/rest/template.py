"""Path templates of `google.api.http`: `/v1/{topic=projects/*/topics/*}:publish`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

_VARIABLE = re.compile(r"\{([^=}]+)(?:=([^}]+))?\}")
#: An escaped slash is part of its segment and stays escaped, as google/api/http.proto demands.
_SLASH = re.compile(r"(%2[Ff])")


class Path(NamedTuple):
    """A request's path, decoded once (RST-12); `verb` is what follows the last colon, or ""."""

    segments: tuple[str, ...]
    verb: str


def parse_path(raw: str) -> Path:
    """Split the path of a request target."""
    *parents, last = (_decoded(segment) for segment in raw.removeprefix("/").split("/"))
    leaf, colon, verb = last.rpartition(":")
    return Path((*parents, leaf), verb) if colon else Path((*parents, last), "")


def _decoded(segment: str) -> str:
    parts = _SLASH.split(segment)
    parts[::2] = (
        # surrogateescape: bytes beyond ASCII that the client did not escape.
        unquote_to_bytes(part.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")
        for part in parts[::2]
    )
    return "".join(parts)


class Variable(NamedTuple):
    """The segments from `start` up to `end` are the value of the field that `field` leads to."""

    field: tuple[str, ...]
    start: int
    end: int


class Template(NamedTuple):
    """A segment that is None stands for any one segment that is not empty."""

    segments: tuple[str | None, ...]
    variables: tuple[Variable, ...]
    verb: str

    @property
    def shape(self) -> tuple[int, str]:
        """What a path must share with the template to be worth a closer look."""
        return len(self.segments), self.verb

    def match(self, segments: Sequence[str]) -> dict[tuple[str, ...], str] | None:
        """Return the variables' values, or None if the path, of the same shape, is another."""
        for wanted, given in zip(self.segments, segments, strict=True):
            if (wanted is None and not given) or (wanted is not None and wanted != given):
                return None
        return {each.field: "/".join(segments[each.start : each.end]) for each in self.variables}


def parse_template(text: str) -> Template:
    """Read a template of the interface files; `**` and text beside a variable do not occur."""
    variables: list[Variable] = []
    pattern = text
    while found := _VARIABLE.search(pattern):
        name, inner = found[1], found[2] or "*"
        start = pattern.count("/", 1, found.start())
        variables.append(Variable(tuple(name.split(".")), start, start + inner.count("/") + 1))
        pattern = pattern[: found.start()] + inner + pattern[found.end() :]
    path, _, verb = pattern.partition(":")
    segments = tuple(None if each == "*" else each for each in path.strip("/").split("/"))
    return Template(segments, tuple(variables), verb)
