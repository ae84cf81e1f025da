"""The official clients of other languages: `make clients` runs these, where their tools are.

Each has a small program beside this file. It is built in build/clients, anew when its source has
changed, and then all of them run at once, since most of the time nothing must happen.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from emulator.testing import Emulator
from tests.inside import Inside
from tests.service.streams import open_streams
from tests.spec import spec
from tests.wire import HANG_LIMIT_S, Names, Wire, until

SOURCES = Path(__file__).resolve().parent
BUILDS = SOURCES.parents[1] / "build" / "clients"
BUILD_LIMIT_S = 900
#: Longer than the 30 s between the pings of every client, and than what Java then waits for.
IDLE_S = 50

pytestmark = pytest.mark.slow_clients


class Language(NamedTuple):
    """`build` and `run` are command lines for the folder of the built program."""

    tools: tuple[str, ...]
    build: tuple[str, ...]
    run: tuple[str, ...]


LANGUAGES = {
    "go": Language(("go",), ("go", "build", "-o", "client", "."), ("./client",)),
    "java": Language(
        ("java", "mvn"),
        (
            *("mvn", "--batch-mode", "--quiet", "package", "dependency:copy-dependencies"),
            *("-DoutputDirectory=target/lib", "-DincludeScope=runtime"),
        ),
        ("java", "-classpath", "target/classes:target/lib/*", "Client"),
    ),
    "node": Language(
        ("node", "npm"),
        ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"),
        ("node", "client.js"),
    ),
}


def missing(name: str) -> list[str]:
    return [tool for tool in LANGUAGES[name].tools if shutil.which(tool) is None]


def built(name: str) -> Path:
    """The folder with the program, ready to run."""
    source, folder = SOURCES / name, BUILDS / name
    stamp, wanted = folder / ".source", digest(source)
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.copytree(source, folder, dirs_exist_ok=True)
        subprocess.run(LANGUAGES[name].build, cwd=folder, check=True, timeout=BUILD_LIMIT_S)
        stamp.write_text(wanted)
    return folder


def digest(folder: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        total.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return total.hexdigest()


class Client:
    """A running program: told what to publish, it says what it received."""

    def __init__(self, name: str, host_port: str, names: Names) -> None:
        environment = {
            **os.environ,
            "PUBSUB_EMULATOR_HOST": host_port,
            "METADATA_SERVER_DETECTION": "none",  # Node's would look for one on the network
        }
        self.process = subprocess.Popen(
            [*LANGUAGES[name].run, names.project, "topic", "subscription"],
            cwd=built(name),
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._limit = threading.Timer(IDLE_S + 4 * HANG_LIMIT_S, self.process.kill)
        self._limit.start()

    def publish_and_receive(self, text: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{text}\n")
        return self.process.stdout.readline().rstrip("\n")

    def finish(self) -> int:
        """Let it end by itself; return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(HANG_LIMIT_S)
        self._limit.cancel()
        return code

    def kill(self) -> None:
        self._limit.cancel()
        self.process.kill()


class Story(NamedTuple):
    """What came of one program; streams are told apart by numbers."""

    first: str
    second: str
    second_took_s: float
    streams_before: list[int]
    streams_after: list[int]
    exit_code: int
    unsettled: int


def play(name: str, emulator: Emulator) -> Story:
    """Publish and receive, be silent, publish and receive."""
    names, inside, wire = Names(f"smoke-{name}"), Inside(emulator), Wire(emulator.host_port)
    wire.create(names.topic(), names.subscription())
    client = Client(name, emulator.host_port, names)
    try:
        first = client.publish_and_receive("one")
        until(lambda: sum(inside.counts(names.subscription())) == 0)
        before = open_streams(inside, names.subscription())
        time.sleep(IDLE_S)  # the clients' pings go by real time
        after = open_streams(inside, names.subscription())
        start = time.monotonic()
        second = client.publish_and_receive("two")
        took_s = time.monotonic() - start
        code = client.finish()
    finally:
        client.kill()
        wire.close()
    left = sum(inside.counts(names.subscription()))
    return Story(first, second, took_s, before, after, code, left)


@pytest.fixture(scope="module")
def story_of(emulator: Emulator) -> Iterator[Callable[[str], Story]]:
    """Tells how the program of a language fared."""
    with ThreadPoolExecutor() as executor:
        stories: dict[str, Future[Story]] = {
            name: executor.submit(play, name, emulator) for name in LANGUAGES if not missing(name)
        }
        yield lambda name: stories[name].result()


@spec("NAM-06", "STR-10", "STR-11", "CLI-02", "CLI-03", "CLI-04", "CLI-11", "CLI-12", "CLI-13")
@pytest.mark.parametrize("name", LANGUAGES)
def test_a_message_arrives_before_and_after_a_long_silence(
    name: str, story_of: Callable[[str], Story]
) -> None:
    if missing(name):
        pytest.skip(f"not installed: {', '.join(missing(name))}")
    story = story_of(name)
    print(f"{name}: the message after {IDLE_S} s took {story.second_took_s * 1e3:.0f} ms")
    assert (story.first, story.second) == ("received one", "received two")
    assert story.streams_before
    assert story.streams_after == story.streams_before  # no stream was given up meanwhile
    assert (story.exit_code, story.unsettled) == (0, 0)
