"""The emulator inside a test's own process: its life from start to stop."""

from __future__ import annotations

import asyncio
import gc
import itertools
import logging
import os
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.api_core.exceptions import NotFound
from google.cloud import pubsub_v1

from emulator.api import pubsub
from emulator.server import ListenError, Options, PortInUse, Server
from emulator.testing import Emulator
from tests.wire import Wire

ROOT = Path(__file__).resolve().parent.parent.parent
HANG_LIMIT_S = 60
TOPIC = "projects/demo/topics/orders"
SUBSCRIPTION = "projects/demo/subscriptions/invoices"

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No test here may bring anything into the log."""
    yield
    assert [each.getMessage() for each in caplog.records if each.levelno > logging.INFO] == []


@pytest.fixture
def threads() -> Iterator[None]:
    """What runs after the test has run before it."""
    before = set(threading.enumerate())
    yield
    assert {each.name for each in set(threading.enumerate()) - before} == set()


def descriptors() -> int:
    gc.collect()
    return len(os.listdir("/dev/fd"))


def exchange(host_port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the official client send a message through."""
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", host_port)
    with pubsub_v1.SubscriberClient() as subscriber:
        publisher = pubsub_v1.PublisherClient()
        publisher.create_topic(name=TOPIC)
        subscriber.create_subscription(name=SUBSCRIPTION, topic=TOPIC)
        sent = publisher.publish(TOPIC, host_port.encode()).result(HANG_LIMIT_S)
        [received] = subscriber.pull(subscription=SUBSCRIPTION, max_messages=5).received_messages
        assert (received.message.message_id, received.message.data) == (sent, host_port.encode())
        publisher.stop()
        publisher.transport.close()


