"""An emulator inside the test's own process."""

from __future__ import annotations

import asyncio
import atexit
import inspect
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Any

from emulator.server import Options, Server, loop_factory
from emulator.testing.clock import ProjectClock


class Emulator:
    """A server on a thread and loop of its own.

        with Emulator() as emulator:
            os.environ["PUBSUB_EMULATOR_HOST"] = emulator.host_port

    It listens on a free port of the IPv4 loopback unless told otherwise. Several can run at once;
    each is started once. Raises `emulator.server.ListenError` if it cannot listen. Every method
    may be called from any thread; one that is forgotten is stopped when the interpreter exits.
    """

    def __init__(self, options: Options | None = None) -> None:
        self._options = options or Options(hosts=("127.0.0.1",), port=0)
        self._thread: threading.Thread | None = None
        self._addresses: tuple[str, ...] = ()
        self._port = 0
        # The loop and its server while they take calls, else None.
        self._running: tuple[asyncio.AbstractEventLoop, Server] | None = None
        self._is_stopped = False
        self._lock = threading.Lock()

    @property
    def host_port(self) -> str:
        """What PUBSUB_EMULATOR_HOST must say."""
        assert self._addresses, "not started"
        return self._addresses[0]

    @property
    def port(self) -> int:
        assert self._port, "not started"
        return self._port

    def start(self) -> Emulator:
        """Return when clients can connect."""
        started: Future[None] = Future()
        with self._lock:
            assert self._thread is None, "an Emulator is started once"
            # A daemon, so that the exit of the interpreter does not wait for it but stops it.
            self._thread = threading.Thread(
                target=self._run, args=(started,), name="pubsub-emulator", daemon=True
            )
            self._thread.start()
        try:
            started.result()
        except BaseException:
            self.stop()
            raise
        atexit.register(self.stop)
        return self

    def stop(self) -> None:
        """Return when the port is free; calling it again does nothing."""
        if self._thread is None:
            return
        with self._lock:
            self._is_stopped = True
            if self._running is not None:
                loop, server = self._running
                loop.call_soon_threadsafe(server.shutdown)
        self._thread.join()
        atexit.unregister(self.stop)

    def reset(self) -> None:
        """Forget all, turned clocks included; RuntimeError if it does not run."""
        self._call(lambda server: server.reset())

    def clock(self, project: str) -> ProjectClock:
        """The clock of `project`, given by its id, to be stopped and turned."""
        if not project or "/" in project:
            raise ValueError(f"not the id of a project: {project!r}")
        return ProjectClock(project, lambda use: self._call(lambda server: use(server.time)))

    def _call(self, use: Callable[[Server], Any]) -> Any:
        """Use the server on its loop; return the result, awaited if it is awaitable."""
        with self._lock:
            if self._running is None:
                raise RuntimeError("the emulator is not running")
            loop, server = self._running
            done = asyncio.run_coroutine_threadsafe(_use(server, use), loop)
        return done.result()

    def _run(self, started: Future[None]) -> None:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(self._serve(started))

    async def _serve(self, started: Future[None]) -> None:
        try:
            server = Server(self._options)
            await server.start()
        except BaseException as error:
            started.set_exception(error)
            return
        self._addresses, self._port = server.addresses, server.port
        with self._lock:
            self._running = (asyncio.get_running_loop(), server)
            if self._is_stopped:  # meanwhile: its starter was interrupted
                server.shutdown()
        started.set_result(None)
        await server.stopping.wait()
        # Calls that were taken up to here still run: the loop turns while the server stops.
        with self._lock:
            self._running = None
        await server.stop()

    def __enter__(self) -> Emulator:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


async def _use(server: Server, use: Callable[[Server], Any]) -> Any:
    result = use(server)
    return await result if inspect.isawaitable(result) else result
