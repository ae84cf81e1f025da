"""A folder that only this user may enter, for the socket between the port and the gRPC server."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator

if sys.platform != "win32":  # where there are no unix sockets either
    import fcntl

PREFIX = "pubsub-emulator-"
SOCKET_NAME = "grpc"
PATH_LIMIT_BYTES = 100
"""The kernel's limit for the address of a unix socket is 104 bytes on some systems."""
_RANDOM_BYTES = 8
"""Length of what `mkdtemp` adds to the prefix."""


class PrivateFolder:
    """Holds a lock on itself for as long as its process lives.

    So a folder whose lock is free was left by a process that was killed, whatever became of its
    number, and is removed by the next server that starts.
    """

    def __init__(self) -> None:
        """Make the folder; OSError if no place for it has a path that is short enough."""
        self._place = _place()
        _remove_abandoned(self._place)
        self.path, self._lock = _make_locked(self._place)

    @property
    def socket(self) -> str:
        """Path of the socket, which is the folder's only content."""
        return os.path.join(self.path, SOCKET_NAME)

    def remove(self) -> None:
        """Delete the folder and let the lock go."""
        _delete(self.path)
        os.close(self._lock)

    def __repr__(self) -> str:
        return f"<PrivateFolder {self.path}>"


def _place() -> str:
    for place in (tempfile.gettempdir(), "/tmp"):
        longest = len(os.fsencode(os.path.join(place, PREFIX, SOCKET_NAME))) + _RANDOM_BYTES
        if longest <= PATH_LIMIT_BYTES:
            return place
    raise OSError(f"The path of the temporary folder is too long: {tempfile.gettempdir()}")


def _make_locked(place: str) -> tuple[str, int]:
    while True:
        path = tempfile.mkdtemp(prefix=PREFIX, dir=place)
        try:
            lock = _open(path)
        except FileNotFoundError:
            continue  # another server that starts took it for abandoned before it was locked
        with contextlib.suppress(OSError):  # some file systems have no locks: nobody gets one there
            fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(path):
            return path, lock
        os.close(lock)


def _remove_abandoned(place: str) -> None:
    for path in _folders(place):
        # Raised for what is not a folder, not this user's, or locked by a live process.
        with contextlib.suppress(OSError):
            lock = _open(path)
            try:
                if os.fstat(lock).st_uid == os.geteuid():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _delete(path)
            finally:
                os.close(lock)


def _folders(place: str) -> Iterator[str]:
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        yield from (entry.path for entry in entries if entry.name.startswith(PREFIX))


def _open(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _delete(path: str) -> None:
    """Delete the folder unless it holds anything but a socket of ours."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(path, SOCKET_NAME))
    with contextlib.suppress(OSError):
        os.rmdir(path)
