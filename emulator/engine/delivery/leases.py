"""Leases: messages that are out with somebody, and the ack ids that name them (DLV-20..25)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from emulator.engine.delivery.ack_ids import AckIdMint
from emulator.engine.delivery.deadlines import Deadlines
from emulator.engine.delivery.delivery import (
    AVAILABLE,
    DELAYED,
    DROPPED,
    LEASED,
    Delivery,
    DeliveryState,
    move,
)
from emulator.engine.delivery.events import Leased
from emulator.engine.delivery.holder import Holder
from emulator.engine.delivery.outcome import Effect, Room
from emulator.engine.log.message_log import Message
from emulator.engine.values import errors


class Lease(NamedTuple):
    """A lease as those see it who got it: it does not change, whatever becomes of the message.

    `attempt` says which delivery of the message this is, 1 at first; with a dead-letter policy it
    counts from that policy on (DLQ-01, DLQ-11).
    """

    ack_id: str
    message: Message
    attempt: int


class Leases:
    """The deliveries of one backlog that have an ack id: it names their newest lease.

    After that lease they keep the id until the next one, so that a late acknowledgement counts
    (DLV-24). `running` counts those that are LEASED; the deadlines of these, and the ends of the
    backoffs of the DELAYED ones, are in the project's heaps, under the backlog that is `owner`.
    """

    __slots__ = (
        "_backoffs",
        "_effects",
        "_mint",
        "_owner",
        "by_ack_id",
        "deadlines",
        "running",
    )

    def __init__(
        self,
        owner: object,
        mint: AckIdMint,
        deadlines: Deadlines[Any],
        backoffs: Deadlines[Any],
        effects: list[Effect],
    ) -> None:
        self.running = 0
        self.by_ack_id: dict[str, Delivery] = {}
        self.deadlines = deadlines
        self._owner = owner
        self._mint = mint
        self._backoffs = backoffs
        self._effects = effects

    def check_ack_ids(self, ack_ids: Iterable[str]) -> None:
        """Raise ERR-12 if any id was never issued for this subscription (DLV-25, DLV-28)."""
        by_ack_id = self.by_ack_id
        for ack_id in ack_ids:
            if ack_id not in by_ack_id and not self._mint.recognises(ack_id):
                raise errors.bad_ack_id(ack_id)

    def find(self, ack_ids: Iterable[str]) -> dict[str, Delivery | None]:
        """What each id names, if anything; an id that comes twice is one."""
        get = self.by_ack_id.get
        return {ack_id: get(ack_id) for ack_id in ack_ids}

    def start(self, taken: Sequence[Delivery], deadline_us: int, holder: Holder | None) -> None:
        """Lease what is available until `deadline_us`, each under a new ack id."""
        if not taken:
            return
        move(taken, AVAILABLE, LEASED)
        by_ack_id = self.by_ack_id
        for delivery, ack_id in zip(taken, self._mint.issue_many(len(taken)), strict=True):
            if delivery.ack_id:
                del by_ack_id[delivery.ack_id]
            delivery.ack_id = ack_id
            by_ack_id[ack_id] = delivery
        self.running += len(taken)
        if holder is not None:
            _fill_window(holder, taken)
        self.deadlines.arm(self._owner, tuple(taken), deadline_us)

    def extend(self, deliveries: Iterable[Delivery], deadline_us: int) -> None:
        """Let running leases end at `deadline_us` (DLV-21)."""
        self.deadlines.rearm(self._owner, deliveries, deadline_us)

    def end(self, ended: Sequence[Delivery], state: DeliveryState) -> None:
        """End running leases, however they end: the one place where LEASED is left.

        Their ack ids go on naming them; see `forget`.
        """
        move(ended, LEASED, state)
        self.running -= len(ended)
        self.deadlines.disarm(ended)
        for delivery in ended:
            holder = delivery.holder
            if holder is not None:
                delivery.holder = None
                holder.held_messages -= 1
                holder.held_bytes -= len(delivery.message.encoded)
                if holder.is_blocked:
                    holder.is_blocked = False
                    self._effects.append(Room(holder.id))

    def cancel(self, delivery: Delivery) -> None:
        """End a running lease without a failure; its ack id is stale from now on."""
        self.end((delivery,), AVAILABLE)
        self.forget(delivery)

    def forget(self, delivery: Delivery) -> None:
        """Let a delivery's ack id, if it has one, name nothing any more."""
        if delivery.ack_id:
            del self.by_ack_id[delivery.ack_id]
            delivery.ack_id = ""

    def start_backoff(self, deliveries: Sequence[Delivery], until_us: int) -> None:
        """Have deliveries, DELAYED already, wait until `until_us` (RTY-02)."""
        self._backoffs.arm(self._owner, deliveries, until_us)

    def end_backoff(self, deliveries: Sequence[Delivery], state: DeliveryState) -> None:
        """Let deliveries wait for their backoff no more."""
        move(deliveries, DELAYED, state)
        self._backoffs.disarm(deliveries)

    def free(self, budget: int) -> int:
        """Drop up to `budget` deliveries of a closed backlog; return how many."""
        freed = 0
        while freed < budget and self.by_ack_id:
            _, delivery = self.by_ack_id.popitem()
            if delivery.batch is not None:
                heap = self.deadlines if delivery.state is LEASED else self._backoffs
                heap.disarm((delivery,))
            delivery.move_to(DROPPED)
            freed += 1
        return freed

    def __repr__(self) -> str:
        return f"<Leases, {self.running} running, {len(self.by_ack_id)} named>"


def _fill_window(holder: Holder, taken: Sequence[Delivery]) -> None:
    held_bytes = 0
    for delivery in taken:
        delivery.holder = holder
        held_bytes += len(delivery.message.encoded)
    holder.held_bytes += held_bytes
    holder.held_messages += len(taken)


def leased(
    subscription: str,
    leases: Sequence[Lease],
    holder: Holder | None,
    now: int,
    deadline_us: int,
    moves: tuple[bool, ...],
    is_turn_of_unkeyed: bool,
) -> Leased:
    """What happened when `leases` were made."""
    ack_ids, messages, attempts = zip(*leases, strict=True) if leases else ((), (), ())
    return Leased(
        subscription,
        holder.id if holder is not None else None,
        holder is not None and holder.is_blocked,
        now,
        deadline_us,
        ack_ids,
        tuple([message.position for message in messages]),
        attempts,
        moves,
        is_turn_of_unkeyed,
    )
