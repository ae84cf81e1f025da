"""What the numbers were taken on, without a name that belongs to anybody."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from scripts.bench import google_jar

_LIBRARIES = ("grpcio", "protobuf", "uvloop")


def describe(jar: Path | None) -> list[str]:
    """Return lines for processor, Python, libraries and Google's emulator."""
    lines = [
        f"{os.cpu_count()} cores ({_processor()}), {platform.system()} {platform.machine()}",
        f"Python {platform.python_version()}, {', '.join(map(_library, _LIBRARIES))}",
    ]
    if jar is not None:
        lines.append(f"Google's emulator {google_jar.version(jar)}")
    return lines


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or "unknown processor"


def _library(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"no {name}"
