"""A running server and a connection to it: what a row is measured on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from scripts.bench import usage
from scripts.bench.client import Client
from scripts.bench.measurement import Meter
from scripts.bench.programs import Program
from scripts.bench.server import Server


@dataclass(frozen=True)
class Target:
    """Every row gets a fresh one."""

    server: Server
    client: Client
    warm_up_s: float

    def meter(self) -> Meter:
        """Return a meter of the server's CPU."""
        return Meter(self.server.pid)

    def rss_bytes(self) -> int:
        """Return the server's resident memory now."""
        return usage.rss_bytes(self.server.pid)


@asynccontextmanager
async def running(program: Program) -> AsyncIterator[Target]:
    """Start a program for one row and stop it afterwards."""
    server = await Server.start(program)
    client = Client(server.address)
    try:
        yield Target(server, client, program.warm_up_s)
    finally:
        await client.close()
        await server.stop()
