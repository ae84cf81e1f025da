"""The loops that servers run on: what they keep quiet about, and nothing else."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

import pytest

from emulator.transport import event_loop


class PollerCompletionQueue:
    """Fails as the class of this name in older releases of gRPC does."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def _handle_events(self, loop: asyncio.AbstractEventLoop) -> None:
        raise self._error

    def _other(self, loop: asyncio.AbstractEventLoop) -> None:
        raise self._error


@pytest.fixture(params=["fastest", "asyncio"])
def loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> object:
    if request.param == "asyncio":
        monkeypatch.setattr(event_loop, "_fastest", asyncio.new_event_loop)
    return event_loop.new_event_loop()


@pytest.mark.parametrize(
    ("error", "method", "count"),
    [
        (BlockingIOError(11, "nothing there"), "_handle_events", 0),
        (BlockingIOError(11, "nothing there"), "_other", 1),
        (OSError(9, "no descriptor"), "_handle_events", 1),
    ],
)
def test_only_a_lost_race_for_an_event_is_not_told(
    loop: asyncio.AbstractEventLoop,
    error: Exception,
    method: str,
    count: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        callback = getattr(PollerCompletionQueue(error), method)
        loop.call_soon(partial(callback, loop))
        await asyncio.sleep(0)

    with caplog.at_level(logging.ERROR, "asyncio"):
        loop.run_until_complete(run())
    loop.close()
    assert len(caplog.records) == count
