"""The check that compares finished rules with the marks on tests."""

from __future__ import annotations

import pytest

from scripts.spec_coverage import Carried, carried, carried_in_comments, compare, parse_rules

AREAS = {
    "PUB": {"must": ["01..03", "07"], "wanted": ["04", "05"], "finished": ["01..05"]},
    "RST": {"must": ["T9..T11"], "wanted": [], "finished": ["T10"]},
}
RULES = parse_rules(AREAS)
ALL = [Carried(id, "t.py:1") for id in sorted(RULES.finished)]


def test_ranges_stand_for_the_rules_that_exist() -> None:
    assert RULES.must == {"PUB-01", "PUB-02", "PUB-03", "PUB-07", "RST-T9", "RST-T10", "RST-T11"}
    assert RULES.wanted == {"PUB-04", "PUB-05"}
    assert RULES.finished == {"PUB-01", "PUB-02", "PUB-03", "PUB-04", "PUB-05", "RST-T10"}


@pytest.mark.parametrize("entry", ["06", "08..10", "T10", "x"])
def test_a_finished_rule_that_is_not_known_is_refused(entry: str) -> None:
    areas = {"PUB": AREAS["PUB"] | {"finished": [entry]}}
    with pytest.raises(ValueError, match=f"PUB-{entry}"):
        parse_rules(areas)


def test_a_rule_cannot_be_both_must_and_wanted() -> None:
    with pytest.raises(ValueError, match="PUB-02"):
        parse_rules({"PUB": {"must": ["01..03"], "wanted": ["02"], "finished": []}})


def test_marks_are_found_wherever_they_stand() -> None:
    source = """
@spec("A-01", "A-02")
def test(): ...
@pytest.mark.spec("A-03")
class Test:
    @spec("A-04")
    async def test(self): ...
pytestmark = [spec("A-05")]
cases = [pytest.param(1, marks=spec("A-06"))]
other("A-07"), thing.spec("A-08")
"""
    assert sorted(mark.id or "" for mark in carried(source, "t.py")) == [
        f"A-{number:02}" for number in range(1, 7)
    ]


def test_marks_in_comments_are_found_in_any_language() -> None:
    source = "// @spec A-01 A-02\n  // @spec A-03\n# @spec A-04\nno @spec A-05\n// spec A-06\n"
    marks = carried_in_comments(source, "t.go")
    assert [mark.id for mark in marks] == ["A-01", "A-02", "A-03", "A-04"]


def test_a_mark_that_is_not_written_out_is_an_error() -> None:
    marks = [*ALL, *carried("@spec(NAME)\ndef test(): ...", "t.py")]
    assert compare(RULES, marks).errors == [
        "t.py:1: write the ids of a spec mark out as plain texts"
    ]


def test_everything_proved_is_no_error() -> None:
    report = compare(RULES, ALL)
    assert report.errors == []
    assert report.notes == ["6 of 6 finished rules have a test"]


def test_an_unproved_must_is_an_error_and_an_unproved_wanted_a_note() -> None:
    report = compare(RULES, [mark for mark in ALL if mark.id not in ("PUB-02", "PUB-04")])
    assert report.errors == ["PUB-02 is finished, but no test carries it"]
    assert "wanted, without a test: PUB-04" in report.notes


def test_an_unknown_id_is_an_error() -> None:
    report = compare(RULES, [*ALL, Carried("PUB-99", "t.py:7")])
    assert report.errors == ["t.py:7: there is no rule PUB-99"]


def test_a_proved_rule_that_is_not_finished_is_a_note() -> None:
    report = compare(RULES, [*ALL, Carried("PUB-07", "t.py:7")])
    assert report.errors == []
    assert "tested, but not marked finished: PUB-07" in report.notes
