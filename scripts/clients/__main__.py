"""Run the suites, print the table, and fail if a test failed."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from scripts.bench import google_jar
from scripts.clients import processes, table
from scripts.clients.languages import LANGUAGES, REPORTS, Language
from scripts.clients.programs import PROGRAMS
from scripts.clients.runs import Run, failures, run

_BY_NAME = {language.name: language for language in LANGUAGES}


def main() -> int:
    """Run what the arguments ask for; return the exit code."""
    options = _parser().parse_args()
    # Ended in whatever way, no server and no suite is left running.
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.default_int_handler)
    languages = [_BY_NAME[name] for name in options.languages]
    languages = languages or list(PROGRAMS if options.more else LANGUAGES)
    REPORTS.mkdir(parents=True, exist_ok=True)
    if options.table is not None:
        return _write_table(options.table, languages, options.google_jar)
    endpoint = os.environ.get("ENDPOINT")
    runs, complaints = (_run_there(languages, endpoint), []) if endpoint else _run_here(languages)
    return _report(runs, complaints)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.clients",
        description="Run the contract suites of the official clients against this emulator, "
        "or against the server at $ENDPOINT (HOST:PORT).",
    )
    add = parser.add_argument
    add("languages", nargs="*", choices=[[], *_BY_NAME], help=f"of {', '.join(_BY_NAME)}; all")
    add("--more", action="store_true", help="the programs of tests/clients/more instead")
    add(
        "--table",
        type=Path,
        metavar="PAGE",
        help="run against Google's emulator too, and write the table of both into a page",
    )
    add("--google-jar", type=Path, help=f"Google's emulator, also ${google_jar.VARIABLE}")
    return parser


def _run_here(languages: list[Language]) -> tuple[list[Run], list[str]]:
    """Run against this project's server; return its complaints with the results."""
    with processes.ours(REPORTS / "server.log") as server:
        runs = _run_there(languages, server.endpoint)
    return runs, server.complaints()


def _run_there(languages: list[Language], endpoint: str, server: str = "ours") -> list[Run]:
    runs = []
    for language in languages:
        print(f"{language.title}: {language.client} {language.client_version()} …", flush=True)
        runs.append(run(language, server, endpoint))
    return runs


def _write_table(page: Path, languages: list[Language], named: Path | None) -> int:
    jar = google_jar.find(named)
    if jar is None:
        print("there is no emulator of Google's to compare with", file=sys.stderr)
        return 1
    ours, complaints = _run_here(languages)
    with processes.google(jar, REPORTS / "google.log") as server:
        google = _run_there(languages, server.endpoint, "google")
    table.write(page, ours, google, google_jar.version(jar))
    print("Google's:", *table.summary(google), sep="\n")
    return _report(ours, complaints)


def _report(runs: list[Run], complaints: list[str]) -> int:
    for paragraph in failures(runs):
        print(f"\n{paragraph}")
    print()
    print(*table.summary(runs), sep="\n")
    for line in complaints:
        print(f"the server complained: {line}")
    print(table.total(runs))
    return 0 if all(each.is_good for each in runs) and not complaints else 1


if __name__ == "__main__":
    sys.exit(main())
