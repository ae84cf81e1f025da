"""A call by REST as handlers see it."""

from __future__ import annotations

from collections.abc import Callable

from google.protobuf.message import Message

#: How long clients that say nothing wait: many give up after a minute (PUL-03).
PATIENCE_S = 50.0


class RestCall:
    """`timeout_s` is what the client asked for, if it did."""

    def __init__(self, request: Message, timeout_s: float | None = None) -> None:
        self._request = request
        self._timeout_s = timeout_s
        self._callbacks: list[Callable[[], None]] = []

    @property
    def encoded(self) -> bytes:
        return self._request.SerializeToString()

    @property
    def limited_bytes(self) -> int:
        return 0  # DLV-27

    def remaining_s(self) -> float | None:
        return PATIENCE_S if self._timeout_s is None else self._timeout_s

    def on_abandoned(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    @property
    def is_guarded(self) -> bool:
        """Whether anything is to be undone should the answer not reach the client."""
        return bool(self._callbacks)

    def abandon(self) -> None:
        """Say that the answer did not reach the client."""
        for callback in self._callbacks:
            callback()
        self._callbacks.clear()
