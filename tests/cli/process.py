"""The command as a process of its own, whose lines are waited for."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
#: Nothing here takes this long; it only keeps a broken server from hanging the tests.
HANG_LIMIT_S = 60
STARTED = "Server started, listening on "
AS_MODULE = ("-m", "emulator")


class Process:
    """`lines` are those of stderr that were read so far."""

    def __init__(
        self,
        *arguments: str,
        python: Sequence[str] = AS_MODULE,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.lines: list[str] = []
        self._unread: queue.Queue[str | None] = queue.Queue()
        self._popen = subprocess.Popen(
            [sys.executable, *python, *arguments],
            cwd=ROOT,
            env={**os.environ, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._popen.pid

    def _read(self) -> None:
        assert self._popen.stderr is not None
        for line in self._popen.stderr:
            self._unread.put(line.rstrip("\n"))
        self._unread.put(None)

    def wait_line(self, start: str) -> str:
        """Return the first line that is still unread and begins so."""
        while True:
            line = self._unread.get(timeout=HANG_LIMIT_S)
            assert line is not None, f"ended without {start!r}: {self.lines}"
            self.lines.append(line)
            if line.startswith(start):
                return line

    def take(self) -> list[str]:
        """Return all lines that came so far, without waiting for more."""
        with contextlib.suppress(queue.Empty):
            while (line := self._unread.get_nowait()) is not None:
                self.lines.append(line)
            self._unread.put(None)
        return self.lines

    def wait_port(self) -> int:
        """Return the port once all is served."""
        return int(self.wait_line(STARTED).removeprefix(STARTED))

    def signal(self, number: int) -> None:
        self._popen.send_signal(number)

    def wait(self) -> int:
        """Return the exit status; `lines` is complete then."""
        status = self._popen.wait(HANG_LIMIT_S)
        while (line := self._unread.get(timeout=HANG_LIMIT_S)) is not None:
            self.lines.append(line)
        return status

    def end(self) -> None:
        """Leave nothing behind, however the test went."""
        self._popen.kill()
        self._popen.wait(HANG_LIMIT_S)
        self._reader.join(HANG_LIMIT_S)
        assert self._popen.stderr is not None
        self._popen.stderr.close()
