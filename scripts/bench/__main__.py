"""Measure, print the table, and fail if a row failed."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from pathlib import Path

from scripts.bench import google_jar, machine, programs, report, rounds, table
from scripts.bench.catalogue import NAMES, ROWS, Row
from scripts.bench.programs import Program
from scripts.bench.results import Results


def main() -> int:
    """Run the benchmark; return the exit code."""
    parser = _parser()
    options = parser.parse_args()
    try:
        # Two checkouts are compared with each other alone.
        jar = None if options.compare else google_jar.find(options.google_jar)
    except google_jar.NotFoundError as error:
        parser.error(str(error))
    # Ended in whatever way, no server is left running.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        results = asyncio.run(
            rounds.measure(_rows(options), _programs(options, jar), options.rounds, options.seconds)
        )
    except KeyboardInterrupt:
        return 130
    _print(options, results, machine.describe(jar))
    return 1 if results.failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.bench",
        description="Measure this emulator beside Google's and a bare gRPC echo.",
    )
    add = parser.add_argument
    add("--rounds", type=int, default=3, help="rounds of which the medians are taken (3)")
    add("--seconds", type=float, default=1.5, help="time that each rate is measured over (1.5)")
    add("--rows", help=f"only these rows, with commas: {', '.join(NAMES)}")
    add("--soak", action="store_true", help="the long runs instead of the usual ones")
    add("--targets", help="only these servers, with commas: ours, google, echo")
    add("--ours-only", action="store_const", dest="targets", const="ours", help="only this one")
    add("--google-jar", type=Path, help=f"Google's emulator, also ${google_jar.VARIABLE}")
    add(
        "--compare",
        type=Path,
        metavar="PYTHON_OR_DIR",
        help="another checkout of this project, or a Python that has it installed: measured "
        "beside this one instead of the other servers",
    )
    add("--markdown", action="store_true", help="print the table as Markdown")
    add("--json", type=Path, metavar="FILE", help="write all samples to a file")
    return parser


def _rows(options: argparse.Namespace) -> list[Row]:
    wanted = _listed(options.rows, NAMES)
    if wanted is None:
        return [row for row in ROWS if row.is_soak == options.soak]
    return [row for row in ROWS if row.name in wanted]


def _programs(options: argparse.Namespace, jar: Path | None) -> list[Program]:
    if options.compare:
        return [programs.ours(), programs.other(options.compare)]
    known = [programs.ours(), programs.echo()]
    if jar is not None:
        known.insert(1, programs.google(jar))
    wanted = _listed(options.targets, ("ours", "google", "echo"))
    return [program for program in known if wanted is None or program.kind in wanted]


def _listed(value: str | None, known: tuple[str, ...]) -> set[str] | None:
    """Return the names of a list with commas, None for no list; end with a message otherwise."""
    if value is None:
        return None
    names = set(value.split(","))
    if unknown := names - set(known):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    return names


def _print(options: argparse.Namespace, results: Results, described: list[str]) -> None:
    head, lines = report.comparison(results) if options.compare else report.overview(results)
    draw = table.as_markdown if options.markdown else table.as_text
    print(draw(head, lines))
    print()
    for line in (*report.FOOTNOTES, *described, *report.failures(results)):
        print(f"- {line}" if options.markdown else line)
    if options.json:
        options.json.write_text(json.dumps(report.raw(results, described), indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
