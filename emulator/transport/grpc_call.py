"""A unary gRPC call as handlers see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class GrpcCall:
    """`context` is grpc.aio's own."""

    __slots__ = ("_context", "encoded")

    def __init__(self, encoded: bytes, context: Any) -> None:
        self.encoded = encoded
        self._context = context

    @property
    def limited_bytes(self) -> int:
        return len(self.encoded)

    def remaining_s(self) -> float | None:
        remaining: float | None = self._context.time_remaining()
        return remaining

    def on_abandoned(self, callback: Callable[[], None]) -> None:
        pass
