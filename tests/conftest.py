"""Settings and fixtures that every test shares."""

import os
from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import settings

from emulator.testing import Emulator
from tests.inside import Inside
from tests.wire import Names, Wire

# No deadlines: tests never judge time. In CI the examples are the same on every run.
settings.register_profile("explore", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "explore")

_projects = count(1)


@pytest.fixture(scope="session")
def emulator() -> Iterator[Emulator]:
    """The emulator that tests share; a test that resets or stops one takes `own_emulator`."""
    with Emulator() as running:
        yield running


@pytest.fixture
def own_emulator() -> Iterator[Emulator]:
    with Emulator() as running:
        yield running


@pytest.fixture
def names() -> Names:
    return Names(f"project-{next(_projects)}")


@pytest.fixture
def wire(emulator: Emulator) -> Iterator[Wire]:
    wire = Wire(emulator.host_port)
    yield wire
    wire.close()


@pytest.fixture
def other_wire(emulator: Emulator) -> Iterator[Wire]:
    """A second client, on a connection of its own."""
    wire = Wire(emulator.host_port)
    yield wire
    wire.close()


@pytest.fixture
def inside(emulator: Emulator) -> Inside:
    return Inside(emulator)
