"""Signals that ask the server to stop."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType

IMPATIENT = 128 + signal.SIGINT
"""Exit status after a second Ctrl-C, as shells report it."""


class StopSignals:
    """SIGTERM and Ctrl-C, from the first moment to the last.

    They are Python's own handlers, not the event loop's: they must work while modules are still
    being imported, which is most of a start, and on Windows.
    """

    def __init__(self) -> None:
        self._stop: Callable[[], object] | None = None
        self._is_asked = False

    def install(self) -> None:
        """Take the signals over; until `attach` there is nothing to clean up after one."""
        signal.signal(signal.SIGTERM, self._received)
        signal.signal(signal.SIGINT, self._received)
        # A terminal that closes; one that was left behind with nohup is not to stop us.
        hang_up = getattr(signal, "SIGHUP", None)
        if hang_up is not None and signal.getsignal(hang_up) is signal.SIG_DFL:
            signal.signal(hang_up, self._received)

    def attach(self, stop: Callable[[], object]) -> None:
        """Let the first signal from now on call `stop`, between any two instructions."""
        self._stop = stop

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self._stop is None:
            os._exit(0)
        if not self._is_asked:
            self._is_asked = True
            self._stop()
        elif number == signal.SIGINT:
            os._exit(IMPATIENT)
