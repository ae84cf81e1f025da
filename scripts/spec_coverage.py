"""Compare the rules that are built with the rules that tests prove: `make check` runs it.

Fails if a finished rule that must be proved has no test, or if a test carries an id that does not
exist. The rules and their standing are in tests/spec_ids.toml, the marks in the tests' source.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "tests" / "spec_ids.toml"
SUITES = ROOT / "tests" / "clients"
"""The suites in other languages, or without this project's modules, say their ids in comments."""
_SUITE_FILES = ("python/*.py", "go/*.go", "java/**/*.java", "node/**/*.js")
_RANGE = re.compile(r"([A-Z]?)(\d+)\.\.\1(\d+)")


_COMMENT = re.compile(r"\s*(?://|#) @spec (.+)")


class Rules(NamedTuple):
    """Ids such as "PUB-21": those that need a test once finished, all others, the finished."""

    must: frozenset[str]
    wanted: frozenset[str]
    finished: frozenset[str]


class Carried(NamedTuple):
    """One id on one test, and where; `id` is None where the mark is not a plain text."""

    id: str | None
    place: str


class Report(NamedTuple):
    errors: list[str]
    notes: list[str]


def parse_rules(areas: Mapping[str, Mapping[str, list[str]]]) -> Rules:
    """Read the tables of spec_ids.toml; raise ValueError if they contradict each other."""
    must = frozenset(id for area, table in areas.items() for id in _ids(area, table["must"]))
    wanted = frozenset(id for area, table in areas.items() for id in _ids(area, table["wanted"]))
    finished: set[str] = set()
    for area, table in areas.items():
        for entry in table["finished"]:
            # A range stands for those of its numbers that exist, a single id for itself.
            ids = set(_expand(area, entry)) & (must | wanted)
            if not ids:
                raise ValueError(f"no such rule is known: {area}-{entry}")
            finished |= ids
    if must & wanted:
        raise ValueError(f"both must and wanted: {sorted(must & wanted)}")
    return Rules(must, wanted, frozenset(finished))


def _ids(area: str, entries: Iterable[str]) -> Iterator[str]:
    for entry in entries:
        yield from _expand(area, entry)


def _expand(area: str, entry: str) -> list[str]:
    """ "01..03" -> PUB-01, PUB-02, PUB-03; "T9..T10" -> RST-T9, RST-T10; "21" -> PUB-21."""
    found = _RANGE.fullmatch(entry)
    if found is None:
        return [f"{area}-{entry}"]
    letter, first, last = found.groups()
    width = len(first)
    return [f"{area}-{letter}{n:0{width}}" for n in range(int(first), int(last) + 1)]


def carried(source: str, name: str) -> Iterator[Carried]:
    """Yield the ids of every `spec(...)` and `pytest.mark.spec(...)` in a test file's source."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not _is_mark(node.func):
            continue
        for argument in node.args:
            value = argument.value if isinstance(argument, ast.Constant) else None
            yield Carried(value if isinstance(value, str) else None, f"{name}:{argument.lineno}")


def carried_in_comments(source: str, name: str) -> Iterator[Carried]:
    """Yield the ids of every comment `@spec A-01 A-02` in a file of a suite."""
    for number, line in enumerate(source.splitlines(), 1):
        if match := _COMMENT.fullmatch(line):
            for id in match[1].split():
                yield Carried(id, f"{name}:{number}")


def _is_mark(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute):
        return function.attr == "spec" and ast.unparse(function.value) == "pytest.mark"
    return isinstance(function, ast.Name) and function.id == "spec"


def compare(rules: Rules, marks: Iterable[Carried]) -> Report:
    """Return what is wrong, and what is only worth knowing."""
    errors = []
    proved: set[str] = set()
    for id, place in marks:
        if id is None:
            errors.append(f"{place}: write the ids of a spec mark out as plain texts")
        elif id not in rules.must | rules.wanted:
            errors.append(f"{place}: there is no rule {id}")
        else:
            proved.add(id)
    unproved = sorted(rules.finished - proved)
    errors += [f"{id} is finished, but no test carries it" for id in unproved if id in rules.must]
    wanted = [id for id in unproved if id in rules.wanted]
    notes = [f"wanted, without a test: {', '.join(wanted)}"] if wanted else []
    early = sorted(proved - rules.finished)
    notes += [f"tested, but not marked finished: {', '.join(early)}"] if early else []
    notes.append(
        f"{len(rules.finished) - len(unproved)} of {len(rules.finished)} finished rules have a test"
    )
    return Report(errors, notes)


def marks_of_tests() -> Iterator[Carried]:
    """Yield the marks of all tests."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if path != ROOT / "tests" / "spec.py":  # there the ids pass through
            yield from carried(path.read_text(), str(path.relative_to(ROOT)))
    for pattern in _SUITE_FILES:
        for path in sorted(SUITES.glob(pattern)):
            yield from carried_in_comments(path.read_text(), str(path.relative_to(ROOT)))


def main() -> int:
    rules = parse_rules(tomllib.loads(RULES.read_text()))
    report = compare(rules, marks_of_tests())
    for note in report.notes:
        print(f"spec: {note}")
    for error in report.errors:
        print(f"spec: {error}", file=sys.stderr)
    return 1 if report.errors else 0


if __name__ == "__main__":
    sys.exit(main())
