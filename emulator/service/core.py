"""One engine on one event loop: gives operations their time and passes on their effects."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, TypeVar

from emulator.engine.delivery.delivery import Delivery
from emulator.engine.delivery.holder import Holder
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
from emulator.engine.values import errors
from emulator.engine.values.names import project_of
from emulator.service.clock import Clock
from emulator.service.consumers import Consumers
from emulator.service.timers import Timers

if TYPE_CHECKING:
    from emulator.service.stream import Stream

Value = TypeVar("Value")


class Core:
    """Everything here runs on the loop that made it; nothing is locked."""

    def __init__(
        self, allowed_projects: frozenset[str] | None = None, *, is_strict: bool = False
    ) -> None:
        self.clock = Clock()
        self.engine = Engine(
            nonce=secrets.token_bytes(16),
            allowed_projects=allowed_projects,
            is_strict=is_strict,
        )
        self.consumers = Consumers(self.engine)
        self.streams: dict[Holder, Stream] = {}
        self.is_closing = False
        self.timers = Timers(self.engine, self.clock, self.tick)

    def now(self, name: str) -> int:
        """The time of the project that the resource `name` belongs to."""
        return self.clock.now_us(project_of(name))

    def settle(self, name: str, outcome: Outcome[Value]) -> Value:
        """Pass on what an operation on the resource `name` brought about; return its value."""
        project = project_of(name)
        if outcome.effects:
            self._apply(outcome.effects)
            self._touch_others(outcome.effects, project)
        self.timers.touch(project)
        return outcome.value

    def _touch_others(self, effects: tuple[Effect, ...], project: str) -> None:
        """What is published in one project can be due to expire in those of its subscriptions."""
        prefix = f"projects/{project}/"
        for effect in effects:
            if isinstance(effect, Available) and not effect.subscription.startswith(prefix):
                self.timers.touch(project_of(effect.subscription))

    def _apply(self, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            match effect:
                case Available(subscription):
                    self.consumers.serve(subscription)
                case Room(holder):
                    self._make_room_known(holder)
                case Forward(topic):
                    self.settle(topic, self.engine.forward(effect, now=self.now(topic)))
                case Fired():
                    pass  # for whoever turns the clock; nobody has to act on it
                case Ended(subscription, error):
                    self.consumers.end(subscription, error)

    def _make_room_known(self, holder: Holder) -> None:
        stream = self.streams.get(holder)
        if stream is not None:
            stream.has_room()
            self.consumers.serve(holder.subscription)

    def tick(self, project: str) -> list[Fired]:
        """Do what is due in a project, a part of it if it is much; return what happened."""
        outcome = self.engine.tick(project, now=self.clock.now_us(project))
        self._apply(outcome.effects)
        return [effect for effect in outcome.effects if isinstance(effect, Fired)]

    def lease(self, subscription: str, limit: int) -> list[Delivery]:
        """Lease for a Pull what is available now."""
        now = self.now(subscription)
        return self.settle(subscription, self.engine.lease(subscription, limit, now=now))

    def lease_to(self, holder: Holder, limit: int) -> list[Delivery]:
        """Lease to a stream what is available now and fits its window."""
        now = self.now(holder.subscription)
        outcome = self.engine.streams.lease(holder, limit, now=now)
        return self.settle(holder.subscription, outcome)

    def release(self, subscription: str, leases: list[tuple[Delivery, str]]) -> None:
        """Take back leases that never reached their consumer."""
        now = self.now(subscription)
        self.settle(subscription, self.engine.release(subscription, leases, now=now))

    def reset(self) -> None:
        """Forget every topic and subscription, and what time they had; old ids are stale."""
        self.clock.reset()
        outcome = self.engine.reset(nonce=secrets.token_bytes(16))
        self._apply(outcome.effects)
        self.timers.close()
        self.timers.touch_all()

    def close(self) -> None:
        """Answer every waiting pull, end every stream, and let no timer fire any more."""
        self.is_closing = True
        for stream in tuple(self.streams.values()):
            stream.end(errors.stream_closed())
        for consumer in self.consumers.everybody():
            consumer.answer([])
        self.timers.close()
