"""What the benchmark makes of its samples."""

import pytest

from scripts.bench import report, table
from scripts.bench.catalogue import ROWS
from scripts.bench.figures import FIGURES
from scripts.bench.measurement import Measurement
from scripts.bench.programs import Kind
from scripts.bench.results import Failure, Results


def results(**figures: dict[Kind, list[Measurement]]) -> Results:
    made = Results()
    for key, kinds in figures.items():
        for kind, samples in kinds.items():
            for sample in samples:
                made.add(kind, {key: sample})
    return made


def test_the_median_of_the_rounds_is_shown_with_ratio_and_verdict() -> None:
    made = results(
        pull={
            "ours": [Measurement(value, cpu_us=5) for value in (90_000, 100_000, 990_000)],
            "google": [Measurement(50_000, cpu_us=40)],
        }
    )
    _, [line] = report.overview(made)
    assert line[2:7] == ["100,000", "5.00", "50,000", "40.0", "2.00"]
    assert line[-1] == "≥ 1.2 × Google's ✓"


@pytest.mark.parametrize(("ours_ms", "verdict"), [(1.0, "✓"), (2.0, "✗")])
def test_a_figure_of_which_less_is_better_must_stay_below_its_goal(
    ours_ms: float, verdict: str
) -> None:
    made = results(
        delivery_p50={"ours": [Measurement(ours_ms)], "google": [Measurement(50)]},
    )
    _, [line] = report.overview(made)
    assert line[-1] == f"≤ 1/40 × Google's {verdict}; ≤ 2 × bare echo"


def test_without_google_there_is_no_value_no_ratio_and_no_verdict() -> None:
    _, [line] = report.overview(results(one_stream={"ours": [Measurement(60_000)]}))
    assert line[4:] == ["-", "-", "-", "-", "-", "-", "-", "≥ 30 × Google's"]


def test_a_client_at_its_limit_is_marked() -> None:
    made = results(pull={"ours": [Measurement(100_000, client_cores=0.95)]})
    _, [line] = report.overview(made)
    assert line[2] == "100,000*"


def test_two_checkouts_are_compared_round_by_round() -> None:
    made = results(
        pull={
            "ours": [Measurement(1, cpu_us=cpu_us) for cpu_us in (11, 22, 60)],
            "other": [Measurement(1, cpu_us=cpu_us) for cpu_us in (10, 20, 30)],
        }
    )
    _, [line] = report.comparison(made)
    assert line[-1] == "1.10"


@pytest.mark.parametrize(("cpu_us", "cells"), [(20, ["0.600", "✓"]), (24, ["0.500", "✗"])])
def test_a_property_is_held_against_the_plain_pull_by_its_cpu(
    cpu_us: float, cells: list[str]
) -> None:
    made = results(
        pull={"ours": [Measurement(1, cpu_us=12)]},
        ordered_10={"ours": [Measurement(1, cpu_us=cpu_us)]},
    )
    _, [_, line] = report.overview(made)
    ratio, verdict = cells
    assert line[-2:] == [ratio, f"≥ 0.6 × plain {verdict}"]


def test_without_the_plain_pull_a_property_has_no_ratio_and_no_verdict() -> None:
    _, [line] = report.overview(results(ordered_10={"ours": [Measurement(1, cpu_us=12)]}))
    assert line[-2:] == ["-", "≥ 0.6 × plain"]


def test_failures_are_told() -> None:
    made = Results()
    made.failures.append(Failure("pull", "google", "UNAVAILABLE: gone"))
    assert report.failures(made) == ["failed: pull on Google's: UNAVAILABLE: gone"]
    assert report.raw(made, [])["failures"] == [
        {"row": "pull", "server": "google", "why": "UNAVAILABLE: gone"}
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.012345, "0.0123"), (1.005, "1.00"), (95.46, "95.5"), (123_456, "123,000")],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert report.number(value) == text


def test_tables_are_drawn() -> None:
    head, lines = ["a", "bb"], [["long", "1"]]
    assert table.as_text(head, lines) == "a     bb\n----  --\nlong   1"
    assert table.as_markdown(head, lines) == "| a | bb |\n| --- | ---: |\n| long | 1 |"


def test_figures_and_rows_are_named_once() -> None:
    keys = [figure.key for figure in FIGURES]
    served = [(row.name, kind) for row in ROWS for kind in row.kinds]
    assert len(keys) == len(set(keys))
    assert len(served) == len(set(served))
