"""What came of a suite's tests, read from the report of its own runner."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True)
class Result:
    """One test. `text` is why it failed or was skipped."""

    name: str
    outcome: Outcome
    seconds: float
    text: str = ""


def words(name: str) -> str:
    """Return one spelling of a test's name for all languages: lower-case words."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_", " ", name.replace("'", ""))
    return spaced.lower().removeprefix("test ").removesuffix("()").strip()


def from_junit(folder: Path) -> list[Result]:
    """Return the results of every JUnit file of a folder."""
    cases = (
        case
        for path in sorted(folder.glob("*.xml"))
        for case in ElementTree.parse(path).iter("testcase")
    )
    return [_from_case(case) for case in cases]


def _from_case(case: ElementTree.Element) -> Result:
    name, seconds = words(case.get("name", "?")), float(case.get("time", "0"))
    for tag in ("failure", "error"):
        if (element := case.find(tag)) is not None:
            return Result(name, "failed", seconds, _text(element))
    if (element := case.find("skipped")) is not None:
        return Result(name, "skipped", seconds, _text(element))
    return Result(name, "passed", seconds)


def _text(element: ElementTree.Element) -> str:
    return (element.get("message") or element.text or "").strip()


def from_go(lines: Iterator[str]) -> list[Result]:
    """Return the results in the output of `go test -json`."""
    output: dict[str, list[str]] = {}
    results = []
    for line in lines:
        event = json.loads(line) if line.startswith("{") else {}
        name, action = event.get("Test"), event.get("Action")
        if name is None:
            continue
        if action == "output":
            output.setdefault(name, []).append(event["Output"])
        elif action in ("pass", "fail", "skip"):
            results.append(_from_event(event, output.get(name, [])))
    return results


_GO_OUTCOMES: dict[str, Outcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}


def _from_event(event: dict[str, str], output: list[str]) -> Result:
    outcome = _GO_OUTCOMES[event["Action"]]
    said = [line.strip() for line in output if not re.match(r"\s*(===|---)", line)]
    text = "" if outcome == "passed" else "\n".join(said)
    return Result(words(event["Test"]), outcome, float(event["Elapsed"]), text)
