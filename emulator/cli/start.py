"""`pubsub-emulator start`: serves until a signal or `POST /shutdown`."""

from __future__ import annotations

import contextlib
import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from emulator import __version__
from emulator.cli.grpc_log import silence_grpc
from emulator.cli.signals import StopSignals
from emulator.config.defaults import DEFAULT_PORT

if TYPE_CHECKING:
    from emulator.config.sources import Sources
    from emulator.config.watching import Watch
    from emulator.server import Options, Server

STOP_S = 1.5
"""Time to stop in; connections whose clients do not read are then left for the system to close."""


_READY_PORT = 8682
"""That of the images whose variables `emulator.config.pubsubc` reads."""


def run(parsed: Namespace) -> int:
    """Serve; return 0 when stopped, 1 with a line for what keeps it from serving."""
    signals = StopSignals()
    signals.install()
    silence_grpc()
    # From here on imports take time: most of the start.
    import asyncio
    import logging

    from emulator.cli import log
    from emulator.config.problems import ConfigError
    from emulator.server import ListenError, TlsError, loop_factory

    log.set_up(parsed.log_level, parsed.log_format, parsed.line_prefix)
    for note in parsed.notes:
        logging.getLogger(__name__).debug(note)
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_serve(parsed, signals))
    except ConfigError as error:
        for problem in error.problems:
            logging.getLogger(__name__).critical(problem)
        return 1
    except (ListenError, TlsError) as error:
        logging.getLogger(__name__).critical(error)
        return 1
    return 0


def sources_of(parsed: Namespace) -> Sources:
    """Where the start-up resources are."""
    from emulator.config import sources

    return sources.find(parsed.config, os.environ)


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
        sources=sources_of(parsed),
        auto_create=parsed.auto_create,
        tls=_tls_files(parsed),
    )


def _tls_files(parsed: Namespace) -> tuple[str, str] | None:
    if parsed.tls_self_signed:
        from emulator.cli.certificates import self_signed

        names = [*(parsed.host or ()), *parsed.allow_host]
        return self_signed(parsed.tls_self_signed, names)
    return (parsed.tls_cert, parsed.tls_key) if parsed.tls_cert else None


async def _serve(parsed: Namespace, signals: StopSignals) -> None:
    import asyncio

    from emulator.server import Server

    options = _options(parsed)
    watch = _watch(options) if parsed.config_watch else None
    server = Server(options)
    loop = asyncio.get_running_loop()
    signals.attach(lambda: loop.call_soon_threadsafe(server.shutdown))
    await server.start()
    if not server.stopping.is_set():
        await _open_ready_port(server, parsed.ready_port)
        _announce(server, parsed)
        watching = None if watch is None else asyncio.create_task(watch.run(server.apply))
        await server.stopping.wait()
        if watching is not None:
            watching.cancel()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STOP_S):
            await server.stop()


async def _open_ready_port(server: Server, port: int | None) -> None:
    """Open the port that was asked for; or that of an image, if we stand in for it."""
    import logging

    from emulator.server import ListenError

    is_image = server.options.sources.pubsubc is not None
    if port is None and not is_image:
        return
    try:
        await server.open_ready_port(_READY_PORT if port is None else port)
    except ListenError as error:
        if port is not None:
            await server.stop()
            raise
        logging.getLogger(__name__).warning("There is no ready port: %s", error)


def _watch(options: Options) -> Watch:
    from emulator.config.watching import Watch

    assert options.sources.file is not None
    return Watch(options.sources.file)


def _announce(server: Server, parsed: Namespace) -> None:
    import logging

    addresses = ", ".join(server.addresses)
    projects = server.options.projects
    only = "" if projects is None else f", only for {', '.join(sorted(projects))}"
    logging.getLogger(__name__).info("Pub/Sub emulator %s on %s%s", __version__, addresses, only)
    if server.start_up is not None:
        text = server.start_up.summary() or "nothing to make"
        logging.getLogger(__name__).info("Start-up resources: %s", text)
    if parsed.on_ready is not None:
        parsed.on_ready(server.port)
    # Plain whatever the format, and as Google's emulator words it: scripts wait for this line.
    start = f"{parsed.line_prefix}INFO: " if parsed.line_prefix else ""
    with contextlib.suppress(OSError):
        print(f"{start}Server started, listening on {server.port}", file=sys.stderr, flush=True)
