"""Install each built distribution into an environment of its own, and use it as a stranger would.

    python -m scripts.smoke_dist dist/*.whl dist/*.tar.gz

The commands are called through links in another folder, as pipx lays them, in an empty working
folder: nothing of the source tree can stand in for what a distribution lacks.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

_HANG_LIMIT_S = 60
_STARTED = re.compile(r"Server started, listening on ([0-9]+)")
_CONFIG = """\
projects:
  demo:
    topics: [events]
    subscriptions: [{name: sub, topic: events}]
    messages: [{topic: events, text: hello}]
"""


class Installed:
    """An environment with one distribution, and its commands in `bin`."""

    def __init__(self, folder: Path, distribution: Path) -> None:
        self._work = folder / "work"
        self._bin = folder / "bin"
        for each in (self._work, self._bin):
            each.mkdir()
        venv.create(folder / "venv", with_pip=True)
        home = folder / "venv" / "bin"
        run([home / "python", "-m", "pip", "--quiet", "--disable-pip-version-check", "install",
             distribution.resolve()], self._work)  # fmt: skip
        for name in ("pubsub-emulator", "cloud-pubsub-emulator"):
            (self._bin / name).symlink_to(home / name)

    def command(self, name: str, *arguments: str) -> str:
        """Run a command that must succeed; return its output."""
        return run([self._bin / name, *arguments], self._work)

    def serve(self, name: str, *arguments: str) -> tuple[subprocess.Popen[str], str]:
        """Start a server; return it and its address."""
        server = subprocess.Popen(
            [self._bin / name, *arguments],
            cwd=self._work,
            env=clean_environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        assert server.stderr is not None
        for line in server.stderr:
            found = _STARTED.search(line)
            if found:
                return server, f"127.0.0.1:{found[1]}"
        raise SystemExit(f"{name} ended with {server.wait()} before it served")

    def write(self, name: str, text: str) -> str:
        """Write a file of the working folder; return its name."""
        (self._work / name).write_text(text, encoding="utf-8")
        return name


def clean_environment() -> dict[str, str]:
    """The environment without what would lead Python to the source tree."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def run(command: list[object], folder: Path) -> str:
    """Run a program that must succeed; return its output."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        text=True,
        timeout=600,
        check=True,
    )
    return done.stdout


def try_out(installed: Installed) -> None:
    """Start with resources, take the message that is there, stop."""
    config = installed.write("config.yaml", _CONFIG)
    server, address = installed.serve(
        "pubsub-emulator", "start", "--host-port", "127.0.0.1:0", "--config", config
    )
    installed.command("pubsub-emulator", "wait", "--host-port", address, "--timeout", "20")
    place = ("--host-port", address, "--project", "demo")
    assert "hello" in installed.command("pubsub-emulator", "pull", "sub", "--ack", *place)
    assert "name: sub" in installed.command("pubsub-emulator", "export", *place)
    stop(server)
    server, address = installed.serve("cloud-pubsub-emulator", "--host=127.0.0.1", "--port=0")
    stop(server)


def stop(server: subprocess.Popen[str]) -> None:
    """End a server, which must end well."""
    server.send_signal(signal.SIGTERM)
    status = server.wait(_HANG_LIMIT_S)
    assert status == 0, f"exit status {status}"


def main(arguments: list[str]) -> int:
    """Try every distribution that is named."""
    for name in arguments:
        with tempfile.TemporaryDirectory(prefix="smoke-") as folder:
            try_out(Installed(Path(folder), Path(name)))
        print(f"{name}: installed and works")
    return 0 if arguments else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
