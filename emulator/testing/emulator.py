"""An emulator inside the test's own process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType

from emulator.server import Options, Server, loop_factory


class Emulator:
    """A server on a thread and loop of its own.

        with Emulator() as emulator:
            os.environ["PUBSUB_EMULATOR_HOST"] = emulator.host_port

    It listens on a free port of the IPv4 loopback unless told otherwise. Several can run at once;
    each is started once. Raises `emulator.server.ListenError` if it cannot listen.
    """

    def __init__(self, options: Options | None = None) -> None:
        self._options = options or Options(hosts=("127.0.0.1",), port=0)
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: Server | None = None

    @property
    def host_port(self) -> str:
        """What PUBSUB_EMULATOR_HOST must say."""
        assert self._server is not None, "not started"
        return self._server.addresses[0]

    @property
    def port(self) -> int:
        assert self._server is not None, "not started"
        return self._server.port

    def start(self) -> Emulator:
        """Return when clients can connect."""
        assert self._thread is None, "an Emulator is started once"
        started = _Handover()
        self._thread = threading.Thread(
            target=self._run, args=(started,), name="pubsub-emulator", daemon=True
        )
        self._thread.start()
        started.wait()
        return self

    def stop(self) -> None:
        """Return when the port is free; calling it again does nothing."""
        if self._thread is None or not self._thread.is_alive():
            return
        assert self._server is not None
        self._call(self._server.shutdown)
        self._thread.join()

    def reset(self) -> None:
        """Forget every topic and subscription."""
        assert self._server is not None, "not started"
        self._call(self._server.reset)

    def _call(self, function: Callable[[], None]) -> None:
        """Run `function` on the server's loop and wait for it."""

        async def run() -> None:
            function()

        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    def _run(self, started: _Handover) -> None:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(self._serve(started))

    async def _serve(self, started: _Handover) -> None:
        try:
            self._loop = asyncio.get_running_loop()
            self._server = Server(self._options)
            await self._server.start()
        except BaseException as error:
            started.failed(error)
            return
        started.done()
        await self._server.stopping.wait()
        await self._server.stop()

    def __enter__(self) -> Emulator:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


class _Handover:
    """How the thread tells its starter that it runs, or why not."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._error: BaseException | None = None

    def done(self) -> None:
        self._event.set()

    def failed(self, error: BaseException) -> None:
        self._error = error
        self._event.set()

    def wait(self) -> None:
        self._event.wait()
        if self._error is not None:
            raise self._error
