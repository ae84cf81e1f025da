"""Started by Google's commands: the lines that scripts and Testcontainers modules wait for.

The patterns are those of the public modules, as they stand in their sources.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from emulator.cli.gcloud_shim import find_real_gcloud, install
from emulator.cli.words import split
from tests.cli.conftest import Launch
from tests.cli.process import HANG_LIMIT_S, Process

SHIM = ("-m", "emulator.cli.gcloud_shim")
LAUNCHER = ("-m", "emulator.cli.google_launcher")
STARTED = "[pubsub] INFO: Server started, listening on "

#: Module -> the pattern that it searches in the log, and whether it must fit a whole line.
WAITED_FOR = {
    "java": (r".*started.*$", True),
    "go": (r"started", False),
    "node": (r"Server started", False),
    "dotnet": (r"(?s).*started.*$", False),
    "rust": (re.escape("[pubsub] INFO: Server started, listening on"), False),
    "npm wrappers": (r"\[pubsub\] INFOS?: Server started, listening on (\d+)", False),
}  # fmt: skip


def ended_by(process: Process, number: int) -> int:
    process.signal(number)
    return process.wait()


@pytest.mark.parametrize(
    "arguments",
    [
        ["beta", "emulators", "pubsub", "start", "--host-port", "127.0.0.1:0"],  # Java, Go, Node
        ["beta", "emulators", "pubsub", "start", "--project=test", "--host-port=127.0.0.1:0"],
        ["emulators", "pubsub", "start", "--host-port=127.0.0.1:0", "--quiet"],
        ["alpha", "emulators", "pubsub", "start", "--host-port=127.0.0.1:0", "--log-http",
         "--verbosity=debug", "--user-output-enabled", "--configuration", "x"],
        ["--project", "p", "-q", "beta", "emulators", "pubsub", "start", "--host-port=127.0.0.1:0"],
    ],
)  # fmt: skip
def test_gcloud_starts_it_and_every_line_is_as_from_gcloud(
    launch: Launch, temporary: Path, arguments: list[str]
) -> None:
    process = launch(
        *arguments, python=SHIM, variables={"CLOUDSDK_CONFIG": str(temporary / "config")}
    )
    port = int(process.wait_line(STARTED).removeprefix(STARTED))
    assert urllib.request.urlopen(f"http://127.0.0.1:{port}/").read() == b"Ok\n"
    assert ended_by(process, signal.SIGTERM) == 0
    assert [line for line in process.lines if not line.startswith("[pubsub] ")] == []


@pytest.mark.parametrize(("pattern", "is_whole_line"), WAITED_FOR.values(), ids=WAITED_FOR)
def test_the_first_line_that_a_module_waits_for_is_the_last_of_the_start(
    launch: Launch, temporary: Path, pattern: str, is_whole_line: bool
) -> None:
    process = launch(
        "beta", "emulators", "pubsub", "start", "--host-port", "127.0.0.1:0",
        python=SHIM,
        variables={
            "CLOUDSDK_CONFIG": str(temporary),
            "PUBSUB_PROJECT1": "started-project,started:started-sub",
        },
    )  # fmt: skip
    process.wait_line(STARTED)
    match = re.fullmatch if is_whole_line else re.search
    matched = [line for line in process.lines if match(pattern, line)]
    assert matched == process.lines[-1:]
    # Whoever waited for it finds every start-up resource.
    url = f"http://127.0.0.1:{matched[0].split()[-1]}/v1/projects/started-project/subscriptions"
    assert b"subscriptions/started-sub" in urllib.request.urlopen(url).read()
    assert ended_by(process, signal.SIGTERM) == 0


def test_the_raw_launcher_takes_host_port_and_projects(launch: Launch) -> None:
    process = launch(
        "--host=127.0.0.1", "--port", "0", "--projects=good-one,good-two", "--iam_port=1", "--nope",
        python=LAUNCHER,
    )  # fmt: skip
    port = int(process.wait_line(STARTED).removeprefix(STARTED))
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/projects/bad/topics/abc", method="PUT"
    )
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(request)
    assert ended_by(process, signal.SIGTERM) == 0


def test_what_has_no_effect_is_a_debug_line(capsys: pytest.CaptureFixture[str]) -> None:
    given = split(["--project", "p", "beta", "-q", "--x=1", "start"], ("project",))
    assert given.words == ["beta", "start"]
    assert given.options == {"project": "p", "q": None, "x": "1"}


def test_env_init_prints_what_start_left(launch: Launch, temporary: Path) -> None:
    folder = temporary / "data"
    process = launch(
        "beta", "emulators", "pubsub", "start", "--host-port=127.0.0.1:0", f"--data-dir={folder}",
        python=SHIM,
    )  # fmt: skip
    port = process.wait_line(STARTED).removeprefix(STARTED)
    assert (folder / "env.yaml").read_text() == f"---\nPUBSUB_EMULATOR_HOST: 127.0.0.1:{port}\n"
    answer = run_shim("beta", "emulators", "pubsub", "env-init", "--data-dir", str(folder))
    assert answer.stdout == f"export PUBSUB_EMULATOR_HOST=127.0.0.1:{port}\n"


def test_env_init_without_an_emulator_says_so(temporary: Path) -> None:
    answer = run_shim("beta", "emulators", "pubsub", "env-init", f"--data-dir={temporary}")
    assert answer.returncode == 1
    assert answer.stderr.startswith(
        "ERROR: (gcloud.beta.emulators.pubsub.env-init) Unable to find env.yaml in the data_dir ["
    )


def run_shim(*arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *SHIM, *arguments],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=HANG_LIMIT_S,
        check=False,
    )


def script(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "gcloud"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


@pytest.mark.skipif(sys.platform == "win32", reason="the shim is a shell script")
def test_other_commands_go_to_the_real_gcloud(temporary: Path) -> None:
    install(temporary / "shim")
    script(temporary / "real", 'echo "real: $*"; exit 7')
    path = f"{temporary / 'shim'}:{temporary / 'real'}"
    answer = run_shim("pubsub", "topics", "list", "--project=p", path=path)
    assert (answer.stdout, answer.returncode) == ("real: pubsub topics list --project=p\n", 7)


def test_without_a_real_gcloud_other_commands_are_refused(temporary: Path) -> None:
    install(temporary)
    answer = run_shim("pubsub", "topics", "list", path=str(temporary))
    assert answer.returncode == 1
    assert "there is no other gcloud on the PATH" in answer.stderr
    assert run_shim("version", path=str(temporary)).returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="the shim is a shell script")
def test_the_installed_shim_runs_from_anywhere(launch: Launch, temporary: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "emulator", "install-gcloud-shim", str(temporary / "bin")],
        capture_output=True, text=True, timeout=HANG_LIMIT_S, check=True,
    )  # fmt: skip
    assert answer.stdout.startswith(f"{temporary / 'bin' / 'gcloud'} is there.")
    answer = subprocess.run(
        [temporary / "bin" / "gcloud", "beta", "emulators", "pubsub", "env-init",
         f"--data-dir={temporary}"],
        cwd=temporary, capture_output=True, text=True, timeout=HANG_LIMIT_S, check=False,
    )  # fmt: skip
    assert "Unable to find env.yaml" in answer.stderr


def test_another_gcloud_is_never_overwritten(temporary: Path) -> None:
    real = script(temporary, "exit 0")
    with pytest.raises(FileExistsError, match="is not ours"):
        install(temporary)
    assert find_real_gcloud(str(temporary)) == str(real)
    real.unlink()
    install(temporary)
    install(temporary)  # over itself it may be written
    assert find_real_gcloud(str(temporary)) is None