def busy(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return True
    return False


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_several_run_at_once_and_stop_in_any_order(
    order: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    emulators = [Emulator().start() for _ in range(3)]
    for each in emulators:
        exchange(each.host_port, monkeypatch)
    for place, index in enumerate(order):
        emulators[index].stop()
        assert not busy(emulators[index].port)
        for left in order[place + 1 :]:
            wire = Wire(emulators[left].host_port)
            topics = wire("ListTopics", pubsub.ListTopicsRequest(project="projects/demo")).topics
            assert [topic.name for topic in topics] == [TOPIC]
            wire.close()


@pytest.mark.usefixtures("threads")
def test_several_are_used_at_the_same_time() -> None:
    def use(emulator: Emulator) -> None:
        wire = Wire(emulator.host_port)
        wire.create(TOPIC, SUBSCRIPTION)
        request = pubsub.GetTopicRequest(topic=TOPIC)
        assert all(wire("GetTopic", request).name == TOPIC for _ in range(200))
        wire.close()

    with Emulator() as one, Emulator() as two, Emulator() as three, ThreadPoolExecutor() as pool:
        list(pool.map(use, [one, two, three]))


@pytest.mark.usefixtures("threads")
@pytest.mark.skipif(sys.platform == "win32", reason="descriptors are not listed there")
def test_twenty_lives_leave_no_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    with Emulator() as first:  # brings in what stays for the process
        exchange(first.host_port, monkeypatch)
    del first
    before = descriptors()
    for _ in range(20):
        with Emulator() as emulator:
            exchange(emulator.host_port, monkeypatch)
            urllib.request.urlopen(f"http://{emulator.host_port}/").close()
        assert not busy(emulator.port)
    del emulator
    assert descriptors() <= before


@pytest.mark.usefixtures("threads")
@pytest.mark.skipif(sys.platform == "win32", reason="descriptors are not listed there")
def test_a_busy_port_is_raised_where_it_was_started() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        before = descriptors()
        for _ in range(3):
            emulator = Emulator(Options(hosts=("127.0.0.1",), port=port))
            with pytest.raises(PortInUse, match=f"127.0.0.1:{port}"):
                emulator.start()
            emulator.stop()
            with pytest.raises(RuntimeError, match="not running"):
                emulator.reset()
        assert descriptors() == before


@pytest.mark.usefixtures("threads")
def test_whatever_else_a_start_fails_with_is_raised_too() -> None:
    with pytest.raises(ValueError, match="70000"):
        Emulator(Options(port=70000)).start()
    with pytest.raises(ListenError):
        Emulator(Options(hosts=("192.0.2.1",), port=0)).start()


@pytest.mark.usefixtures("threads")
def test_a_start_that_fails_half_way_frees_what_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    servers: list[Server] = []

    async def fail(server: Server) -> str:
        servers.append(server)
        raise OSError("no socket to be had")

    monkeypatch.setattr(Server, "_start_grpc", fail)
    with pytest.raises(OSError, match="no socket"):
        Emulator().start()
    assert not busy(servers[0].port)


@pytest.mark.usefixtures("threads")
def test_a_start_that_is_interrupted_leaves_nothing_running(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Interrupted(Future[None]):
        def result(self, timeout: float | None = None) -> None:
            raise KeyboardInterrupt

    def start() -> None:
        with pytest.raises(KeyboardInterrupt):
            Emulator().start()

    monkeypatch.setattr("emulator.testing.emulator.Future", Interrupted)
    starter = threading.Thread(target=start, daemon=True)
    starter.start()
    starter.join(HANG_LIMIT_S)


def test_reset_forgets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    with Emulator() as emulator:
        exchange(emulator.host_port, monkeypatch)
        emulator.reset()
        with pubsub_v1.SubscriberClient() as subscriber, pytest.raises(NotFound):
            subscriber.get_subscription(subscription=SUBSCRIPTION)
        exchange(emulator.host_port, monkeypatch)


@pytest.mark.usefixtures("threads")
def test_a_shutdown_over_http_stops_that_server_alone() -> None:
    with Emulator() as asked, Emulator() as other:
        urllib.request.urlopen(f"http://{asked.host_port}/shutdown", data=b"").close()
        assert asked._thread is not None
        asked._thread.join(HANG_LIMIT_S)
        assert not busy(asked.port)
        with pytest.raises(RuntimeError, match="not running"):
            asked.reset()
        wire = Wire(other.host_port)
        wire.create(TOPIC)
        wire.close()
        asked.stop()
        asked.stop()


@pytest.mark.usefixtures("threads")
def test_who_waits_is_answered_at_the_stop() -> None:
    emulator = Emulator().start()
    wire = Wire(emulator.host_port)
    wire.create(TOPIC, SUBSCRIPTION)
    waiting = wire.start("Pull", pubsub.PullRequest(subscription=SUBSCRIPTION, max_messages=1))
    # Calls of a connection arrive in order: answered is this one only after the other is there.
    wire("GetSubscription", pubsub.GetSubscriptionRequest(subscription=SUBSCRIPTION))
    emulator.stop()
    assert waiting.result(HANG_LIMIT_S) == pubsub.PullResponse()
    with pytest.raises(grpc.RpcError) as caught:
        wire("GetTopic", pubsub.GetTopicRequest(topic=TOPIC))
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
    wire.close()


@pytest.mark.usefixtures("threads")
def test_a_stop_amid_traffic_is_quiet() -> None:
    other = Emulator().start()
    emulator = Emulator().start()
    wire = Wire(emulator.host_port)
    wire.create(TOPIC)
    is_under_way = threading.Event()

    def use(index: int) -> grpc.StatusCode:
        wire = Wire(emulator.host_port)
        request = pubsub.PublishRequest(topic=TOPIC, messages=[pubsub.PubsubMessage(data=b"x")])
        while True:
            try:
                wire("Publish", request)
            except grpc.RpcError as error:
                wire.close()
                code: grpc.StatusCode = error.code()
                return code
            is_under_way.set()

    with ThreadPoolExecutor(8) as pool:
        codes = pool.map(use, range(8), timeout=HANG_LIMIT_S)
        assert is_under_way.wait(HANG_LIMIT_S)
        emulator.stop()
        # Cancelled: gRPC drops calls that it has received but not yet given to a handler.
        assert set(codes) <= {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
    wire.close()
    other.stop()


@pytest.mark.usefixtures("threads")
def test_any_threads_may_stop_and_reset_it_at_once() -> None:
    def use(index: int) -> str | None:
        if index % 2:
            emulator.stop()
            return None
        try:
            emulator.reset()
        except RuntimeError as error:
            return str(error)
        return None

    for _ in range(5):
        emulator = Emulator().start()
        with ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(use, range(8), timeout=HANG_LIMIT_S))
        assert set(outcomes) <= {None, "the emulator is not running"}
        assert not busy(emulator.port)


@pytest.mark.usefixtures("threads")
def test_it_may_be_used_where_a_loop_runs() -> None:
    async def main() -> None:
        with Emulator() as emulator:
            async with grpc.aio.insecure_channel(emulator.host_port) as channel:
                call: Any = channel.unary_unary("/google.pubsub.v1.Publisher/CreateTopic")
                encoded = pubsub.Topic(name=TOPIC).SerializeToString()
                assert await call(encoded, timeout=HANG_LIMIT_S)

    asyncio.run(main())


FORGETFUL = """
import sys
from emulator import Emulator
from emulator.api import pubsub
from tests.wire import Wire
emulator = Emulator().start()
wire = Wire(emulator.host_port)
wire.create("projects/demo/topics/orders", "projects/demo/subscriptions/invoices")
request = pubsub.PullRequest(subscription="projects/demo/subscriptions/invoices", max_messages=1)
waiting = wire.start("Pull", request)
print("used")
"""


@pytest.mark.parametrize("ending", ["", "sys.exit(3)", "raise SystemExit(3)"])
def test_one_that_is_forgotten_is_stopped_by_the_interpreter(ending: str) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as temporary:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", FORGETFUL + ending],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": temporary},
            capture_output=True,
            text=True,
            timeout=HANG_LIMIT_S,
            check=False,
        )
        assert os.listdir(temporary) == []
    assert (done.stdout, done.stderr) == ("used\n", "")
    assert done.returncode == (3 if ending else 0)


def test_the_process_of_its_user_is_left_as_it_is() -> None:
    """It sets neither signals nor the garbage collector nor the limits of the process."""
    code = """
import gc, resource, signal
resource.setrlimit(resource.RLIMIT_NOFILE, (512, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
def state():
    return (gc.get_threshold(), gc.get_freeze_count(), gc.callbacks,
            resource.getrlimit(resource.RLIMIT_NOFILE),
            [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)])
before = state()
from emulator import Emulator
with Emulator():
    assert state() == before, state()
assert state() == before, state()
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=HANG_LIMIT_S, check=True)
