"""One measured value, and the meter that takes it from a running server."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType

from scripts.bench import usage

MIN_COUNTED_CPU_S = 0.05
"""The system counts CPU time in steps of 10 ms: less than five of them tell nothing."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A value in the unit of its figure; CPU is the server's, in microseconds per message."""

    value: float
    cpu_us: float | None = None
    client_cores: float | None = None
    """Cores the client was busy with; near 1 it is the client that limits the rate."""


class Meter:
    """Elapsed time and CPU time between entering and leaving."""

    def __init__(self, server_pid: int) -> None:
        self._server_pid = server_pid
        self.elapsed_s = self.server_cpu_s = self.client_cpu_s = 0.0

    def __enter__(self) -> Meter:
        self._add(-1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self._add(+1)

    def rate(self, messages: int) -> Measurement:
        """Return messages per second."""
        return self.value(messages / self.elapsed_s, messages)

    def value(self, value: float, messages: int) -> Measurement:
        """Return another value that came of moving so many messages."""
        is_counted = messages > 0 and self.server_cpu_s >= MIN_COUNTED_CPU_S
        return Measurement(
            value,
            cpu_us=self.cpu_us(messages) if is_counted else None,
            client_cores=self.client_cpu_s / self.elapsed_s,
        )

    def cpu_us(self, messages: int) -> float:
        """Return the server's CPU microseconds per message."""
        return self.server_cpu_s * 1e6 / messages

    def _add(self, sign: int) -> None:
        self.elapsed_s += sign * time.monotonic()
        self.server_cpu_s += sign * usage.cpu_s(self._server_pid)
        self.client_cpu_s += sign * usage.cpu_s()
