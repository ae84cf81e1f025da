"""The everyday commands, as somebody types them."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from emulator.cli import main
from emulator.cli.table import Progress
from emulator.cli.times import timestamp
from emulator.testing import Emulator
from tests.cli.process import HANG_LIMIT_S
from tests.wire import Names, Wire, data

Say = Callable[..., list[str]]


@pytest.fixture
def say(
    emulator: Emulator, names: Names, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Say:  # fmt: skip
    """Run a command in the test's own project; return its lines."""
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", emulator.host_port)
    monkeypatch.setenv("PUBSUB_PROJECT_ID", names.project)

    def run(*arguments: str, status: int = 0) -> list[str]:
        capsys.readouterr()
        assert main(arguments) == status, capsys.readouterr().err
        out, err = capsys.readouterr()
        return (out if status == 0 else err).splitlines()

    return run


def test_topics_are_listed(say: Say, wire: Wire, names: Names) -> None:
    for number in range(103):  # more than a page
        wire.create(names.topic(f"topic-{number:03}"))
    head, *rows = say("topics", "list")
    assert head.split() == ["TOPIC", "RETENTION", "SCHEMA", "LABELS"]
    assert [row.strip() for row in rows] == [f"topic-{number:03}" for number in range(103)]
    assert json.loads(say("topics", "list", "--json")[0]) == {"name": names.topic("topic-000")}


def test_subscriptions_are_listed(say: Say, wire: Wire, names: Names) -> None:
    wire.create(names.topic("events"), names.subscription("sub"))
    _, row = say("subscriptions", "list")
    assert row.split() == ["sub", "events", "pull", "600s"]
    assert json.loads(say("subscriptions", "list", "--json")[0])["state"] == "ACTIVE"
    say("subscriptions", "list", "--project", "nobody-s")


def test_a_message_is_published_and_pulled(say: Say, wire: Wire, names: Names) -> None:
    wire.create(names.topic("events"), names.subscription("sub"))
    [message_id] = say("publish", "events", "-d", "hällo", "-a", "a=b=c", "-a", "x=", "--key", "k")
    head, row = say("pull", "sub", "--ack")
    assert head.split() == ["MESSAGE", "ID", "PUBLISHED", "ATTEMPT", "KEY", "ATTRIBUTES", "DATA"]
    got_id, _, *rest = row.split()
    assert (got_id, rest) == (message_id, ["k", "a=b=c,x=", "hällo"])
    assert say("pull", "sub") == []


def test_full_names_need_no_project(
    say: Say, wire: Wire, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.create(names.topic("events"))
    monkeypatch.delenv("PUBSUB_PROJECT_ID")
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)
    assert len(say("publish", names.topic("events"), "-d", "a")) == 1
    [line] = say("publish", "events", "-d", "a", status=2)
    assert line.startswith("pubsub-emulator publish: which project? Give --project or set")


