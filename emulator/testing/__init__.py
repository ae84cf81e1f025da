"""For tests: an emulator inside the process that tests with it."""

from emulator.testing.clock import Event, ProjectClock
from emulator.testing.emulator import Emulator

__all__ = ["Emulator", "Event", "ProjectClock"]
