"""The time that operations happen at, a project's own where a test has turned it."""

from __future__ import annotations

import time


class Clock:
    """Real time in microseconds of UTC, that never runs backwards.

    When the machine's clock is set back, ours goes on from where it was; when it jumps forward (a
    laptop wakes up), so do we, and leases end as they would at the service.

    A project's time can be stopped and put forward; that of the others is not touched.
    """

    def __init__(self) -> None:
        self._last_us = 0
        self._lead_us = 0
        self._ahead_us: dict[str, int] = {}  # of real time, where it runs
        self._stopped_at_us: dict[str, int] = {}

    def now_us(self, project: str) -> int:
        """The time of `project`."""
        stopped_at_us = self._stopped_at_us.get(project)
        if stopped_at_us is not None:
            return stopped_at_us
        return self._real_us() + self._ahead_us.get(project, 0)

    def _real_us(self) -> int:
        now = time.time_ns() // 1_000 + self._lead_us
        if now < self._last_us:
            self._lead_us += self._last_us - now
            now = self._last_us
        self._last_us = now
        return now

    def is_stopped(self, project: str) -> bool:
        return project in self._stopped_at_us

    def stop(self, project: str) -> None:
        """Let the time of `project` stand still."""
        self._stopped_at_us[project] = self.now_us(project)

    def run(self, project: str) -> None:
        """Let the time of `project` run on from where it is."""
        stopped_at_us = self._stopped_at_us.pop(project, None)
        if stopped_at_us is not None:
            self._ahead_us[project] = stopped_at_us - self._real_us()

    def reset(self) -> None:
        """Let every project have real time again."""
        self._ahead_us.clear()
        self._stopped_at_us.clear()

    def put(self, project: str, to_us: int) -> None:
        """Put the stopped time of `project` forward."""
        assert self._stopped_at_us[project] <= to_us
        self._stopped_at_us[project] = to_us
