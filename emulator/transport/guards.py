"""Answers of which it is not certain yet that a client has them (PUL-06)."""

from __future__ import annotations

from collections.abc import Callable


class Guards:
    """The guarded answers on their way to one client.

    `relayed_bytes` counts what was passed to the client. An answer has been sent when as much as
    its size was passed on after it was guarded. Bytes of other answers count as well, so this errs
    towards sent: nothing that a client may have is ever taken back for being late.
    """

    __slots__ = ("_guards", "relayed_bytes")

    def __init__(self) -> None:
        self._guards: list[tuple[int, Callable[[], None]]] = []
        self.relayed_bytes = 0

    def add(self, size_bytes: int, on_abandoned: Callable[[], None]) -> None:
        """Guard an answer that goes to gRPC after this."""
        self._guards.append((self.relayed_bytes + size_bytes, on_abandoned))

    def confirm(self, sent_bytes: int) -> None:
        """Let go of what was sent once `sent_bytes` were: the client has spoken since."""
        self._guards = [guard for guard in self._guards if guard[0] > sent_bytes]

    def abandon_unsent(self, sent_bytes: int) -> None:
        """Take back what was not sent yet when `sent_bytes` were."""
        guards = self._guards
        self._guards = [guard for guard in guards if guard[0] <= sent_bytes]
        for due_bytes, on_abandoned in guards:
            if due_bytes > sent_bytes:
                on_abandoned()

    def abandon(self) -> None:
        """Take everything back."""
        guards, self._guards = self._guards, []
        for _, on_abandoned in guards:
            on_abandoned()

    def clear(self) -> None:
        """Let go of everything."""
        self._guards.clear()

    def __len__(self) -> int:
        return len(self._guards)
