"""The command `pubsub-emulator`."""

from emulator.cli.command import main

__all__ = ["main"]
