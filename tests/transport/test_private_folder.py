"""The folder of the private socket: who may enter it, and who removes it."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.transport import private_folder
from emulator.transport.private_folder import PATH_LIMIT_BYTES, PREFIX, PrivateFolder


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder for it, of a path that is short enough."""
    with tempfile.TemporaryDirectory(prefix="place-", dir="/tmp") as path:
        monkeypatch.setattr(tempfile, "tempdir", path)
        yield Path(path)


def leave_behind(path: Path) -> Path:
    """Make what a killed server leaves."""
    path.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path / "grpc"))
    return path


def test_only_its_user_may_enter_it(place: Path) -> None:
    folder = PrivateFolder()
    assert Path(folder.path).parent == place
    assert stat.S_IMODE(os.stat(folder.path).st_mode) == 0o700
    folder.remove()
    assert list(place.iterdir()) == []


def test_an_abandoned_one_is_removed(place: Path) -> None:
    leave_behind(place / f"{PREFIX}old")
    folder = PrivateFolder()
    assert [str(path) for path in place.iterdir()] == [folder.path]
    folder.remove()


def test_those_in_use_stay(place: Path) -> None:
    folders = [PrivateFolder() for _ in range(3)]
    assert {str(path) for path in place.iterdir()} == {folder.path for folder in folders}
    for folder in folders:
        folder.remove()
    assert list(place.iterdir()) == []


def test_what_only_looks_like_one_stays(place: Path) -> None:
    elsewhere = leave_behind(place / "elsewhere")
    (place / f"{PREFIX}link").symlink_to(elsewhere)
    (place / f"{PREFIX}file").write_text("mine")
    (place / f"{PREFIX}full").mkdir()
    (place / f"{PREFIX}full" / "notes").write_text("mine")
    before = set(place.rglob("*"))
    PrivateFolder().remove()
    assert set(place.rglob("*")) == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give folders away")
def test_that_of_another_user_stays(place: Path) -> None:
    other = leave_behind(place / f"{PREFIX}other")
    os.chown(other, 12345, 12345)
    PrivateFolder().remove()
    assert (other / "grpc").exists()


def test_one_that_is_taken_for_abandoned_before_it_is_locked_is_made_anew(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = tempfile.mkdtemp
    made: list[str] = []

    def make_and_lose(**options: str) -> str:
        made.append(make(**options))
        if len(made) == 1:
            private_folder._remove_abandoned(str(place))
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", make_and_lose)
    folder = PrivateFolder()
    assert len(made) == 2
    assert [str(path) for path in place.iterdir()] == [folder.path]
    folder.remove()


def test_one_that_is_removed_while_its_lock_is_awaited_is_made_anew(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock
    paths: list[str] = []

    def lose_then_lock(descriptor: int, operation: int) -> None:
        if not paths:
            paths.extend(map(str, place.iterdir()))
            os.rmdir(paths[0])
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", lose_then_lock)
    folder = PrivateFolder()
    assert len(paths) == 1
    assert [str(path) for path in place.iterdir()] == [folder.path]
    folder.remove()


def test_a_child_of_the_process_does_not_keep_it_locked(place: Path) -> None:
    folder = PrivateFolder()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        os.close(folder._lock)
        private_folder._remove_abandoned(str(place))
        assert list(place.iterdir()) == []
        assert child.poll() is None
        child.communicate(b"\n")


def test_a_path_too_long_for_a_socket_is_left_for_a_shorter_one(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = place / ("x" * PATH_LIMIT_BYTES)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    folder = PrivateFolder()
    assert Path(folder.path).parent == Path("/tmp")
    assert len(os.fsencode(folder.socket)) <= PATH_LIMIT_BYTES
    folder.remove()
