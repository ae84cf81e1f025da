"""Plain tables for people, JSON lines for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, has_head: bool = True
) -> None:
    """Print rows under the names of their columns, as wide as their texts are."""
    texts = [[_one_line(cell) for cell in row] for row in rows]
    head = [list(columns)] if has_head else []
    widths = [max(map(len, column)) for column in zip(*head, *texts, strict=True)]
    for row in head + texts:
        line = "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        print(line.rstrip())


def print_json(values: Iterable[Any]) -> None:
    """Print one object a line."""
    for value in values:
        print(json.dumps(value, ensure_ascii=False), flush=True)


def _one_line(cell: object) -> str:
    text = "" if cell is None else str(cell)
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


class Progress:
    """A line on a terminal that is written over; nothing where stderr is none."""

    def __init__(self, what: str, total: int, stream: TextIO | None = None) -> None:
        self._what, self._total, self._done = what, total, 0
        self._stream = sys.stderr if stream is None else stream
        self._is_shown = self._stream.isatty()

    def add(self, count: int) -> None:
        """Say that more is done."""
        self._done += count
        if self._is_shown:
            self._stream.write(f"\r{self._what} {self._done} of {self._total}")
            self._stream.flush()

    def end(self) -> None:
        """Leave the line."""
        if self._is_shown and self._done:
            self._stream.write("\n")

    def __repr__(self) -> str:
        return f"<Progress {self._done} of {self._total}>"
