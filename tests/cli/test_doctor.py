"""Every usual mistake is found, and nothing else."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emulator.cli import main, probes
from emulator.cli.doctor import (
    Finding,
    check_credentials,
    check_project,
    check_proxies,
    check_server,
    check_variable,
    examine,
    judge_client,
)
from emulator.server import Options
from emulator.testing import Emulator


def lines(findings: Iterator[Finding]) -> list[str]:
    return [str(finding) for finding in findings]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("localhost:8085", "ok "),
        ("[::1]:9000", "ok "),
        ("", "PROBLEM  PUBSUB_EMULATOR_HOST is not set, so clients go to the real service: export"),
        ("http://localhost:9000/", "clients take no scheme and no path: export PUBSUB_EMULATOR_HOST"
         "=localhost:9000"),
        ("https://localhost:9000", "has https://, and emulators are spoken to without TLS"),
        ("localhost:9000/v1", "take no scheme and no path"),
        ("localhost", "without a port: export PUBSUB_EMULATOR_HOST=localhost:8085"),
        ("::1:8085", "IPv6 needs brackets: export PUBSUB_EMULATOR_HOST=[::1]:8085"),
        (" localhost:1", "has blanks around it"),
        ("0.0.0.0:8085", "to listen on, not to connect to: export PUBSUB_EMULATOR_HOST=localhost"),
    ],
)  # fmt: skip
def test_the_variable(value: str, expected: str) -> None:
    [line] = lines(check_variable(value))
    assert expected in line


def test_an_emulator_is_well(emulator: Emulator) -> None:
    host, _, port = emulator.host_port.rpartition(":")
    [line] = lines(check_server(host, int(port)))
    assert line == f"ok       {emulator.host_port} answers REST and gRPC"


def test_nothing_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
    [line] = lines(check_server("127.0.0.1", port))
    assert line.startswith(f"PROBLEM  nothing listens at 127.0.0.1:{port} (Connection refused): st")


def test_an_unknown_host() -> None:
    [line] = lines(check_server("no-such-host.invalid", 1))
    assert line.startswith("PROBLEM  the host 'no-such-host.invalid' is unknown")


@contextlib.contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that treats each connection with `answer`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    sock, _ = listener.accept()
                    with sock, contextlib.suppress(OSError, ssl.SSLError):
                        answer(sock)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def send(content: bytes) -> Callable[[socket.socket], None]:
    def answer(sock: socket.socket) -> None:
        sock.recv(100)
        sock.sendall(content)

    return answer


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "answers with something that is no HTTP, not as an emulator"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "answers with another HTTP server"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "another HTTP server"),
        (b"", "answers with nothing"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "speaks TLS only"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nOk\n", "answers REST, but not gRPC"),
    ],
)
def test_something_else_listens(content: bytes, expected: str) -> None:
    with answering(send(content)) as port:
        [line] = lines(check_server("127.0.0.1", port))
    assert expected in line
    assert line.startswith("PROBLEM")


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="there is no IPv6 here")
def test_only_ipv6_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
    monkeypatch.setattr(probes, "resolve", lambda host, port: both)
    with Emulator(Options(hosts=("::1",), port=0)) as emulator:
        found = lines(check_server("localhost", emulator.port))
    assert found[0].startswith("PROBLEM  localhost has two addresses and only IPv6 answers, ::1")
    assert found[1].startswith("ok")


@pytest.mark.parametrize(
    ("variables", "is_caught"),
    [
        ({}, False),
        ({"HTTP_PROXY": "http://proxy:3128"}, True),
        ({"https_proxy": "http://proxy:3128", "NO_PROXY": "example.com"}, True),
        ({"https_proxy": "http://proxy:3128", "NO_PROXY": "example.com, localhost"}, False),
        ({"grpc_proxy": "http://proxy:3128", "no_grpc_proxy": "localhost"}, False),
        ({"http_proxy": "http://proxy:3128", "no_proxy": "*"}, False),
    ],
)
def test_a_proxy_that_catches_localhost(variables: dict[str, str], is_caught: bool) -> None:
    found = lines(check_proxies("localhost", variables))
    assert bool(found) is is_caught
    assert all("export NO_PROXY=localhost" in line for line in found)


def test_a_missing_project() -> None:
    assert lines(check_project({}))[0].startswith("note     no variable names a project")
    assert lines(check_project({"PUBSUB_PROJECT_ID": "p"})) == [
        "ok       the project is p, by PUBSUB_PROJECT_ID"
    ]


def test_credentials(tmp_path: Path) -> None:
    missing = {"GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "none.json")}
    assert lines(check_credentials(missing))[0].endswith("unset GOOGLE_APPLICATION_CREDENTIALS")
    none = {"CLOUDSDK_CONFIG": str(tmp_path)}
    assert "NoCredentialsProvider or AnonymousCredentials()" in lines(check_credentials(none))[0]
    (tmp_path / "application_default_credentials.json").touch()
    assert lines(check_credentials(none)) == []


def test_an_old_client() -> None:
    assert lines(judge_client("1.7.0"))[0].startswith("PROBLEM  google-cloud-pubsub 1.7.0 is older")
    assert lines(judge_client("2.44.0")) == ["ok       google-cloud-pubsub 2.44.0"]


def test_a_healthy_place_has_no_problem(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", emulator.host_port)
    assert main(["doctor"]) == 0
    assert "answers REST and gRPC" in capsys.readouterr().out
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", f"http://{emulator.host_port}")
    assert main(["doctor"]) == 1  # reached all the same, and told what is wrong
    assert "answers REST and gRPC" in capsys.readouterr().out


def test_an_address_that_is_none() -> None:
    assert "is no address" in next(examine("a b", {})).text
