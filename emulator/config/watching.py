"""Applies a file of start-up resources again whenever it changes (`--config-watch`)."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from emulator.config.problems import ConfigError
from emulator.config.sources import Sources

if TYPE_CHECKING:
    from emulator.config.applying import Plan
    from emulator.config.resources import Resources

log = logging.getLogger("emulator.config")

#: The standard library has no notice of changes; looking costs some microseconds.
LOOK_EVERY_S = 0.5

Fingerprint = tuple[int, int, int] | None


class Watch:
    """Made *before* the file is read for the first time, so that no change is missed."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._seen = _fingerprint(file)

    def __repr__(self) -> str:
        return f"<Watch {self._file}>"

    async def run(self, apply: Callable[[Resources], Awaitable[Plan]]) -> None:
        """Look at the file for ever; if it is wrong or gone, log it and change nothing."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            current = _fingerprint(self._file)
            if current != self._seen:
                self._seen = current
                await self._apply(apply)

    async def _apply(self, apply: Callable[[Resources], Awaitable[Plan]]) -> None:
        try:
            plan = await apply(Sources(self._file).load())
        except ConfigError as error:
            for problem in error.problems:
                log.error("%s", problem)
        else:
            log.info("%s was applied again: %s", self._file, plan.summary() or "no change")


def _fingerprint(path: str) -> Fingerprint:
    """What differs when a file was written anew or another took its place."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
