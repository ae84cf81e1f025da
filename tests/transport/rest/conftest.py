"""Clients of the emulator that tests share."""

from collections.abc import Iterator

import pytest

from emulator.testing import Emulator
from tests.transport.rest.client import RawHttp, Rest


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
