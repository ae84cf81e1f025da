"""The queue of messages that have no lane: every one of a subscription without ordering.

First come redeliveries as far as their turn has come, then what was never leased (DLV-08).
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence

from emulator.engine.delivery.delivery import AVAILABLE, DROPPED, Delivery
from emulator.engine.delivery.lease_request import LeaseRequest
from emulator.engine.delivery.sources import Source

_SLACK = 64
ALL_POSITIONS = sys.maxsize  # before it lies every message


class UnkeyedQueue:
    """`source` has what was never leased; `waiting` counts the redeliveries that could go out.

    `delayed` counts those that wait for their backoff to end, and are not here until then.

    `redeliveries` are in the order of their `requeued_at`. Those acked or expired meanwhile are
    passed over, and bounded by those that wait.
    """

    __slots__ = (
        "delayed",
        "redeliveries",
        "source",
        "waiting",
    )

    def __init__(self, source: Source) -> None:
        self.source = source
        self.redeliveries: deque[Delivery] = deque()
        self.waiting = 0
        self.delayed = 0

    @property
    def available(self) -> int:
        return self.source.count + self.waiting

    def take(
        self, request: LeaseRequest, before: int = ALL_POSITIONS, *, is_turn: bool = True
    ) -> None:
        """Take messages that come before those published from position `before` on.

        `is_turn` says whether redeliveries that are level with `before` do so too.
        """
        while not request.is_full:
            count = len(request.taken)
            if self.redeliveries:
                self._take_redeliveries(request, before if is_turn else before - 1)
            self._take_fresh(request, before)
            if len(request.taken) == count:
                return

    def _take_redeliveries(self, request: LeaseRequest, until: int) -> None:
        """Take redeliveries that wait for no message from position `until` on."""
        redeliveries = self.redeliveries
        until = min(until, self.source.position)
        while redeliveries and redeliveries[0].requeued_at <= until and not request.is_full:
            delivery = redeliveries[0]
            if delivery.state is AVAILABLE:
                if not request.fits(delivery.message):
                    return
                request.taken.append(delivery)
                self.waiting -= 1
            redeliveries.popleft()

    def _take_fresh(self, request: LeaseRequest, before: int) -> None:
        if self.redeliveries:
            # Redeliveries wait for the messages that were there when they were requeued only.
            before = min(before, self.redeliveries[0].requeued_at)
        taken, left, is_strict = request.taken, request.bytes_left, request.is_strict
        count = len(taken)
        for message in self.source.peek(request.limit - count, before):
            left -= len(message.encoded)  # as `fits` does; this is the hot path
            if left < 0 and (taken or is_strict):
                request.is_too_large = True
                break
            taken.append(Delivery(message))
        request.bytes_left = left
        if len(taken) > count:
            self.source.take(len(taken) - count)

    def requeue(self, deliveries: Sequence[Delivery]) -> int:
        """Let deliveries, AVAILABLE already, wait behind what is available (DLV-08).

        Return the position in the log that they wait for.
        """
        end = self.source.end
        for delivery in deliveries:
            delivery.requeued_at = end
        self.redeliveries.extend(deliveries)
        self.waiting += len(deliveries)
        return end

    def put_first(self, deliveries: Sequence[Delivery]) -> None:
        """Let deliveries, AVAILABLE already, be the next to go (PUL-06)."""
        for delivery in reversed(deliveries):
            delivery.requeued_at = 0
            self.redeliveries.appendleft(delivery)
        self.waiting += len(deliveries)

    def forget_one(self) -> None:
        """A redelivery that waited is done with: AVAILABLE no more, and passed over."""
        self.waiting -= 1
        if len(self.redeliveries) > 2 * self.waiting + _SLACK:
            self.redeliveries = deque(d for d in self.redeliveries if d.state is AVAILABLE)

    def released(self) -> list[Delivery]:
        """Those that wait and that no ack id names."""
        return [d for d in self.redeliveries if d.state is AVAILABLE and not d.ack_id]

    def free(self, budget: int) -> int:
        """Drop up to `budget` redeliveries after the end; return how many."""
        freed = 0
        while freed < budget and self.redeliveries:
            delivery = self.redeliveries.popleft()
            if delivery.state is AVAILABLE:
                delivery.move_to(DROPPED)
            freed += 1
        return freed

    def __repr__(self) -> str:
        return f"<UnkeyedQueue, {self.source.count} fresh, {self.waiting} to be redelivered>"
