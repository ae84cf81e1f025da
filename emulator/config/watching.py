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


async def watch(sources: Sources, apply: Callable[[Resources], Awaitable[Plan]]) -> None:
    """Look at the file for ever. A file that is wrong or gone is a log line and changes nothing."""
    assert sources.file is not None
    seen = _fingerprint(sources.file)
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        current = _fingerprint(sources.file)
        if current == seen:
            continue
        seen = current
        try:
            plan = await apply(Sources(sources.file).load())
        except ConfigError as error:
            for problem in error.problems:
                log.error("%s", problem)
        else:
            log.info("%s was applied again: %s", sources.file, plan.summary() or "no change")


def _fingerprint(path: str) -> Fingerprint:
    """What differs when a file was written anew or another took its place."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
