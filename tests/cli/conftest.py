"""Fixtures of the command's tests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.process import Process

Launch = Callable[..., Process]


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A temporary folder for the server, of a path that is short enough for its socket."""
    path = Path(tempfile.mkdtemp(prefix="cli-", dir="/tmp"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def launch(temporary: Path) -> Iterator[Launch]:
    """Start processes that are gone after the test."""
    processes: list[Process] = []

    def start(*arguments: str, variables: dict[str, str] | None = None, **more: Any) -> Process:
        variables = {"TMPDIR": str(temporary), **(variables or {})}
        processes.append(Process(*arguments, variables=variables, **more))
        return processes[-1]

    yield start
    for process in processes:
        process.end()
