"""How a server that was started by the command ends."""

from __future__ import annotations

import signal
import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.api import pubsub
from tests.cli.conftest import Launch
from tests.cli.process import HANG_LIMIT_S, Process
from tests.wire import Wire

SUBSCRIPTION = "projects/demo/subscriptions/invoices"
#: Runs the command after `code`, which may prepare what happens to it.
PREPARED = "import os, signal, sys\n{}\nfrom emulator.cli import main\nsys.exit(main())"


def by_signal(number: int) -> Callable[[Process, int], None]:
    def stop(server: Process, port: int) -> None:
        server.signal(number)

    return stop


def by_http(server: Process, port: int) -> None:
    urllib.request.urlopen(f"http://127.0.0.1:{port}/shutdown", data=b"").close()


WAYS = [
    pytest.param(by_signal(signal.SIGTERM), id="SIGTERM"),
    pytest.param(by_signal(signal.SIGINT), id="SIGINT"),
    pytest.param(by_signal(signal.SIGHUP), id="SIGHUP"),
    pytest.param(by_http, id="shutdown"),
]


@pytest.mark.parametrize("stop", WAYS)
def test_who_waits_is_answered_and_nothing_is_left(
    launch: Launch, temporary: Path, stop: Callable[[Process, int], None]
) -> None:
    server = launch("start", "--port", "0")
    port = server.wait_port()
    assert [path.name for path in temporary.glob("*/*")] == ["grpc"]
    wire = Wire(f"127.0.0.1:{port}")
    wire.create("projects/demo/topics/orders", SUBSCRIPTION)
    waiting = wire.start("Pull", pubsub.PullRequest(subscription=SUBSCRIPTION, max_messages=1))
    # Calls of a connection arrive in order: answered is this one only after the other is there.
    wire("GetSubscription", pubsub.GetSubscriptionRequest(subscription=SUBSCRIPTION))
    stop(server, port)
    assert waiting.result(HANG_LIMIT_S) == pubsub.PullResponse()
    assert server.wait() == 0
    assert len(server.lines) == 2
    assert list(temporary.iterdir()) == []
    socket.create_server(("127.0.0.1", port)).close()
    wire.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_among_the_imports_ends_it(launch: Launch, number: int) -> None:
    code = f"""
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "emulator.server":
            os.kill(os.getpid(), {int(number)})
sys.meta_path.insert(0, Finder())"""
    server = launch("start", "--port", "0", python=("-c", PREPARED.format(code)))
    assert server.wait() == 0
    assert server.lines == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_during_the_start_ends_it(launch: Launch, temporary: Path, number: int) -> None:
    code = f"""
from emulator.transport import listeners
import emulator.server
def open_listeners(*arguments):
    os.kill(os.getpid(), {int(number)})
    return listeners.open_listeners(*arguments)
emulator.server.open_listeners = open_listeners"""
    server = launch("start", "--port", "0", python=("-c", PREPARED.format(code)))
    assert server.wait() == 0
    assert server.lines == []
    assert list(temporary.iterdir()) == []


ENDLESS_STOP = """
import asyncio, emulator.server
async def stop(self):
    print("stopping", file=sys.stderr, flush=True)
    await asyncio.Event().wait()
emulator.server.Server.stop = stop
import emulator.cli.start"""


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_a_second_interrupt_ends_it_at_once(launch: Launch, first: int) -> None:
    code = ENDLESS_STOP + f"\nemulator.cli.start.STOP_S = {10 * HANG_LIMIT_S}"
    server = launch("start", "--port", "0", python=("-c", PREPARED.format(code)))
    server.wait_port()
    server.signal(first)
    server.wait_line("stopping")
    server.signal(signal.SIGINT)
    assert server.wait() == 130
    assert server.lines[-1] == "stopping"


def test_a_repeated_request_to_terminate_is_no_sign_of_impatience(launch: Launch) -> None:
    code = """
import emulator.server
really_stop = emulator.server.Server.stop
async def stop(self):
    os.kill(os.getpid(), signal.SIGTERM)
    await really_stop(self)
emulator.server.Server.stop = stop"""
    server = launch("start", "--port", "0", python=("-c", PREPARED.format(code)))
    server.wait_port()
    server.signal(signal.SIGTERM)
    assert server.wait() == 0


def test_a_stop_that_does_not_end_is_cut_off(launch: Launch) -> None:
    code = ENDLESS_STOP + "\nemulator.cli.start.STOP_S = 0.01"
    server = launch("start", "--port", "0", python=("-c", PREPARED.format(code)))
    server.wait_port()
    server.signal(signal.SIGTERM)
    assert server.wait() == 0
    assert server.lines[-1] == "stopping"


def test_what_a_killed_server_left_is_removed_by_the_next(launch: Launch, temporary: Path) -> None:
    killed, living = launch("start", "--port", "0"), launch("start", "--port", "0")
    killed.wait_port()
    living.wait_port()
    assert len(list(temporary.glob("*/grpc"))) == 2
    killed.signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    assert len(list(temporary.glob("*/grpc"))) == 2
    launch("start", "--port", "0").wait_port()
    assert len(list(temporary.iterdir())) == 2
    living.signal(signal.SIGTERM)
    assert living.wait() == 0
    assert len(list(temporary.iterdir())) == 1


def test_interrupts_reach_a_server_in_the_background_of_a_script(launch: Launch) -> None:
    ignoring = "signal.signal(signal.SIGINT, signal.SIG_IGN)"
    server = launch("start", "--port", "0", python=("-c", PREPARED.format(ignoring)))
    server.wait_port()
    server.signal(signal.SIGINT)
    assert server.wait() == 0


def test_a_terminal_that_closes_does_not_end_what_was_left_running(launch: Launch) -> None:
    ignoring = "signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    server = launch("start", "--port", "0", python=("-c", PREPARED.format(ignoring)))
    port = server.wait_port()
    server.signal(signal.SIGHUP)
    wire = Wire(f"127.0.0.1:{port}")
    wire.create("projects/demo/topics/orders")
    wire.close()


def test_no_module_beyond_need_is_imported_by_a_start(launch: Launch) -> None:
    code = """
import atexit
late = ("aiohttp", "json", "google.protobuf.json_format")
atexit.register(lambda: print("loaded", *(n for n in late if n in sys.modules), file=sys.stderr))"""
    server = launch("start", "--port", "0", python=("-c", PREPARED.format(code)))
    server.wait_port()
    server.signal(signal.SIGTERM)
    assert server.wait() == 0
    assert server.lines[-1] == "loaded"
