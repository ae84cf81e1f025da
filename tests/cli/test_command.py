"""The command line itself: what it accepts and what it refuses, in one line."""

from __future__ import annotations

import pytest

from emulator import __version__
from emulator.cli import main
from emulator.cli.host_port import HostPort, hosts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost:9000", HostPort("localhost", 9000)),
        ("0.0.0.0:8085", HostPort("0.0.0.0", 8085)),
        ("[::1]:9000", HostPort("::1", 9000)),
        ("[::]:0", HostPort("::", 0)),
        ("[fe80::1%eth0]:1", HostPort("fe80::1%eth0", 1)),
        ("my_host-1.example:80", HostPort("my_host-1.example", 80)),
        (":8085", HostPort(None, 8085)),
        ("8085", HostPort(None, 8085)),
        ("localhost", HostPort("localhost", None)),
        ("[::1]", HostPort("::1", None)),
        (" localhost:1 ", HostPort("localhost", 1)),
    ],
)
def test_addresses_are_read_as_people_write_them(text: str, expected: HostPort) -> None:
    assert HostPort.parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "localhost:",
        "localhost:port",
        "localhost:65536",
        "localhost:-1",
        "99999",
        "::1",
        "::1:8085",
        "[::1",
        "[::1]8085",
        "[::1]:",
        "[localhost]:1",
        "http://localhost:8085",
        "a b:1",
        "a,b:1",
        "$(id):1",
        "[::1%$(id)]:1",
        "localhost:１",
    ],
)
def test_what_is_no_address_is_refused_in_one_line(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_refused(["start", "--host-port", text], capsys, "argument --host-port: ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1,::1", ["127.0.0.1", "::1"]),
        ("[::1], localhost", ["::1", "localhost"]),
    ],
)
def test_hosts_are_a_comma_list(text: str, expected: list[str]) -> None:
    assert hosts(text) == expected


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "COMMAND"),
        (["serve"], "serve"),
        (["start", "--nope"], "--nope"),
        (["start", "--hos", "a"], "--hos"),
        (["start", "--host", ""], "''"),
        (["start", "--host", "a,,b"], "''"),
        (["start", "--host", "localhost:8085"], "use --host-port"),
        (["start", "--port", "65536"], "65536"),
        (["start", "--port", "x"], "'x'"),
        (["start", "--projects", "a,,b"], "empty project"),
        (["start", "--profile", "loose"], "loose"),
        (["start", "--log-level", "loud"], "loud"),
        (["start", "--log-format", "xml"], "xml"),
        (["start", "--allow-origin", "app.example"], "'app.example' is not an origin"),
        (["start", "--allow-origin", "https://app.example/"], "is not an origin"),
        (["start", "--allow-origin", ""], "'' is not an origin"),
        (["start", "--allow-host", "pubsub.example:8085"], "without a port"),
        (["start", "--allow-host", "http://pubsub.example"], "without a port"),
        (["start", "--allow-host", "a.example,b.example"], "is not a host name"),
        (["start", "--host-port", ":1", "--port", "1"], "--host-port"),
        (["start", "--host-port", ":1", "--host", "a"], "--host-port"),
        (["env", "--host-port", "::1"], "[::1]:8085"),
        (["wait", "--timeout", "0"], "'0'"),
        (["wait", "--timeout", "nan"], "'nan'"),
        (["wait", "--timeout", "soon"], "'soon'"),
    ],
)
def test_wrong_usage_is_refused_in_one_line(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_refused(arguments, capsys, named)


def assert_refused(arguments: list[str], capsys: pytest.CaptureFixture[str], named: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert named in err
    assert err.startswith("pubsub-emulator")


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"pubsub-emulator {__version__}\n"


@pytest.mark.parametrize("command", ["start", "env", "wait"])
def test_help_is_given(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert "--host-port" in capsys.readouterr().out
