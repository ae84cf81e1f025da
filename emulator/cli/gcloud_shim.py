"""`gcloud` for scripts that start Google's emulator by it: `gcloud beta emulators pubsub start`.

It stands in front of the real gcloud on the PATH, by `pubsub-emulator install-gcloud-shim DIR`, and
hands every other command on to it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from emulator import __version__
from emulator.cli import command
from emulator.cli.host_port import HostPort
from emulator.cli.words import Given, split

MARK = "pubsub-emulator gcloud shim"
"""Stands in the script that runs this, so that it is not taken for the real gcloud."""
_TRACKS = ("alpha", "beta")
_EMULATOR = ["emulators", "pubsub"]
#: Options of gcloud that have a value, which may stand behind a space.
_WITH_VALUE = (
    "host-port", "data-dir", "project", "account", "billing-project", "configuration",
    "access-token-file", "flags-file", "format", "impersonate-service-account", "trace-token",
    "verbosity", "flatten", "filter",
)  # fmt: skip
_ENV_FILE = "env.yaml"
_ENV_PREFIX = "PUBSUB_EMULATOR_HOST: "


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    given = split(arguments, _WITH_VALUE)
    words = given.words[1:] if given.words[:1] and given.words[0] in _TRACKS else given.words
    if words[:2] == _EMULATOR and not given.options.keys() & {"help", "h"}:
        if words[2:] == ["start"]:
            return _start(given)
        if words[2:] == ["env-init"]:
            return _env_init(given)
    return _real_gcloud(arguments, words)


def _start(given: Given) -> int:
    options = dict(given.options)
    host_port = options.pop("host-port", None)
    folder = _data_folder(options.pop("data-dir", None))
    words = [f"--host-port={host_port}"] if host_port else []
    ignored = [f"--{name}" for name in options]
    return command.start_as_google(words, ignored, _env_writer(host_port, folder))


def _data_folder(option: str | None) -> Path:
    if option:
        return Path(option).expanduser()
    config = os.environ.get("CLOUDSDK_CONFIG") or "~/.config/gcloud"
    return Path(config).expanduser() / "emulators" / "pubsub"


def _env_writer(host_port: str | None, folder: Path) -> Callable[[int], None]:
    """What leaves the address for `env-init` to find, once the port is known."""

    def write(port: int) -> None:
        host = HostPort.parse(host_port).host if host_port else None
        name = "localhost" if host is None else f"[{host}]" if ":" in host else host
        try:
            folder.mkdir(parents=True, exist_ok=True)
            text = f"---\n{_ENV_PREFIX}{name}:{port}\n"
            (folder / _ENV_FILE).write_text(text, encoding="utf-8")
        except OSError as error:
            import logging

            # In an image there may be no place to write to, nor anybody to read it.
            logging.getLogger(__name__).debug("%s was not written: %s", _ENV_FILE, error)

    return write


def _env_init(given: Given) -> int:
    folder = _data_folder(given.options.get("data-dir"))
    try:
        lines = (folder / _ENV_FILE).read_text(encoding="utf-8").splitlines()
        [host_port] = [
            line.removeprefix(_ENV_PREFIX) for line in lines if line.startswith(_ENV_PREFIX)
        ]
    except (OSError, ValueError):
        print(
            "ERROR: (gcloud.beta.emulators.pubsub.env-init) Unable to find env.yaml in the"
            f" data_dir [{folder}]. Please ensure you have started the appropriate emulator.",
            file=sys.stderr,
        )
        return 1
    print(f"export PUBSUB_EMULATOR_HOST={host_port}")
    return 0


def _real_gcloud(arguments: list[str], words: list[str]) -> int:
    real = find_real_gcloud(os.environ.get("PATH", ""))
    if real is not None:
        _become(real, arguments)
    if words == ["version"] or "--version" in arguments:
        print(f"pubsub-emulator {__version__} in place of gcloud")
        return 0
    shown = " ".join(["gcloud", *words])
    print(
        f"ERROR: ({shown}) this gcloud only has `emulators pubsub start` and `env-init`, and there"
        " is no other gcloud on the PATH.",
        file=sys.stderr,
    )
    return 1


def _become(program: str, arguments: list[str]) -> NoReturn:
    if sys.platform == "win32":
        import subprocess

        sys.exit(subprocess.run([program, *arguments], check=False).returncode)
    os.execv(program, [program, *arguments])


def find_real_gcloud(path: str) -> str | None:
    """Return the first gcloud on the PATH that is not this one."""
    for folder in path.split(os.pathsep):
        candidate = Path(folder or ".") / "gcloud"
        if candidate.is_file() and os.access(candidate, os.X_OK) and not is_shim(candidate):
            return str(candidate)
    return None


def is_shim(file: Path) -> bool:
    """Tell whether a file is the script that `install` writes."""
    with file.open("rb") as opened:
        return MARK.encode() in opened.read(400)


def install(folder: Path) -> Path:
    """Write the script into `folder`; raises FileExistsError where another gcloud is."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "gcloud"
    if file.exists() and not is_shim(file):
        raise FileExistsError(f"{file} exists and is not ours: choose another folder")
    python = sys.executable.replace("'", "'\\''")
    file.write_text(
        f"#!/bin/sh\n# {MARK}\nexec '{python}' -P -m emulator.cli.gcloud_shim \"$@\"\n",
        encoding="utf-8",
    )
    file.chmod(0o755)
    return file


if __name__ == "__main__":
    sys.exit(main())
