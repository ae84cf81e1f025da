"""`start` with TLS."""

from __future__ import annotations

import ssl
import urllib.request
from pathlib import Path

import pytest

from emulator.cli import main
from tests.cli.conftest import Launch


def test_a_certificate_of_its_own(launch: Launch, temporary: Path) -> None:
    folder = temporary / "certificates"
    process = launch("start", "--host-port=127.0.0.1:0", f"--tls-self-signed={folder}")
    port = process.wait_port()
    trust = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    assert urllib.request.urlopen(f"https://localhost:{port}", context=trust).read() == b"Ok\n"
    assert urllib.request.urlopen(f"http://localhost:{port}").read() == b"Ok\n"


def test_files_that_are_none_end_the_start(launch: Launch, temporary: Path) -> None:
    file = str(temporary / "none.pem")
    process = launch("start", "--host-port=127.0.0.1:0", "--tls-cert", file, "--tls-key", file)
    assert process.wait() == 1
    assert "cannot be used for TLS: No such file or directory" in process.lines[-1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--tls-cert", "a"],
        ["--tls-key", "a"],
        ["--tls-cert", "a", "--tls-key", "b", "--tls-self-signed", "c"],
    ],
)
def test_wrong_usage_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["start", *arguments])
    assert caught.value.code == 2
    assert "--tls-" in capsys.readouterr().err
