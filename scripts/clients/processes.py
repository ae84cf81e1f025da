"""The server, the program that breaks its connections, and the suites, as child processes."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from scripts.clients.languages import CHECKOUT

_READY = re.compile(r"Server started, listening on (\d+)")
_START_LIMIT_S = 60.0
_STOP_LIMIT_S = 15.0
_SUITE_LIMIT_S = 900.0
_COMPLAINT = re.compile(r"Traceback|WARNING|ERROR|CRITICAL|Exception")
# The suites' receivers refuse the first push to see it come again.
_ASKED_FOR = re.compile(r"http://127\.0\.0\.1:\d+/push\?token=t .*answered 500")


class BrokenError(Exception):
    """A program did not start, or did not end as it should."""


class Server:
    """A running server whose log is kept."""

    def __init__(self, endpoint: str, log: Path) -> None:
        self.endpoint = endpoint
        self.log = log

    def complaints(self) -> list[str]:
        """Return the lines of the log that tell of something wrong."""
        lines = self.log.read_text().splitlines()
        return [each for each in lines if _COMPLAINT.search(each) and not _ASKED_FOR.search(each)]


@contextmanager
def ours(log: Path) -> Iterator[Server]:
    """This project's server; it must end by itself when asked."""
    command = (sys.executable, "-m", "emulator.cli", "start", "--host", "127.0.0.1", "--port", "0")
    with _started(command, log) as process:
        yield Server(f"127.0.0.1:{_wait_until_ready(process, log)}", log)
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(_STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise BrokenError(f"the server does not stop; see {log}") from None
        if code != 0:
            raise BrokenError(f"the server ended with {code}; see {log}")


@contextmanager
def google(jar: Path, log: Path) -> Iterator[Server]:
    """Google's emulator; it is killed, since it takes its time to stop."""
    command = ("java", "-jar", str(jar), "--host=127.0.0.1", f"--port={_free_port()}")
    with _started(command, log) as process:
        yield Server(f"127.0.0.1:{_wait_until_ready(process, log)}", log)


@contextmanager
def faults(endpoint: str) -> Iterator[str]:
    """The program that breaks connections to a server; the address where it takes orders."""
    command = (sys.executable, str(CHECKOUT / "tests" / "clients" / "faults.py"), endpoint)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()
        process.wait(_STOP_LIMIT_S)
    finally:
        process.kill()
        process.wait()


def run_suite(command: tuple[str, ...], folder: Path, more: dict[str, str], output: Path) -> int:
    """Run a suite to its end; return its exit code.

    Raises `BrokenError` if it takes too long, or leaves a process behind, which is then ended.
    """
    with output.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **more},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        return process.wait(_SUITE_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise BrokenError(f"did not end within {_SUITE_LIMIT_S:.0f} s; see {output}") from None
    finally:
        left = _end_session(process.pid)
        process.wait()
        if left and sys.exception() is None:
            raise BrokenError(f"left running: {', '.join(left)}")


def _end_session(session: int) -> list[str]:
    """Kill what is left of a session; return the names."""
    left = []
    for process in psutil.process_iter(("name", "status")):
        try:
            is_member = os.getsid(process.pid) == session
        except OSError:
            continue
        if is_member and process.info["status"] != psutil.STATUS_ZOMBIE:
            left.append(str(process.info["name"]))
            process.kill()
    return left


@contextmanager
def _started(command: tuple[str, ...], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], log: Path) -> int:
    limit = time.monotonic() + _START_LIMIT_S
    while time.monotonic() < limit and process.poll() is None:
        if match := _READY.search(log.read_text(errors="replace")):
            return int(match[1])
        time.sleep(0.05)
    raise BrokenError(f"the server does not start; see {log}")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
