"""What `make clients` makes of the reports of four test runners."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.clients import processes, results, table
from scripts.clients.languages import LANGUAGES
from scripts.clients.programs import PROGRAMS
from scripts.clients.results import Result
from scripts.clients.runs import Run

PYTHON, GO, *_ = LANGUAGES


@pytest.mark.parametrize(
    "name",
    [
        "test_errors_are_the_clients_own",
        "TestErrorsAreTheClientsOwn",
        "errorsAreTheClientsOwn",
        "errorsAreTheClientsOwn()",
        "errors are the client's own",
    ],
)
def test_a_test_has_one_name_in_all_languages(name: str) -> None:
    assert results.words(name) == "errors are the clients own"


def test_junit_reports_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(
        '<testsuites><testsuite><testcase name="test_a" time="1.5"/>'
        '<testsuite><testcase name="b" time="0"><failure message="no">trace</failure></testcase>'
        '</testsuite><testcase name="c"><skipped message="why"/></testcase>'
        '<testcase name="d"><error>broke</error></testcase></testsuite></testsuites>'
    )
    assert results.from_junit(tmp_path) == [
        Result("a", "passed", 1.5),
        Result("b", "failed", 0.0, "no"),
        Result("c", "skipped", 0.0, "why"),
        Result("d", "failed", 0.0, "broke"),
    ]


def test_go_reports_are_read() -> None:
    events = [
        {"Action": "start"},
        {"Action": "run", "Test": "TestA"},
        {"Action": "output", "Test": "TestA", "Output": "=== RUN   TestA\n"},
        {"Action": "output", "Test": "TestA", "Output": "    a_test.go:1: no\n"},
        {"Action": "fail", "Test": "TestA", "Elapsed": 2},
        {"Action": "pass", "Test": "TestB", "Elapsed": 0.5},
    ]
    lines = iter([*map(json.dumps, events), "something else"])
    assert results.from_go(lines) == [
        Result("a", "failed", 2.0, "a_test.go:1: no"),
        Result("b", "passed", 0.5),
    ]


def test_the_table_names_what_was_not_run() -> None:
    good = Run(PYTHON, "ours", [Result("a", "passed", 1), Result("b", "skipped", 0)], 3.0)
    absent = Run(GO, "ours", why_not="not installed: go", is_skipped=True)
    broken = Run(GO, "ours", why_not="cannot be set up")
    assert "skipped, not installed: go" in list(table.summary([good, absent]))[-1]
    assert table.total([good, absent, broken]) == "1 passed, 1 failed, 2 skipped"
    assert good.is_good
    assert absent.is_good
    assert not broken.is_good


def test_the_table_in_a_page_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "before\n<!-- made by make clients-table -->\nold\n"
        "<!-- end of what make clients-table made -->\nafter\n"
    )
    ours = [Run(PYTHON, "ours", [Result("a", "passed", 1)])]
    google = [Run(PYTHON, "google", [Result("a", "failed", 1), Result("b", "skipped", 1)])]
    for _ in range(2):  # it can be done again
        table.write(page, ours, google, "0.1")
        text = page.read_text()
        assert text.startswith("before\n")
        assert text.endswith("after\n")
        assert "old" not in text
        assert text.count("| a | ✓ ✗ |") == text.count("| b | · – |") == 1


def test_the_servers_log_must_be_free_of_complaints(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    refused = "WARNING p/s: http://127.0.0.1:99/push?token=t does not take messages: answered 500."
    log.write_text(f"Server started\n{refused}\nWARNING something\nTraceback (most recent call\n")
    complaints = processes.Server("127.0.0.1:1", log).complaints()
    assert complaints == ["WARNING something", "Traceback (most recent call"]


def test_a_process_left_behind_is_a_failure(tmp_path: Path) -> None:
    command = ("sh", "-c", "sleep 60 & exit 0")
    with pytest.raises(processes.BrokenError, match="left running: sleep"):
        processes.run_suite(command, tmp_path, {}, tmp_path / "output")
    assert processes.run_suite(("sh", "-c", "exit 3"), tmp_path, {}, tmp_path / "output") == 3


@pytest.mark.parametrize("language", [*LANGUAGES, *PROGRAMS], ids=lambda language: language.name)
def test_versions_are_pinned_without_addresses(language: object) -> None:
    assert isinstance(language, type(PYTHON))
    assert language.client_version()[0].isdigit()
    for name in language.pins:
        lines = (language.source / name).read_text().splitlines()
        assert not [line for line in lines if "resolved" in line or "registry." in line]
