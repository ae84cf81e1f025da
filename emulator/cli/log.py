"""The lines of the running server: plain text for people, one JSON object each for programs."""

from __future__ import annotations

import logging
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class TextFormatter(logging.Formatter):
    """Remarks as they are; whatever is more or less than a remark with its time and level.

    Every line begins with `prefix`.
    """

    def __init__(self, prefix: str = "") -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")
        self._prefix = prefix

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, or lines if there is a traceback."""
        text = super().format(record)
        return self._prefix + text.replace("\n", f"\n{self._prefix}") if self._prefix else text

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the line without a traceback."""
        return record.message if record.levelno == logging.INFO else super().formatMessage(record)


class JsonFormatter(logging.Formatter):
    """`time` (UTC), `level`, `logger`, `message` and, after a failure, `exception`."""

    def __init__(self, dumps: Callable[[object], str]) -> None:
        super().__init__()
        self._dumps = dumps

    def format(self, record: logging.LogRecord) -> str:
        """Return the object in one line."""
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{seconds}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return self._dumps(line)


def set_up(level: str, line_format: str, prefix: str = "") -> None:
    """Send every logger's lines of `level` and above to stderr, as "text" or "json"."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_formatter(line_format, prefix))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    logging.captureWarnings(True)
    # A reader of stderr that went away is no reason to complain, least of all to stderr.
    logging.raiseExceptions = False


def _formatter(line_format: str, prefix: str) -> logging.Formatter:
    if line_format == "text":
        return TextFormatter(prefix)
    import json

    return JsonFormatter(json.dumps)
