"""What a handler may ask about the call it answers, whichever transport brought it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Call(Protocol):
    """One unary call."""

    @property
    def encoded(self) -> bytes:
        """The request in protobuf's encoding."""
        ...

    @property
    def limited_bytes(self) -> int:
        """The request's size where limits on its size hold, else 0 (DLV-27)."""
        ...

    def remaining_s(self) -> float | None:
        """Seconds until the caller gives up; None if it never does."""
        ...

    def on_abandoned(self, callback: Callable[[], None]) -> None:
        """Have `callback` called if the answer turns out not to have reached the caller."""
        ...
