"""One engine on one event loop: gives operations their time and passes on their effects."""

from __future__ import annotations

import secrets
from typing import TypeVar

from emulator.engine.delivery import Delivery
from emulator.engine.engine import Engine
from emulator.engine.names import project_of
from emulator.engine.outcome import Available, Effect, Outcome
from emulator.service.clock import Clock
from emulator.service.timers import Timers
from emulator.service.waiting import WaitingPulls

Value = TypeVar("Value")


class Core:
    """Everything here runs on the loop that made it; nothing is locked."""

    def __init__(self, allowed_projects: frozenset[str] | None = None) -> None:
        self.clock = Clock()
        self.engine = Engine(nonce=secrets.token_bytes(16), allowed_projects=allowed_projects)
        self.pulls = WaitingPulls(self.lease, self.release)
        self._timers = Timers(self.engine, self.clock, self._apply)

    def now(self, name: str) -> int:
        """The time of the project that the resource `name` belongs to."""
        return self.clock.now_us(project_of(name))

    def settle(self, name: str, outcome: Outcome[Value]) -> Value:
        """Pass on what an operation on the resource `name` brought about; return its value."""
        if outcome.effects:
            self._apply(outcome.effects)
        self._timers.touch(project_of(name))
        return outcome.value

    def _apply(self, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            if isinstance(effect, Available):
                self.pulls.serve(effect.subscription)
            else:
                self.pulls.end(effect.subscription, effect.error)

    def lease(self, subscription: str, limit: int) -> list[Delivery]:
        """Lease for a Pull what is available now."""
        now = self.now(subscription)
        return self.settle(subscription, self.engine.lease(subscription, limit, now=now))

    def release(self, subscription: str, leases: list[tuple[Delivery, str]]) -> None:
        """Take back leases that never reached their consumer."""
        now = self.now(subscription)
        self.settle(subscription, self.engine.release(subscription, leases, now=now))

    def reset(self) -> None:
        """Forget every topic and subscription; ids from before are stale."""
        outcome = self.engine.reset(nonce=secrets.token_bytes(16))
        self._apply(outcome.effects)
        self._timers.touch_all()

    def close(self) -> None:
        """Answer whoever waits and let no timer fire any more."""
        self.pulls.close()
        self._timers.close()
