"""Fixtures that the tests of this room share."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from emulator.testing import Emulator
from tests.transport.rest.client import RawHttp, Rest
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


@pytest.fixture
def rest(emulator: Emulator) -> Iterator[Rest]:
    rest = Rest(emulator.host_port)
    yield rest
    rest.close()


@pytest.fixture
def raw_http(emulator: Emulator) -> Iterator[RawHttp]:
    raw = RawHttp(emulator.port)
    yield raw
    raw.close()
