"""`env`: what it prints, and what a shell makes of it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from emulator.cli import main
from tests.cli.process import HANG_LIMIT_S, ROOT

PROJECT_VARIABLES = ("PUBSUB_PROJECT_ID", "GOOGLE_CLOUD_PROJECT")


@pytest.fixture(autouse=True)
def no_project(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROJECT_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "localhost:8085"),
        (["--host-port", ":9000"], "localhost:9000"),
        (["--host-port", "9000"], "localhost:9000"),
        (["--host-port", "[::1]:8085"], "[::1]:8085"),
        (["--host-port", "[::1]"], "[::1]:8085"),
        (["--host-port", "pubsub:80"], "pubsub:80"),
        # Clients cannot be told to connect to every address.
        (["--host-port", "0.0.0.0:8085"], "localhost:8085"),
        (["--host-port", "[::]:8085"], "localhost:8085"),
    ],
)
def test_the_host_is_one_that_clients_can_connect_to(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["env", *arguments]) == 0
    assert capsys.readouterr().out == f"export PUBSUB_EMULATOR_HOST={expected}\n"


@pytest.mark.parametrize(
    ("variables", "arguments", "expected"),
    [
        ({}, ["--project", "one"], "one"),
        ({"PUBSUB_PROJECT_ID": "two"}, [], "two"),
        ({"GOOGLE_CLOUD_PROJECT": "three"}, [], "three"),
        ({"PUBSUB_PROJECT_ID": "two", "GOOGLE_CLOUD_PROJECT": "three"}, [], "two"),
        ({"PUBSUB_PROJECT_ID": "", "GOOGLE_CLOUD_PROJECT": "three"}, [], "three"),
        ({"PUBSUB_PROJECT_ID": "two"}, ["--project", "one"], "one"),
    ],
)
def test_the_project_is_the_option_or_that_of_the_environment(
    variables: dict[str, str],
    arguments: list[str],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main(["env", *arguments]) == 0
    [_, line] = capsys.readouterr().out.splitlines()
    assert line == f"export PUBSUB_PROJECT_ID={expected}"


@pytest.mark.parametrize("evaluation", ['eval "$({})"', "eval $({})"])
@pytest.mark.parametrize("host_port", ["[::1]:9000", "localhost:8085"])
@pytest.mark.parametrize("project", ["demo", "example.com:demo", "it's; echo $HOME"])
def test_a_shell_takes_it_over(evaluation: str, host_port: str, project: str) -> None:
    command = '"$PYTHON" -m emulator env --host-port "$ADDRESS" --project "$PROJECT"'
    show = 'printf "%s\\n" "$PUBSUB_EMULATOR_HOST" "$PUBSUB_PROJECT_ID"'
    variables = {"PYTHON": sys.executable, "ADDRESS": host_port, "PROJECT": project}
    shell = subprocess.run(
        ["sh", "-euc", f"{evaluation.format(command)}\n{show}"],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=HANG_LIMIT_S,
        check=True,
    )
    assert shell.stdout == f"{host_port}\n{project}\n"
    assert shell.stderr == ""
