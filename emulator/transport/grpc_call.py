"""A unary gRPC call as handlers see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulator.transport.peers import UNKNOWN, Client


class GrpcCall:
    """`context` is grpc.aio's own, `client` is whose call it is."""

    __slots__ = ("_callbacks", "_client", "_context", "encoded")

    def __init__(self, encoded: bytes, context: Any, client: Client = UNKNOWN) -> None:
        self.encoded = encoded
        self._context = context
        self._client = client
        self._callbacks: list[Callable[[], None]] = []

    @property
    def limited_bytes(self) -> int:
        return len(self.encoded)

    def remaining_s(self) -> float | None:
        remaining: float | None = self._context.time_remaining()
        return remaining

    def on_abandoned(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    def answer(self, encoded: bytes) -> bytes:
        """Return the answer that is about to go to gRPC, guarded if somebody asked for it."""
        for callback in self._callbacks:
            self._client.guard(len(encoded), callback)
        return encoded
