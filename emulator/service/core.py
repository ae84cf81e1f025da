"""One engine on one event loop: the gate that every operation passes."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import TypeVar

from emulator.engine.delivery.leases import Lease
from emulator.engine.delivery.outcome import (
    Available,
    Effect,
    Ended,
    Fired,
    Forward,
    Outcome,
    Room,
)
from emulator.engine.engine import Engine
from emulator.engine.values.names import project_of
from emulator.service.clock import Clock
from emulator.service.consumers import Consumer, Consumers
from emulator.service.effects import Effects
from emulator.service.timers import Timers

Value = TypeVar("Value")


class Core:
    """Everything here runs on the loop that made it; nothing is locked.

    `perform` is the only way to the engine. `holders` are the consumers that have a window there,
    by their holder's id.
    """

    def __init__(
        self, allowed_projects: frozenset[str] | None = None, *, is_strict: bool = False
    ) -> None:
        self.clock = Clock()
        self.engine = Engine(
            nonce=secrets.token_bytes(16),
            allowed_projects=allowed_projects,
            is_strict=is_strict,
        )
        self.consumers = Consumers()
        self.holders: dict[int, Consumer] = {}
        self.is_closing = False
        self.on_fired: Callable[[Fired], None] | None = None
        self._effects = Effects(self._act)
        self.timers = Timers(self.next_deadline, self.clock, self.tick)

    def now(self, name: str) -> int:
        """The time of the project that the resource `name` belongs to."""
        return self.clock.now_us(project_of(name))

    def perform(
        self,
        name: str,
        operation: Callable[..., Outcome[Value]],
        *given: object,
        **named: object,
    ) -> Value:
        """Do an operation of the engine on the resource `name`; return its value.

        In this order: the time of the resource's project, the engine, what is to be recorded of
        it, its effects. An operation that an effect brings about has its own effects acted on
        behind those that wait already.
        """
        project = project_of(name)
        outcome = operation(*given, now=self.clock.now_us(project), **named)
        if outcome.effects:
            self._effects.apply(outcome.effects)
            self._touch_others(outcome.effects, project)
        self.timers.touch(project)
        return outcome.value

    def _touch_others(self, effects: tuple[Effect, ...], project: str) -> None:
        """What is published in one project can be due to expire in those of its subscriptions."""
        prefix = f"projects/{project}/"
        for effect in effects:
            if isinstance(effect, Available) and not effect.subscription.startswith(prefix):
                self.timers.touch(project_of(effect.subscription))

    def _act(self, effect: Effect) -> None:
        match effect:
            case Available(subscription, last):
                holders = self.holders
                self.consumers.serve(subscription, [holders[h] for h in last if h in holders])
            case Room(holder):
                self._make_room_known(holder)
            case Forward(topic):
                self.perform(topic, self.engine.forward, effect)
            case Fired():
                if self.on_fired is not None:
                    self.on_fired(effect)
            case Ended(subscription, error):
                self.consumers.end(subscription, error)

    def _make_room_known(self, holder: int) -> None:
        consumer = self.holders.get(holder)
        if consumer is not None:
            consumer.has_room()
            self.consumers.serve(consumer.subscription)

    def next_deadline(self, project: str) -> int | None:
        """When `tick` has work for a project: 0 for at once, None for not before another call."""
        return self.engine.next_deadline(project)

    def tick(self, project: str) -> None:
        """Do what is due in a project, a part of it if it is much."""
        self.perform(f"projects/{project}", self.engine.tick, project)

    def release(self, subscription: str, leases: Sequence[Lease]) -> None:
        """Take back leases that never reached their consumer (PUL-06)."""
        ack_ids = [lease.ack_id for lease in leases]
        self.perform(subscription, self.engine.release, subscription, ack_ids)

    def finish(self) -> None:
        """Act on whatever effects wait for a later turn of the loop."""
        self._effects.finish()

    def reset(self) -> None:
        """Forget every topic and subscription, and what time they had; old ids are stale."""
        self.clock.reset()
        self._effects.forget()
        self.perform("", self.engine.reset, nonce=secrets.token_bytes(16))
        self.timers.restart(self.engine.projects())

    def close(self) -> None:
        """Answer every waiting pull, end every stream, and let no timer fire any more."""
        self.is_closing = True
        self._effects.finish()
        for consumer in self.consumers.everybody():
            consumer.stop()
        self.timers.close()

    def __repr__(self) -> str:
        return f"<Core of {self.engine!r}, {self.consumers!r}>"
