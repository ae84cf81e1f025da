"""`pubsub-emulator start`: serves until a signal or `POST /shutdown`."""

from __future__ import annotations

import contextlib
import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from emulator import __version__
from emulator.cli.grpc_log import silence_grpc
from emulator.cli.signals import StopSignals
from emulator.config.defaults import DEFAULT_PORT

if TYPE_CHECKING:
    from emulator.server import Options, Server

STOP_S = 1.5
"""Time to stop in; connections whose clients do not read are then left for the system to close."""


def run(parsed: Namespace) -> int:
    """Serve; return 0 when stopped, 1 with one line if an address cannot be listened on."""
    signals = StopSignals()
    signals.install()
    silence_grpc()
    # From here on imports take time: most of the start.
    import asyncio
    import logging

    from emulator.cli import log
    from emulator.server import ListenError, loop_factory

    log.set_up(parsed.log_level, parsed.log_format)
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_serve(_options(parsed), signals))
    except ListenError as error:
        logging.getLogger(__name__).critical(error)
        return 1
    return 0


def _options(parsed: Namespace) -> Options:
    from emulator.server import DEFAULT_HOSTS, Options

    return Options(
        hosts=tuple(parsed.host or DEFAULT_HOSTS),
        port=DEFAULT_PORT if parsed.port is None else parsed.port,
        projects=frozenset(parsed.projects) if parsed.projects else None,
        profile=parsed.profile,
        allow_origins=tuple(parsed.allow_origin),
        allow_hosts=tuple(parsed.allow_host),
        owns_process=True,
    )


async def _serve(options: Options, signals: StopSignals) -> None:
    import asyncio

    from emulator.server import Server

    server = Server(options)
    loop = asyncio.get_running_loop()
    signals.attach(lambda: loop.call_soon_threadsafe(server.shutdown))
    await server.start()
    if not server.stopping.is_set():
        _announce(server)
        await server.stopping.wait()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STOP_S):
            await server.stop()


def _announce(server: Server) -> None:
    import logging

    addresses = ", ".join(server.addresses)
    projects = server.options.projects
    only = "" if projects is None else f", only for {', '.join(sorted(projects))}"
    logging.getLogger(__name__).info("Pub/Sub emulator %s on %s%s", __version__, addresses, only)
    # Plain whatever the format, and as Google's emulator words it: scripts wait for this line.
    with contextlib.suppress(OSError):
        print(f"Server started, listening on {server.port}", file=sys.stderr, flush=True)
