"""Start-up resources of the running command: there before the line that all wait for."""

from __future__ import annotations

import json
import signal
import socket
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Launch
from tests.cli.process import STARTED, Process

FILE = "projects: {demo: {topics: [events], subscriptions: [{name: sub, topic: events}]}}"


def listed(port: int, collection: str, project: str = "demo") -> list[str]:
    url = f"http://127.0.0.1:{port}/v1/projects/{project}/{collection}"
    answer: dict[str, Any] = json.load(urllib.request.urlopen(url))
    return [each["name"].rpartition("/")[2] for each in answer.get(collection, [])]


def start(launch: Launch, *arguments: str, variables: dict[str, str] | None = None) -> Process:
    return launch("start", "--host-port=127.0.0.1:0", *arguments, variables=variables)


@pytest.fixture
def file(temporary: Path) -> Path:
    path = temporary / "resources.yaml"
    path.write_text(FILE)
    return path


def test_they_exist_when_the_server_has_started(launch: Launch, file: Path) -> None:
    process = start(launch, "--config", str(file))
    port = process.wait_port()
    assert "Start-up resources: created 1 topic, 1 subscription" in process.lines
    assert listed(port, "topics") == ["events"]
    assert listed(port, "subscriptions") == ["sub"]


def test_a_variable_names_the_file(launch: Launch, file: Path) -> None:
    port = start(launch, variables={"PUBSUB_EMULATOR_CONFIG": str(file)}).wait_port()
    assert listed(port, "topics") == ["events"]


def test_a_wrong_file_ends_the_start_with_its_line(launch: Launch, file: Path) -> None:
    file.write_text(FILE.replace("topic: events", "topic: gone"))
    process = start(launch, "--config", str(file))
    assert process.wait() == 1
    [line] = process.lines
    assert f"{file}:1: projects.demo.subscriptions[0].topic: Resource not found" in line


def test_a_missing_file_ends_the_start(launch: Launch, temporary: Path) -> None:
    process = start(launch, "--config", str(temporary / "none.yaml"))
    assert process.wait() == 1
    assert "none.yaml: cannot be read: No such file or directory" in process.lines[-1]


def test_files_and_variables_together(launch: Launch, file: Path) -> None:
    variables = {"PUBSUB_PROJECT1": "demo,events:other,more", "PUBSUB_PROJECT2": "second,here"}
    process = start(launch, "--config", str(file), "--ready-port=0", variables=variables)
    port = process.wait_port()
    assert listed(port, "topics") == ["events", "more"]
    assert listed(port, "subscriptions") == ["other", "sub"]
    assert listed(port, "topics", "second") == ["here"]


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def test_the_ready_port_is_open_when_they_exist(launch: Launch, file: Path) -> None:
    """By a connection, as `nc -z` and wait-for-it do, and by HTTP."""
    ready = free_port()
    process = start(launch, "--config", str(file), "--ready-port", str(ready))
    process.wait_port()
    socket.create_connection(("127.0.0.1", ready)).close()
    assert urllib.request.urlopen(f"http://127.0.0.1:{ready}").read() == b"Ok\n"
    process.signal(signal.SIGTERM)
    assert process.wait() == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", ready))


def test_a_ready_port_that_is_taken_ends_the_start(launch: Launch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = start(launch, "--ready-port", str(taken.getsockname()[1]))
        assert process.wait() == 1
    assert not [line for line in process.lines if line.startswith(STARTED)]


def test_a_changed_file_is_applied_again(launch: Launch, file: Path) -> None:
    process = start(launch, "--config", str(file), "--config-watch")
    port = process.wait_port()
    file.write_text(FILE.replace("[events]", "[events, later]"))
    process.wait_line(f"{file} was applied again: created 1 topic")
    assert listed(port, "topics") == ["events", "later"]
    file.write_text(FILE.replace("[events]", "[events, x]"))
    process.wait_line("2")  # an error, with its time: a topic's name is too short
    assert "Invalid resource name given (name=projects/demo/topics/x)" in process.lines[-1]
    assert listed(port, "topics") == ["events", "later"]
    file.unlink()
    process.wait_line("2")
    assert "cannot be read" in process.lines[-1]
    assert listed(port, "topics") == ["events", "later"]


def test_watching_needs_a_file(launch: Launch) -> None:
    process = start(launch, "--config-watch")
    assert process.wait() == 2
    assert "--config-watch needs a --config to watch" in process.lines[-1]


def test_topics_are_made_on_first_use_when_asked(launch: Launch) -> None:
    process = start(launch, "--auto-create")
    port = process.wait_port()
    body = json.dumps({"messages": [{"data": "YQ=="}]}).encode()
    url = f"http://127.0.0.1:{port}/v1/projects/demo/topics/new:publish"
    assert b"messageIds" in urllib.request.urlopen(url, data=body).read()
    process.wait_line("Topic projects/demo/topics/new did not exist and was made")
    assert listed(port, "topics") == ["new"]
