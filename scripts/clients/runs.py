"""One suite against one server."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scripts.clients import processes
from scripts.clients.languages import REPORTS, Language
from scripts.clients.results import Outcome, Result


@dataclass
class Run:
    """What came of a suite. `why_not` says why it did not run or was cut short."""

    language: Language
    server: str
    results: list[Result] = field(default_factory=list)
    seconds: float = 0.0
    why_not: str = ""
    is_skipped: bool = False

    def count(self, outcome: Outcome) -> int:
        """Return how many tests have this outcome."""
        return sum(result.outcome == outcome for result in self.results)

    @property
    def is_good(self) -> bool:
        return self.is_skipped or (not self.why_not and self.count("failed") == 0)


def run(language: Language, server: str, endpoint: str) -> Run:
    """Run a suite against `endpoint`; `server` names it in reports."""
    outcome = Run(language, server)
    if missing := language.missing():
        outcome.why_not, outcome.is_skipped = f"not installed: {', '.join(missing)}", True
        return outcome
    try:
        language.prepare()
    except (OSError, subprocess.CalledProcessError) as error:
        outcome.why_not = f"cannot be set up: {error}"
        return outcome
    with processes.faults(endpoint) as faults:
        _run(outcome, {"ENDPOINT": endpoint, "PUBSUB_EMULATOR_HOST": endpoint, "FAULTS": faults})
    return outcome


def _run(outcome: Run, environment: dict[str, str]) -> None:
    language = outcome.language
    report = REPORTS / outcome.server / language.name
    shutil.rmtree(report, ignore_errors=True)
    report.mkdir(parents=True)
    output = report / "output.txt"
    began = time.monotonic()
    code = 0
    try:
        command = language.run(language.folder, report)
        code = processes.run_suite(command, language.folder, environment, output)
    except processes.BrokenError as error:
        outcome.why_not = str(error)
    outcome.seconds = time.monotonic() - began
    if language.is_program:
        outcome.results = [_as_test(code, outcome.seconds, output)]
    else:
        outcome.results = language.read_report(report, output)
    if code != 0 and not outcome.count("failed") and not outcome.why_not:
        outcome.why_not = f"ended with {code}; see {output}"
    if not outcome.results and not outcome.why_not:
        outcome.why_not = f"no test ran; see {output}"


def _as_test(code: int, seconds: float, output: Path) -> Result:
    """Return the only test of a program, which is whether it ended well."""
    if code == 0:
        return Result("round trip", "passed", seconds)
    return Result("round trip", "failed", seconds, output.read_text(errors="replace")[-2_000:])


def failures(runs: list[Run]) -> Iterator[str]:
    """Yield a paragraph for each test that failed, and a line for each suite cut short."""
    for each in runs:
        title = each.language.title
        if each.why_not and not each.is_skipped:
            yield f"{title}: {each.why_not}"
        for result in each.results:
            if result.outcome == "failed":
                yield f"{title}, {result.name}:\n    " + result.text.replace("\n", "\n    ")
