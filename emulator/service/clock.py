"""The time that operations happen at."""

from __future__ import annotations

import time


class Clock:
    """Real time in microseconds of UTC, that never runs backwards.

    When the machine's clock is set back, ours goes on from where it was; when it jumps forward (a
    laptop wakes up), so do we, and leases end as they would at the service.
    """

    def __init__(self) -> None:
        self._last_us = 0
        self._lead_us = 0

    def now_us(self, project: str) -> int:
        """The time of `project`."""
        now = time.time_ns() // 1_000 + self._lead_us
        if now < self._last_us:
            self._lead_us += self._last_us - now
            now = self._last_us
        self._last_us = now
        return now
