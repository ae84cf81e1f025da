"""`wait`: until an emulator answers, or not."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from emulator.cli import main
from emulator.server import Options
from emulator.testing import Emulator
from tests.cli.process import HANG_LIMIT_S


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
    return port


def test_it_returns_when_a_server_answers(
    emulator: Emulator, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wait", "--host-port", emulator.host_port]) == 0
    assert capsys.readouterr() == ("", "")


def test_it_asks_where_clients_are_told_to(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", emulator.host_port)
    assert main(["wait"]) == 0


def test_a_proxy_is_not_asked(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    assert main(["wait", "--host-port", emulator.host_port]) == 0


def test_a_server_may_come_later() -> None:
    port = free_port()
    command = ["wait", "--host-port", f"127.0.0.1:{port}", "--timeout", str(HANG_LIMIT_S)]
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(main, command)
        with Emulator(Options(hosts=("127.0.0.1",), port=port)):
            assert waiting.result(HANG_LIMIT_S) == 0


def test_nobody_there_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    address = f"127.0.0.1:{free_port()}"
    assert main(["wait", "--host-port", address, "--timeout", "0.2"]) == 1
    line = f"pubsub-emulator wait: no emulator answered at {address} in 0.2 s\n"
    assert capsys.readouterr() == ("", line)


def test_an_open_port_is_not_yet_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert main(["wait", "--host-port", address, "--timeout", "0.2"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_a_variable_that_is_no_address_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", "::1:8085")
    assert main(["wait"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "PUBSUB_EMULATOR_HOST: '::1:8085'" in err
