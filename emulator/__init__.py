"""A drop-in, gRPC-compatible emulator of Google Cloud Pub/Sub."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emulator.testing import Emulator

__all__ = ["Emulator", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> "type[Emulator]":
    """Import `Emulator` when it is first asked for: it brings in the whole server."""
    if name != "Emulator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from emulator.testing import Emulator

    return Emulator
