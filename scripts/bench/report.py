"""What is printed: the table with its ratios, the comparison of two checkouts, the raw numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from scripts.bench.figures import FIGURES, Figure, Goal
from scripts.bench.measurement import Measurement
from scripts.bench.programs import Kind
from scripts.bench.results import Results

NAMES: dict[Kind, str] = {
    "ours": "this emulator",
    "other": "the other",
    "google": "Google's",
    "echo": "bare echo",
}
_BESIDE: tuple[Kind, ...] = ("google", "echo")
_NONE = "-"
_BUSY_CLIENT_CORES = 0.9
_BUSY_MARK = "*"
FOOTNOTES = (
    "CPU µs: the server's microseconds per message; ×: this emulator's value ÷ the other's.",
    "CPU: plain ÷ this: the CPU time per message of the plain pull, divided by this line's.",
    f"{_BUSY_MARK}: the client was busy with {_BUSY_CLIENT_CORES} cores or more, "
    "so the server may do better than this.",
)

Table = tuple[list[str], list[list[str]]]
"""Head and lines."""


def overview(results: Results) -> Table:
    """Build this emulator's figures beside Google's and the echo's, with ratios and goals."""
    head = ["figure", "unit", NAMES["ours"], "CPU µs"]
    for kind in _BESIDE:
        head += [NAMES[kind], "CPU µs", f"× {NAMES[kind]}"]
    head += ["CPU: plain ÷ this", "goal"]
    return head, [_overview_line(figure, results) for figure in _measured(results)]


def comparison(results: Results) -> Table:
    """Build this checkout's figures beside another's, with ratios of value and CPU."""
    head = ["figure", "unit", NAMES["ours"], "CPU µs", NAMES["other"], "CPU µs"]
    head += ["× the other", "CPU × the other"]
    return head, [_comparison_line(figure, results) for figure in _measured(results)]


def raw(results: Results, machine: list[str]) -> dict[str, Any]:
    """Build all samples, as JSON takes them."""
    return {
        "machine": machine,
        "figures": {
            figure.key: {
                "unit": figure.unit,
                **{kind: _raw_samples(results, figure, kind) for kind in NAMES},
            }
            for figure in _measured(results)
        },
        "failures": [
            {"row": failure.row, "server": failure.kind, "why": failure.why}
            for failure in results.failures
        ],
    }


def failures(results: Results) -> list[str]:
    """Return a line for every row that failed."""
    return [
        f"failed: {failure.row} on {NAMES[failure.kind]}: {failure.why}"
        for failure in results.failures
    ]


def _measured(results: Results) -> list[Figure]:
    return [
        figure for figure in FIGURES if any(results.samples(figure.key, kind) for kind in NAMES)
    ]


def _overview_line(figure: Figure, results: Results) -> list[str]:
    ours = results.median(figure.key, "ours")
    line = [figure.label, figure.unit, *_value_cells(ours)]
    for kind in _BESIDE:
        other = results.median(figure.key, kind)
        line += [*_value_cells(other), _ratio(ours, other)]
    goals = "; ".join(_goal(figure, goal, results) for goal in figure.goals)
    return [*line, _plain_cell(figure, results), goals]


def _comparison_line(figure: Figure, results: Results) -> list[str]:
    ours = results.median(figure.key, "ours")
    other = results.median(figure.key, "other")
    cpu = results.cpu_ratio(figure.key)
    cells = [*_value_cells(ours), *_value_cells(other), _ratio(ours, other)]
    cells.append(_NONE if cpu is None else number(cpu))
    return [figure.label, figure.unit, *cells]


def _value_cells(measurement: Measurement | None) -> Sequence[str]:
    if measurement is None:
        return _NONE, _NONE
    is_busy = (measurement.client_cores or 0) >= _BUSY_CLIENT_CORES
    mark = _BUSY_MARK if is_busy else ""
    cpu = _NONE if measurement.cpu_us is None else number(measurement.cpu_us)
    return number(measurement.value) + mark, cpu


def _ratio(ours: Measurement | None, other: Measurement | None) -> str:
    return number(ours.value / other.value) if ours and other and other.value else _NONE


def number(value: float) -> str:
    """Write a number with three significant digits and no exponent."""
    if not value:
        return "0"
    decimals = 2 - math.floor(math.log10(abs(value)))
    return f"{round(value, decimals):,.{max(0, decimals)}f}"


def _goal(figure: Figure, goal: Goal, results: Results) -> str:
    sign = "≥" if figure.is_more_better else "≤"
    factor = f"1/{1 / goal.factor:g}" if goal.factor < 0.1 else f"{goal.factor:g}"
    text = f"{sign} {factor}"
    if goal.against == "plain":
        return _plain_goal(text, figure, goal, results)
    if goal.against != "nothing":
        text += f" × {NAMES[goal.against]}"
    return text + _verdict(figure, goal, results)


def _plain_goal(text: str, figure: Figure, goal: Goal, results: Results) -> str:
    ratio = _plain_ratio(figure, results)
    verdict = "" if ratio is None else " ✓" if ratio >= goal.factor else " ✗"
    return f"{text} × plain{verdict}"


def _plain_ratio(figure: Figure, results: Results) -> float | None:
    return results.plain_cpu_ratio(figure.plain, figure.key) if figure.plain else None


def _plain_cell(figure: Figure, results: Results) -> str:
    ratio = _plain_ratio(figure, results)
    return _NONE if ratio is None else number(ratio)


def _verdict(figure: Figure, goal: Goal, results: Results) -> str:
    ours = results.median(figure.key, "ours")
    other = 1.0
    if goal.against == "google" or goal.against == "echo":
        measured = results.median(figure.key, goal.against)
        other = measured.value if measured else 0.0
    if ours is None or not other:
        return ""
    return " ✓" if figure.is_reached(goal, ours.value, other) else " ✗"


def _raw_samples(results: Results, figure: Figure, kind: Kind) -> list[dict[str, float | None]]:
    return [
        {
            "value": sample.value,
            "cpu_us": sample.cpu_us,
            "client_cores": sample.client_cores,
        }
        for sample in results.samples(figure.key, kind)
    ]
