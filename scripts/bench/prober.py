"""A process that calls GetTopic every 5 ms: its longest wait is the longest pause of the server.

`python -m scripts.bench.prober ADDRESS PID` goes on until its standard input ends, then prints
its `Waits` as JSON. A process of its own, since the load would delay it otherwise.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass

import grpc

from scripts.bench import requests, usage
from scripts.bench.programs import CHECKOUT
from scripts.bench.server import Server

_EVERY_S = 0.005
_GET_TOPIC = "/google.pubsub.v1.Publisher/GetTopic"


class ProberError(Exception):
    """A probe failed."""


@dataclass
class Waits:
    """The longest wait for an answer, in ms."""

    longest_ms: float = 0.0
    longest_cpu_ms: float = 0.0
    """The longest in CPU time of the server: a pause that other processes cause is not in it."""

    def add(self, wait_ms: float, cpu_ms: float) -> None:
        """Note one wait, and what the server has used meanwhile on all its threads."""
        self.longest_ms = max(self.longest_ms, wait_ms)
        self.longest_cpu_ms = max(self.longest_cpu_ms, min(wait_ms, cpu_ms))


@asynccontextmanager
async def probing(server: Server) -> AsyncIterator[Waits]:
    """Probe a server meanwhile; the values are there afterwards."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "scripts.bench.prober", server.address, str(server.pid)),
        cwd=CHECKOUT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    waits = Waits()
    try:
        yield waits
    except BaseException:
        process.kill()
        raise
    finally:
        printed, _ = await process.communicate(b"")
    if process.returncode:
        raise ProberError("the prober failed; see its message on standard error")
    seen = Waits(**json.loads(printed))
    waits.add(seen.longest_ms, seen.longest_cpu_ms)


def main() -> None:
    """Probe until told to stop."""
    address, server_pid = sys.argv[1], int(sys.argv[2])
    ended = threading.Event()
    threading.Thread(target=_watch_input, args=(ended,), daemon=True).start()
    waits = Waits()
    with grpc.insecure_channel(address) as channel:
        get_topic: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(_GET_TOPIC)
        get_topic(requests.topic(), wait_for_ready=True)
        while not ended.wait(_EVERY_S):
            began, cpu_s = time.perf_counter(), usage.cpu_s(server_pid)
            get_topic(requests.topic())
            wait_s = time.perf_counter() - began
            waits.add(wait_s * 1e3, (usage.cpu_s(server_pid) - cpu_s) * 1e3)
    print(json.dumps(asdict(waits)))


def _watch_input(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


if __name__ == "__main__":
    main()
