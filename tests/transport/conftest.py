"""Fixtures that the tests of this room share."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.transport.stubs import HttpStub

HANG_LIMIT_S = 60


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, None]], None]:
    """Run a test's coroutine on either event loop, within the hang limit."""
    factory = None
    if request.param == "uvloop":
        factory = pytest.importorskip("uvloop").new_event_loop

    def runner(main: Coroutine[Any, Any, None]) -> None:
        with asyncio.Runner(loop_factory=factory) as loop:
            loop.run(asyncio.wait_for(main, HANG_LIMIT_S))

    return runner


@pytest.fixture(autouse=True)
def _no_http_connection_yet() -> None:
    HttpStub.made = 0
