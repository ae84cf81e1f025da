"""How to start each of the servers that are compared."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Kind = Literal["ours", "other", "google", "echo"]

CHECKOUT = Path(__file__).resolve().parents[2]
PORT = "{port}"
"""Stands in a command for a free port, for servers that cannot choose one themselves."""


@dataclass(frozen=True)
class Program:
    """A server's command line. It logs `Server started, listening on PORT` on stderr."""

    kind: Kind
    command: tuple[str, ...]
    directory: Path | None = None
    environment: dict[str, str] = field(default_factory=dict)
    stop_signal: signal.Signals = signal.SIGTERM
    warm_up_s: float = 1.0
    """Load before a rate is measured that is not the cold server's."""


def ours(kind: Kind = "ours", python: str = sys.executable, checkout: Path = CHECKOUT) -> Program:
    """Return this project's server, from the files of a checkout."""
    return Program(
        kind,
        (python, "-m", "emulator.cli", "start", "--port", "0"),
        directory=checkout,
        environment={"PYTHONPATH": str(checkout)},
    )


def other(place: Path) -> Program:
    """Return the server to compare with: a checkout's, or the one a Python has installed."""
    if place.is_dir():
        own = place / ".venv" / "bin" / "python"
        python = str(own) if own.exists() else sys.executable
        return ours("other", python, place.resolve())
    # Not resolved: a virtual environment's interpreter is a link whose place matters.
    python = os.path.abspath(place)
    return Program(
        "other",
        (python, "-m", "emulator.cli", "start", "--port", "0"),
        directory=Path(python).parent,
    )


def google(jar: Path) -> Program:
    """Return Google's emulator.

    It is killed, since it takes two seconds to stop by itself, and warmed up for longer: Java
    compiles it while it runs.
    """
    command = ("java", "-jar", str(jar), "--host=127.0.0.1", f"--port={PORT}")
    return Program("google", command, stop_signal=signal.SIGKILL, warm_up_s=3.0)


def echo() -> Program:
    """Return the bare gRPC echo behind this emulator's front."""
    return Program("echo", (sys.executable, "-m", "scripts.bench.echo_server"), directory=CHECKOUT)
