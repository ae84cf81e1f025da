"""How many file descriptors this process may open, and how many the front may use of them."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from typing import BinaryIO

if sys.platform != "win32":  # there is no such limit to read or raise there
    import resource

logger = logging.getLogger(__name__)

RESERVE = 64
"""Descriptors left to the rest of the process: files, push connections, gRPC's own pollers."""
ASSUMED_IN_USE = 32
"""Descriptors a process is taken to hold where the system does not list them."""
UNLIMITED = sys.maxsize
_MACOS_OPEN_MAX = 10_240


class DescriptorBudget:
    """Count of the descriptors held by connections, and the most they may hold together."""

    def __init__(self, capacity: int, *, limit: int | None = None) -> None:
        self.capacity = capacity
        self.limit = limit
        self.in_use = 0

    @classmethod
    def of_process(cls) -> DescriptorBudget:
        """Return what this process's limit leaves after what it holds now and a reserve."""
        limit = _soft_limit()
        if limit is None:
            return cls(UNLIMITED)
        free = max(0, limit - _open_descriptors())
        # Under a tiny limit a whole reserve would leave nothing to serve anybody with.
        return cls(free - min(RESERVE, free // 4), limit=limit)

    def has_room(self, count: int) -> bool:
        """Tell whether `count` more descriptors fit."""
        return self.in_use + count <= self.capacity

    def take(self, count: int) -> None:
        """Account for `count` descriptors that are opened now; the caller has made room."""
        self.in_use += count

    def give_back(self, count: int) -> None:
        """Account for `count` descriptors that are closed."""
        assert count <= self.in_use, self
        self.in_use -= count

    def __repr__(self) -> str:
        return f"<DescriptorBudget {self.in_use} of {self.capacity} in use>"


class SpareDescriptor:
    """A descriptor kept to turn away a client when the process has no other left.

    Without one the client would wait in the listening socket's queue for as long as the
    shortage lasts.
    """

    def __init__(self) -> None:
        self._file: BinaryIO | None = None
        self.refill()

    def refill(self) -> None:
        """Take the descriptor back, if there is one to be had."""
        if self._file is None:
            with contextlib.suppress(OSError):
                self._file = open(os.devnull, "rb")  # noqa: SIM115

    def release(self) -> bool:
        """Let the descriptor go; tell whether it was held."""
        if self._file is None:
            return False
        self._file.close()
        self._file = None
        return True


def raise_descriptor_limit() -> int | None:
    """Raise the soft limit of open descriptors to the hard one; return it, None if unlimited."""
    if sys.platform == "win32":
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard and not _set_soft_limit(hard, hard) and soft < _MACOS_OPEN_MAX:
        # macOS says "unlimited" and refuses more than this.
        _set_soft_limit(_MACOS_OPEN_MAX, hard)
    return _soft_limit()


def _set_soft_limit(soft: int, hard: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    except (OSError, ValueError) as error:
        logger.debug("Cannot raise the limit of open files to %d: %s", soft, error)
        return False
    return True


def _soft_limit() -> int | None:
    if sys.platform == "win32":
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def _open_descriptors() -> int:
    try:
        return len(os.listdir("/dev/fd"))
    except OSError:
        return ASSUMED_IN_USE
