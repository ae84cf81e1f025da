"""`start`: its lines, its addresses, and what it refuses."""

from __future__ import annotations

import json
import socket
import urllib.request

import grpc
import pytest

from emulator import __version__
from emulator.api import pubsub
from tests.cli.conftest import Launch
from tests.cli.process import STARTED
from tests.wire import Wire


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


def answers(host: str, port: int) -> bool:
    with urllib.request.urlopen(f"http://{host}:{port}/") as response:
        return bool(response.read() == b"Ok\n")


@needs_ipv6
def test_both_loopbacks_are_served_and_told_before_the_line_that_all_is(launch: Launch) -> None:
    server = launch("start", "--port", "0")
    port = server.wait_port()
    assert server.lines == [
        f"Pub/Sub emulator {__version__} on 127.0.0.1:{port}, [::1]:{port}",
        f"{STARTED}{port}",
    ]
    assert answers("127.0.0.1", port)
    assert answers("[::1]", port)


@pytest.mark.parametrize("module", ["emulator", "emulator.cli"])
def test_it_can_be_run_as_a_module(launch: Launch, module: str) -> None:
    server = launch("start", "--port", "0", python=("-m", module))
    assert answers("127.0.0.1", server.wait_port())


@needs_ipv6
@pytest.mark.parametrize(
    ("arguments", "address"),
    [
        (["--host-port", "[::1]:0"], "[::1]"),
        (["--host-port", "127.0.0.1:0"], "127.0.0.1"),
        (["--host", "::1", "--port", "0"], "[::1]"),
        (["--host", "[::1]", "--port", "0"], "[::1]"),
    ],
)
def test_one_address_is_served_when_one_is_named(
    launch: Launch, arguments: list[str], address: str
) -> None:
    server = launch("start", *arguments)
    port = server.wait_port()
    assert server.lines[0].endswith(f" on {address}:{port}")


@needs_ipv6
@pytest.mark.parametrize("hosts", [["::1,127.0.0.1"], ["::1", "127.0.0.1"]])
def test_hosts_are_a_list_or_repeated(launch: Launch, hosts: list[str]) -> None:
    options = [option for host in hosts for option in ("--host", host)]
    server = launch("start", "--port", "0", *options)
    port = server.wait_port()
    assert server.lines[0].endswith(f" on [::1]:{port}, 127.0.0.1:{port}")


def test_the_variable_of_clients_is_not_for_the_server(launch: Launch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        busy = f"127.0.0.1:{other.getsockname()[1]}"
        server = launch("start", "--port", "0", variables={"PUBSUB_EMULATOR_HOST": busy})
        assert server.wait_port() != other.getsockname()[1]


def test_calls_and_connections_leave_no_line(launch: Launch) -> None:
    server = launch("start", "--port", "0")
    port = server.wait_port()
    wire = Wire(f"127.0.0.1:{port}")
    wire.create("projects/demo/topics/orders", "projects/demo/subscriptions/invoices")
    wire.close()
    with pytest.raises(urllib.error.HTTPError):
        answers("127.0.0.1", f"{port}/nowhere")  # type: ignore[arg-type]
    urllib.request.urlopen(f"http://127.0.0.1:{port}/shutdown", data=b"").close()
    assert server.wait() == 0
    assert len(server.lines) == 2


def test_in_json_every_line_but_the_one_scripts_wait_for_is_an_object(launch: Launch) -> None:
    server = launch("start", "--port", "0", "--log-format", "json")
    port = server.wait_port()
    *others, started = server.lines
    assert started == f"{STARTED}{port}"
    [banner] = [json.loads(line) for line in others]
    assert banner.keys() == {"time", "level", "logger", "message"}
    assert banner["message"].startswith(f"Pub/Sub emulator {__version__} on ")
    assert (banner["level"], banner["logger"]) == ("INFO", "emulator.cli.start")


def test_at_a_higher_level_only_the_line_that_scripts_wait_for_is_left(launch: Launch) -> None:
    server = launch("start", "--port", "0", "--log-level", "WARNING")
    server.wait_port()
    assert len(server.lines) == 1


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_busy_port_is_told_in_one_line(launch: Launch, log_format: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        server = launch("start", "--host-port", address, "--log-format", log_format)
        assert server.wait() == 1
    [line] = server.lines
    assert f"Cannot listen on {address}: the port is in use" in line


def test_a_host_that_is_none_of_the_machine_is_told_in_one_line(launch: Launch) -> None:
    server = launch("start", "--host-port", "192.0.2.1:0")
    assert server.wait() == 1
    [line] = server.lines
    assert "Cannot listen on 192.0.2.1:0: " in line


@pytest.mark.spec("NAM-16")
def test_only_the_projects_that_are_listed_exist(launch: Launch) -> None:
    server = launch("start", "--port", "0", "--projects", "one,two", "--projects", "three")
    wire = Wire(f"127.0.0.1:{server.wait_port()}")
    for project in ("project-one", "one", "two", "three"):
        request = pubsub.Topic(name=f"projects/{project}/topics/orders")
        if project != "project-one":
            assert wire("CreateTopic", request).name == request.name
            continue
        with pytest.raises(grpc.RpcError) as caught:
            wire("CreateTopic", request)
        assert caught.value.code() == grpc.StatusCode.NOT_FOUND
    wire.close()
    assert server.lines[0].endswith(", only for one, three, two")


def test_a_project_is_accepted_and_changes_nothing(launch: Launch) -> None:
    server = launch("start", "--port", "0", "--project", "one")
    wire = Wire(f"127.0.0.1:{server.wait_port()}")
    wire.create("projects/demo/topics/orders")
    wire.close()


def test_origins_and_hosts_are_allowed_by_repeated_options(launch: Launch) -> None:
    origins = ["--allow-origin", "https://a.example", "--allow-origin", "null"]
    hosts = ["--allow-host", "pubsub.example", "--allow-host", "*.corp.example"]
    port = launch("start", "--port", "0", *origins, *hosts).wait_port()

    def status(**headers: str) -> int:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/", headers=headers)
        try:
            with urllib.request.urlopen(request) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code

    for origin in ("https://a.example", "null", "http://localhost:3000"):
        assert status(Origin=origin) == 200
    for host in ("pubsub.example", "a.corp.example"):
        assert status(Host=host) == 200
    assert status(Origin="https://b.example") == 403
    assert status(Host="b.example") == 403
