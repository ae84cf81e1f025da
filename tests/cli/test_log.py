"""Lines of the log, for people and for programs."""

from __future__ import annotations

import json
import logging
import re
import sys

from emulator.cli.log import JsonFormatter, TextFormatter


def record(level: int, message: str, *, fails: bool = False) -> logging.LogRecord:
    info = None
    if fails:
        try:
            raise ValueError("why")
        except ValueError:
            info = sys.exc_info()
    made = logging.LogRecord("emulator.part", level, __file__, 1, message, ("x",), info)
    made.created, made.msecs = 1_800_000_000.25, 250.0
    return made


def test_a_remark_is_left_as_it_is() -> None:
    assert TextFormatter().format(record(logging.INFO, "about %s")) == "about x"


def test_a_warning_has_its_time_and_level() -> None:
    line = TextFormatter().format(record(logging.WARNING, "about %s"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,250 WARNING about x", line)


def test_a_failure_is_one_object_in_one_line() -> None:
    line = JsonFormatter(json.dumps).format(record(logging.ERROR, 'about "%s"\n', fails=True))
    assert "\n" not in line
    entry = json.loads(line)
    assert entry.pop("exception").endswith("ValueError: why")
    assert entry == {
        "time": "2027-01-15T08:00:00.250Z",
        "level": "ERROR",
        "logger": "emulator.part",
        "message": 'about "x"\n',
    }