@pytest.mark.parametrize("way", ["-f", "-"])
def test_data_comes_from_a_file_or_standard_input(
    say: Say, wire: Wire, names: Names, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.create(names.topic("events"), names.subscription("sub"))
    content = b"one\ntwo\x00\xff\n"
    file = tmp_path / "data"
    file.write_bytes(content)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    source = ["-f", str(file)] if way == "-f" else ["-"]
    say("publish", "events", *source)
    assert data(wire.pull(names.subscription("sub"))) == [content]


def test_lines_and_repetitions_are_messages_of_their_own(
    say: Say, wire: Wire, names: Names, tmp_path: Path
) -> None:
    wire.create(names.topic("events"), names.subscription("sub"))
    file = tmp_path / "data"
    file.write_text("a\nb\n")
    ids = say("publish", "events", "-f", str(file), "--lines", "-n", "600")
    assert len(set(ids)) == 1200  # two requests
    lines = say("pull", "sub", "-n", "1200", "--json")
    assert [json.loads(line)["message"]["data"] for line in lines] == ["YQ==", "Yg=="] * 600


def test_pulling_follows_until_it_has_enough(say: Say, wire: Wire, names: Names) -> None:
    wire.create(names.topic("events"), names.subscription("sub"))
    timer = threading.Timer(0.2, lambda: wire.publish(names.topic("events"), b"a", b"b"))
    timer.start()
    try:
        lines = say("pull", "sub", "--follow", "-n", "2", "--json", "--ack")
    finally:
        timer.join()
    assert len(lines) == 2


def test_what_is_no_text_is_shown_as_bytes(say: Say, wire: Wire, names: Names) -> None:
    wire.create(names.topic("events"), names.subscription("sub"))
    wire.publish(names.topic("events"), b"\xff\x00", b"tab\tand\x1b[1m")
    _, first, second = say("pull", "sub")
    assert first.endswith("2 bytes: ff 00")
    assert second.endswith("tab\\tand\\x1b[1m")  # nothing that a terminal would obey


def test_seeking_brings_messages_back(say: Say, wire: Wire, names: Names) -> None:
    wire.create(names.topic("events"), names.subscription("sub"))
    wire.publish(names.topic("events"), b"a")
    say("seek", "sub", "--time", "now")
    assert say("pull", "sub") == []
    [line] = say("seek", "sub", "--snapshot", "none", status=1)
    assert line == "pubsub-emulator seek: NOT_FOUND: Resource not found (resource=none)."
    assert "is not a time like" in say("seek", "sub", "--time", "soon", status=2)[0]


def test_everything_is_forgotten(
    own_emulator: Emulator, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--host-port", own_emulator.host_port, "--project", "demo"]
    wire = Wire(own_emulator.host_port)
    wire.create("projects/demo/topics/events")
    assert main(["reset", *place]) == 0
    assert main(["topics", "list", "--json", *place]) == 0
    assert capsys.readouterr().out == ""
    wire.close()


def test_a_missing_topic_is_told_in_one_line(say: Say) -> None:
    [line] = say("publish", "none", "-d", "a", status=1)
    assert line == "pubsub-emulator publish: NOT_FOUND: Resource not found (resource=none)."


def test_a_missing_emulator_is_told_in_one_line(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", "http://127.0.0.1:1/")
    [line] = say("topics", "list", status=1)
    assert line.startswith("pubsub-emulator topics: no emulator answers at 127.0.0.1:1 (")


@pytest.mark.parametrize(
    "arguments",
    [
        ["publish", "t", "-d", "a", "-f", "b"],
        ["publish", "t", "-d", "a", "-a", "novalue"],
        ["publish", "t", "-d", "a", "-n", "0"],
        ["pull", "s", "-n", "x"],
        ["seek", "s"],
        ["topics"],
    ],
)
def test_wrong_usage_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_times_are_read_as_people_write_them() -> None:
    now = datetime(2024, 1, 31, 12, tzinfo=UTC)
    assert timestamp("now", now) == "2024-01-31T12:00:00Z"
    assert timestamp("-90m", now) == "2024-01-31T10:30:00Z"
    assert timestamp("10m", now) == "2024-01-31T11:50:00Z"
    assert timestamp("start", now) == "1970-01-01T00:00:00Z"
    assert timestamp("2024-01-31T12:00:00.5+02:00") == "2024-01-31T10:00:00.500000Z"
    with pytest.raises(ValueError, match="has no zone"):
        timestamp("2024-01-31T12:00:00")


def test_progress_is_shown_on_a_terminal_only() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown, hidden = Terminal(), io.StringIO()
    for stream in (shown, hidden):
        progress = Progress("published", 3, stream)
        progress.add(1)
        progress.add(2)
        progress.end()
    assert shown.getvalue() == "\rpublished 1 of 3\rpublished 3 of 3\n"
    assert hidden.getvalue() == ""


def test_bash_completes_commands_and_options() -> None:
    def complete(*words: str) -> list[str]:
        text = 'eval "$("$PYTHON" -m emulator completion bash)"; COMP_WORDS=("$@");'
        text += "COMP_CWORD=$(($# - 1)); _pubsub_emulator; printf '%s\\n' \"${COMPREPLY[@]}\""
        answer = subprocess.run(
            ["bash", "-c", text, "bash", "pubsub-emulator", *words],
            env={"PYTHON": sys.executable, "PATH": "/usr/bin:/bin"},
            capture_output=True, text=True, timeout=HANG_LIMIT_S, check=True,
        )  # fmt: skip
        return answer.stdout.split()

    assert complete("pub") == ["publish"]
    assert complete("start", "--config") == ["--config", "--config-watch"]
    assert complete("topics", "l") == ["list"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_completed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script: Any = capsys.readouterr().out
    for word in ("start", "publish", "subscriptions", "host-port"):
        assert word in script


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break otherwise there")
def test_a_reader_who_has_had_enough_is_no_fault(emulator: Emulator) -> None:
    text = f"'{sys.executable}' -m emulator completion bash | head -c 1 >/dev/null;"
    text += f"'{sys.executable}' -m emulator doctor {emulator.host_port} | true"
    answer = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=False)
    assert answer.stderr == ""


def test_no_command_imports_what_it_does_not_need() -> None:
    """protobuf, gRPC and YAML take longer to load than these commands to run."""
    text = "import sys; from emulator.cli import hands, publishing, pulling, command;"
    text += "print([m for m in ('grpc', 'google.protobuf', 'yaml', 'aiohttp') if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", text], capture_output=True, check=True)
    assert answer.stdout.decode().strip() == "[]"
