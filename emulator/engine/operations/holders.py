"""The one door for whoever is delivered to: streams, pulls that wait, push senders (STR-07)."""

from __future__ import annotations

from typing import NamedTuple

from emulator.engine.delivery.events import HolderClosed, HolderLeft, HolderOpened
from emulator.engine.delivery.holder import Holder
from emulator.engine.delivery.leases import Lease
from emulator.engine.delivery.outcome import Effect, Outcome
from emulator.engine.resources.departure import Departure
from emulator.engine.resources.subscription import Subscription
from emulator.engine.resources.world import World
from emulator.engine.values import errors, limits
from emulator.engine.values.durations import MILLISECOND_US


class Window(NamedTuple):
    """What a holder may hold at once, and for how long; 0 or less of a limit is none.

    Without `ack_deadline_us` it is the subscription's own. A holder that `is_passing` is gone when
    it has been delivered to once, as a unary pull is: its leases fill no window and it keeps no
    ordering key (ORD-04).
    """

    max_messages: int = 0
    max_bytes: int = 0
    ack_deadline_us: int | None = None
    is_passing: bool = False


class Properties(NamedTuple):
    """What a subscription promises those that it delivers to (STR-06)."""

    is_exactly_once: bool
    is_ordered: bool


class Leases(NamedTuple):
    """New leases, how many messages more could be leased, and what the subscription promises.

    `is_attempt_shown`: consumers are told which attempt each of them is (DLQ-01).
    `is_blocked`: messages are there that the holder's window has no room for; a `Room` effect
    says when it has.
    """

    leases: list[Lease]
    is_attempt_shown: bool
    remaining: int
    is_blocked: bool
    properties: Properties


class Holders:
    def __init__(self, world: World) -> None:
        self._world = world

    def open(self, subscription: str, window: Window, *, now: int) -> Outcome[int]:
        """Let somebody be delivered to; return the id of the holder. Raises ERR-01, 02 and 05."""
        world = self._world
        found = world.subscription(subscription)
        world.holders_opened += 1
        holder = Holder(
            world.holders_opened,
            subscription,
            window.ack_deadline_us,
            window.max_messages,
            window.max_bytes,
            is_passing=window.is_passing,
        )
        world.holders[holder.id] = holder
        if not holder.is_passing:
            found.holders[holder] = None
        found.use(now)
        if world.recording.is_on:
            event = HolderOpened(
                holder.id, subscription, window.ack_deadline_us, *window[:2], window.is_passing
            )
            world.recording.add(event)
        return world.outcome(holder.id)

    def pull(self, subscription: str, max_messages: int, *, now: int) -> Outcome[Leases]:
        """Lease what a Pull may return now, which can be nothing (PUL-01, PUL-02, DLV-20).

        It is a passing holder that is gone before anybody could ask for its id.
        """
        found = self._world.subscriptions.get(subscription)
        if max_messages <= 0:
            self._world.check_subscription_name(subscription)  # ERR-90: names come first
            raise errors.invalid_argument("max_messages")
        if found is None:
            found = self._world.subscription(subscription)
        found.check_consumable()
        found.use(now)
        leases = _lease(found, max_messages, found.ack_deadline_us, None, now)
        return self._world.outcome(_leases(found, leases, is_blocked=False))

    def lease(self, holder_id: int, limit: int, *, among: int = 1, now: int) -> Outcome[Leases]:
        """Lease `limit` messages at most, fewer where the window has not the room (STR-07).

        The holder is one `among` so many that share what is available, and gets its part of it.
        What a passing holder may have is that of a Pull (PUL-01, PUL-02). Raises ERR-02 when the
        subscription is gone, FAILED_PRECONDITION when it can be fetched from no more.
        """
        holder = self._world.holder(holder_id)
        found = self._world.subscription(holder.subscription)
        if holder.is_passing:
            found.check_consumable()
        if among > 1:
            limit = min(limit, -(-found.backlog.available // among))
        deadline_us = holder.ack_deadline_us
        leases = _lease(
            found,
            min(limit, holder.max_messages),
            found.ack_deadline_us if deadline_us is None else deadline_us,
            None if holder.is_passing else holder,
            now,
        )
        if leases or holder.is_passing:
            found.use(now)  # SUB-22: a consumer that receives
        return self._world.outcome(_leases(found, leases, is_blocked=holder.is_blocked))

    def half_close(self, holder_id: int, *, is_sending: bool, now: int) -> Outcome[None]:
        """The client of a stream has said all: take back what it never answered (STR-14).

        While it `is_sending`, what is on its way may still be taken: that waits for `close`.
        """
        holder = self._world.holders.get(holder_id)
        if holder is None:
            return Outcome(None)
        holder.has_half_closed = True
        return self._world.outcome(None, self._depart(holder, None if is_sending else now))

    def close(self, holder_id: int, *, now: int) -> Outcome[None]:
        """A holder is over; its leases run on and fill no window (STR-05).

        What was sent to it and cannot have been taken is soon taken back (see `unanswered`).
        """
        holder = self._world.holders.pop(holder_id, None)
        if holder is None:
            return Outcome(None)
        effects = self._depart(holder, now + limits.LAST_ANSWERS_MS * MILLISECOND_US)
        found = self._world.subscriptions.get(holder.subscription)
        if found is not None:
            found.holders.pop(holder, None)
        if self._world.recording.is_on:
            self._world.recording.add(HolderClosed(holder_id))
        return self._world.outcome(None, effects)

    def _depart(self, holder: Holder, at_us: int | None) -> tuple[Effect, ...]:
        """The client of a holder goes; look at `at_us` for what it left unanswered."""
        holder.is_open = False
        found = self._world.subscriptions.get(holder.subscription)
        if found is None or holder.is_passing:
            return ()
        if at_us is not None and (holder.sends_receipts or holder.has_nacked):
            found.alarms.set(Departure(holder, found.backlog), at_us)
        else:
            at_us = None
        if self._world.recording.is_on:
            self._world.recording.add(HolderLeft(holder.id, holder.has_half_closed, at_us))
        # Keys that were kept for it are anybody's now.
        return (found.backlog.wake,)


def properties_of(found: Subscription) -> Properties:
    """What a subscription promises now."""
    resource = found.resource
    return Properties(resource.enable_exactly_once_delivery, resource.enable_message_ordering)


def _lease(
    found: Subscription, limit: int, deadline_us: int, holder: Holder | None, now: int
) -> list[Lease]:
    """Lease `limit` messages at most for `deadline_us` from `now` on."""
    return found.backlog.lease(
        min(limit, limits.PULL_MESSAGES),
        limits.RESPONSE_BYTES,
        now + deadline_us,
        holder,
        now=now,
    )


def _leases(found: Subscription, leases: list[Lease], *, is_blocked: bool) -> Leases:
    backlog = found.backlog
    is_attempt_shown = backlog.rules.max_attempts > 0
    return Leases(leases, is_attempt_shown, backlog.available, is_blocked, properties_of(found))
