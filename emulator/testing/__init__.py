"""For tests: an emulator inside the process that tests with it."""

from emulator.testing.emulator import Emulator

__all__ = ["Emulator"]
