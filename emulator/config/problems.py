"""What is wrong with a configuration, and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Place(NamedTuple):
    """A field of a file: `path` is like `projects.demo.topics[0].labels`; line 0 for no line."""

    file: str
    line: int = 0
    path: str = ""

    def at(self, line: int, step: str | int) -> Place:
        """The place of a key of this object, or of an item of this list."""
        if isinstance(step, int):
            path = f"{self.path}[{step}]"
        else:
            path = f"{self.path}.{step}" if self.path else step
        return Place(self.file, line, path)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.path}" if self.path else where


class Problem(NamedTuple):
    place: Place
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class ConfigError(Exception):
    """Nothing was changed, unless a problem says so: one line for each."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)
