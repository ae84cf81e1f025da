"""The results as tables: one line a language for the terminal, one line a test for the docs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from scripts.clients.results import Outcome
from scripts.clients.runs import Run

_SIGNS: dict[Outcome, str] = {"passed": "✓", "failed": "✗", "skipped": "–"}
_BEGIN = "<!-- made by make clients-table -->"
_END = "<!-- end of what make clients-table made -->"


def summary(runs: list[Run]) -> Iterator[str]:
    """Yield the lines of the table that `make clients` prints."""
    yield f"{'language':<9}{'client':<11}{'passed':>7}{'failed':>7}{'skipped':>8}{'seconds':>9}"
    for run in runs:
        title, version = run.language.title, run.language.client_version()
        if run.is_skipped:
            yield f"{title:<9}{version:<11}{'skipped, ' + run.why_not}"
            continue
        counts = f"{run.count('passed'):>7}{run.count('failed'):>7}{run.count('skipped'):>8}"
        yield f"{title:<9}{version:<11}{counts}{run.seconds:>9.1f}"


def total(runs: list[Run]) -> str:
    """Return the closing line that test runners end with."""
    broken = sum(bool(run.why_not) and not run.is_skipped for run in runs)
    passed, failed = (sum(run.count(outcome) for run in runs) for outcome in ("passed", "failed"))
    skipped = sum(run.count("skipped") for run in runs) + sum(run.is_skipped for run in runs)
    return f"{passed} passed, {failed + broken} failed, {skipped} skipped"


def write(page: Path, ours: list[Run], google: list[Run], google_version: str) -> None:
    """Replace the part of a page that an earlier call has written."""
    text = page.read_text()
    head, begin, rest = text.partition(_BEGIN)
    _, end, tail = rest.partition(_END)
    assert begin, f"{page} has no line {_BEGIN!r}"
    assert end, f"{page} has no line {_END!r}"
    table = "\n".join(_matrix(ours, google, google_version))
    page.write_text(f"{head}{_BEGIN}\n\n{table}\n\n{_END}{tail}")


def _matrix(ours: list[Run], google: list[Run], google_version: str) -> Iterator[str]:
    clients = ", ".join(f"{run.language.title} {run.language.client_version()}" for run in ours)
    yield f"Clients: {clients}. In each cell: this emulator, then Google's {google_version}."
    yield "✓ passed, ✗ failed, – skipped because the server says that it has no such feature,"
    yield "· not in this suite."
    yield ""
    yield f"| test | {' | '.join(run.language.title for run in ours)} |"
    yield "|---" * (len(ours) + 1) + "|"
    for name in _names([*ours, *google]):
        cells = (
            f"{_sign(here, name)} {_sign(there, name)}"
            for here, there in zip(ours, google, strict=True)
        )
        yield f"| {name} | {' | '.join(cells)} |"


def _names(runs: Iterable[Run]) -> list[str]:
    return sorted({result.name for run in runs for result in run.results})


def _sign(run: Run, name: str) -> str:
    return next((_SIGNS[each.outcome] for each in run.results if each.name == name), "·")
