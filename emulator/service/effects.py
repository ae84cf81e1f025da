"""Passes on what operations brought about, in order, and never more at once than is good."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from emulator.engine.delivery.outcome import Effect, Forward

#: Dead letters published in one turn of the loop; the others have to wait, and let others work.
FORWARDS_PER_TURN = 200


class Effects:
    """`act` does what one effect asks for.

    An effect can bring about an operation, and that has effects of its own. They take their place
    behind those that are there already, so that no effect is ever acted on in the middle of
    another, and nothing calls itself however long a chain of dead letters is.
    """

    def __init__(self, act: Callable[[Effect], None]) -> None:
        self._act = act
        self._waiting: deque[Effect] = deque()
        self._forwards: deque[Forward] = deque()
        self._is_applying = False
        self._next_turn: asyncio.Handle | None = None

    def apply(self, effects: Iterable[Effect]) -> None:
        """Act on `effects`; return when all is done that this turn of the loop has room for."""
        self._waiting.extend(effects)
        if self._is_applying:
            return
        self._is_applying = True
        try:
            self._work()
        finally:
            self._is_applying = False

    def _work(self) -> None:
        left = 0 if self._next_turn is not None else FORWARDS_PER_TURN
        while True:
            while self._waiting:
                effect = self._waiting.popleft()
                if isinstance(effect, Forward):
                    self._forwards.append(effect)
                else:
                    self._act(effect)
            if not self._forwards or not left:
                break
            left -= 1
            self._act(self._forwards.popleft())
        if self._forwards and self._next_turn is None:
            self._next_turn = asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        self._next_turn = None
        self.apply(())

    def finish(self) -> None:
        """Act on everything that waits, however much it is."""
        while self._waiting or self._forwards:
            if self._next_turn is not None:
                self._next_turn.cancel()
            self._go_on()

    def forget(self) -> None:
        """Drop what waits: all that it speaks of is gone."""
        self._waiting.clear()
        self._forwards.clear()

    def __len__(self) -> int:
        return len(self._waiting) + len(self._forwards)

    def __repr__(self) -> str:
        return f"<Effects {len(self._waiting)} waiting, {len(self._forwards)} dead letters>"
