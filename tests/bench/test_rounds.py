"""The benchmark goes on when a row or a server fails, and says why."""

import asyncio
import sys
from pathlib import Path

import pytest

from scripts.bench import google_jar, programs, requests, rounds
from scripts.bench.catalogue import Row
from scripts.bench.measurement import Measurement
from scripts.bench.programs import Program
from scripts.bench.results import Failure, Results
from scripts.bench.target import Target

BARE_SERVER = """
import asyncio, grpc.aio, sys
async def main():
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print("Server started, listening on", port, file=sys.stderr, flush=True)
    await server.wait_for_termination()
asyncio.run(main())
"""
DYING = "import sys; print('no room', file=sys.stderr); sys.exit(3)"


def program(source: str) -> Program:
    return Program("ours", (sys.executable, "-c", source))


async def fine(target: Target, seconds: float) -> dict[str, Measurement]:
    return {"start": Measurement(target.server.ready_s)}


async def broken(target: Target, seconds: float) -> dict[str, Measurement]:
    raise ExceptionGroup("several", [ValueError("the first reason")])


async def hanging(target: Target, seconds: float) -> dict[str, Measurement]:
    await asyncio.Event().wait()
    raise AssertionError("not reached")


async def killing(target: Target, seconds: float) -> dict[str, Measurement]:
    target.server.kill()
    await target.client.publish(requests.publish(1))
    raise AssertionError("not reached")


async def publishing(target: Target, seconds: float) -> dict[str, Measurement]:
    await target.client.publish(requests.publish(1))
    raise AssertionError("not reached")


def measure(*rows: Row, source: str = BARE_SERVER) -> Results:
    return asyncio.run(rounds.measure(rows, [program(source)], rounds=2, seconds=0))


def test_a_failed_row_is_told_once_and_the_others_go_on() -> None:
    results = measure(Row("broken", broken), Row("fine", fine))
    assert results.failures == [Failure("broken", "ours", "the first reason")]
    assert len(results.samples("start", "ours")) == 2


def test_a_row_that_hangs_is_ended() -> None:
    results = measure(Row("hanging", hanging, limit_s=0))
    assert results.failures == [Failure("hanging", "ours", "did not end within 0 s")]


def test_the_end_of_a_server_is_the_reason_even_if_a_call_failed_first() -> None:
    [failure] = measure(Row("killing", killing)).failures
    assert failure.why.startswith("the server ended with -9")


def test_a_server_that_does_not_start_tells_its_last_words() -> None:
    results = measure(Row("fine", fine), source=DYING)
    assert results.failures == [
        Failure("fine", "ours", "ended with 3 instead of starting: no room")
    ]


def test_what_a_server_does_not_implement_is_no_failure() -> None:
    results = measure(Row("publishing", publishing))
    assert results.failures == []
    assert results.samples("publish_single", "ours") == []


def test_rounds_are_interleaved_and_turned_round(monkeypatch: pytest.MonkeyPatch) -> None:
    order = []

    async def note(row: Row, program: Program, seconds: float) -> dict[str, Measurement]:
        order.append((row.name, program.kind))
        return {}

    monkeypatch.setattr(rounds, "_measure_one", note)
    rows = [Row("a", fine, kinds=frozenset(("ours", "echo"))), Row("b", fine, rounds=1)]
    asyncio.run(rounds.measure(rows, [programs.ours(), programs.echo()], 2, 0))
    assert order == [("a", "ours"), ("a", "echo"), ("b", "ours"), ("a", "echo"), ("a", "ours")]


def test_the_echo_sends_back_calls_and_streams() -> None:
    async def both(target: Target, seconds: float) -> dict[str, Measurement]:
        request = requests.publish(1)
        assert await target.client.publish(request) == request
        stream = await target.client.open_stream(request)
        assert await stream.read() == request
        return {"start": Measurement(1)}

    row = Row("both", both, kinds=frozenset(("echo",)))
    results = asyncio.run(rounds.measure([row], [programs.echo()], 1, 0))
    assert results.failures == []
    assert len(results.samples("start", "echo")) == 1


def test_a_jar_that_is_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(google_jar.NotFoundError, match="no such file"):
        google_jar.find(tmp_path / "emulator.jar")


def test_the_jar_of_a_cloud_sdk_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = tmp_path / "platform/pubsub-emulator/lib/cloud-pubsub-emulator-0.8.20-all.jar"
    jar.parent.mkdir(parents=True)
    jar.touch()
    java = tmp_path / "java"
    java.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CLOUDSDK_ROOT_DIR", str(tmp_path))
    monkeypatch.delenv(google_jar.VARIABLE, raising=False)
    assert google_jar.find(None) == jar
    assert google_jar.version(jar) == "0.8.20"
    java.unlink()
    assert google_jar.find(None) is None
