"""Subscriptions that nobody uses are deleted after a time (SUB-07, SUB-22)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from emulator.api import pubsub
from emulator.engine.delivery.outcome import Due, Effect, Fired
from emulator.engine.resources.alarms import HasAlarm
from emulator.engine.values import durations


class Perishable(Protocol):
    """A subscription, as far as its end by inactivity goes."""

    resource: pubsub.Subscription
    last_active_us: int

    @property
    def name(self) -> str: ...


class Inactivity(HasAlarm):
    """Rings when a subscription may have been idle for its time to live.

    Use only notes the time; it is looked at here. `delete` deletes the subscription by name.
    """

    due = Due.SUBSCRIPTION_EXPIRY

    def __init__(
        self, subscription: Perishable, delete: Callable[[str, int], tuple[Effect, ...]]
    ) -> None:
        self._subscription = subscription
        self._delete = delete

    @property
    def name(self) -> str:
        return self._subscription.name

    @property
    def next_us(self) -> int | None:
        """When it will have been idle for long enough; None if it never expires."""
        policy = self._subscription.resource.expiration_policy
        if not policy.HasField("ttl"):
            return None
        return self._subscription.last_active_us + durations.to_us(policy.ttl)

    def ring(self, now: int) -> tuple[list[Effect], int | None]:
        next_us = self.next_us
        if next_us is None or next_us > now:
            return [], next_us
        name = self._subscription.name
        effects = self._delete(name, now)
        return [*effects, Fired(now, Due.SUBSCRIPTION_EXPIRY, name, 1)], None
