"""Acknowledgements: messages that are done with in one subscription (DLV-02, DLV-23..25, EOD-*)."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.engine.delivery.delivery import ACKED, DELAYED, LEASED, Delivery
from emulator.engine.delivery.events import Settled
from emulator.engine.delivery.exactly_once import AckedIds, AckReport
from emulator.engine.delivery.lanes import Lanes
from emulator.engine.delivery.leases import Leases
from emulator.engine.delivery.queue import UnkeyedQueue
from emulator.engine.delivery.shared import Shared


class Settling:
    """Settles the deliveries of one backlog."""

    __slots__ = (
        "_acked_ids",
        "_lanes",
        "_leases",
        "_queue",
        "_shared",
    )

    def __init__(
        self, shared: Shared, queue: UnkeyedQueue, leases: Leases, lanes: Lanes | None
    ) -> None:
        self._shared = shared
        self._queue = queue
        self._leases = leases
        self._lanes = lanes
        self._acked_ids = AckedIds()

    def acknowledge(self, ack_ids: Iterable[str]) -> AckReport | None:
        """Settle the deliveries that `ack_ids` name; stale ids change nothing (DLV-23, DLV-24).

        With exactly-once delivery the report says which ids failed.
        """
        if self._shared.rules.is_exactly_once:
            return self._acknowledge_exactly(ack_ids)
        if self._lanes is None:
            self._settle_all(ack_ids)
        else:
            self._settle_each(ack_ids, self._lanes)
        return None

    def _settle_all(self, ack_ids: Iterable[str]) -> None:
        """Settle messages of which none is in a lane."""
        pop = self._leases.by_ack_id.pop
        settled: list[Delivery] = []
        running: list[Delivery] = []
        for ack_id in ack_ids:
            delivery = pop(ack_id, None)
            if delivery is None:
                continue
            settled.append(delivery)
            if delivery.state is LEASED:
                running.append(delivery)
            else:
                self._end_wait(delivery)
        self._leases.end(running, ACKED)
        self._retain(settled)
        if settled and self._shared.recording.is_on:
            self._record([delivery.ack_id for delivery in settled], settled, is_remembered=False)

    def _settle_each(self, ack_ids: Iterable[str], lanes: Lanes) -> None:
        """As `_settle_all`, one by one, as what one brings about can matter to the next."""
        by_ack_id = self._leases.by_ack_id
        settled: list[Delivery] = []
        settled_ids: list[str] = []
        for ack_id in ack_ids:
            delivery = by_ack_id.pop(ack_id, None)
            if delivery is None:
                continue
            if delivery.lane is not None and not lanes.may_settle(delivery, delivery.lane):
                by_ack_id[ack_id] = delivery
                continue
            self._settle(delivery)
            settled.append(delivery)
            settled_ids.append(ack_id)
        if settled and self._shared.recording.is_on:
            self._record(settled_ids, settled, is_remembered=False)

    def _acknowledge_exactly(self, ack_ids: Iterable[str]) -> AckReport:
        by_ack_id = self._leases.by_ack_id
        report = AckReport()
        settled: list[Delivery] = []
        settled_ids: list[str] = []
        for ack_id in self._in_turn(ack_ids):
            delivery = by_ack_id.get(ack_id)
            if delivery is None or delivery.state is not LEASED:
                known = ack_id in self._acked_ids
                (report.succeeded if known else report.invalid).append(ack_id)
                continue
            lane = delivery.lane
            if lane is not None and lane.delivered[0] is not delivery:
                report.unordered.append(ack_id)
                continue
            del by_ack_id[ack_id]
            if self._lanes is not None:
                self._settle(delivery)
            self._acked_ids.add(ack_id)
            report.succeeded.append(ack_id)
            settled.append(delivery)
            settled_ids.append(ack_id)
        if self._lanes is None:
            self._leases.end(settled, ACKED)
            self._retain(settled)
        if settled and self._shared.recording.is_on:
            self._record(settled_ids, settled, is_remembered=True)
        return report

    def _retain(self, settled: list[Delivery]) -> None:
        history = self._shared.history
        if history is not None:
            for delivery in settled:
                history.acked(delivery.message)

    def _in_turn(self, ack_ids: Iterable[str]) -> Iterable[str]:
        """In the order of publishing, where that counts, so that no request is out of order in
        itself (EOD-09)."""
        if self._lanes is None:
            return ack_ids
        get = self._leases.by_ack_id.get
        found = {ack_id: get(ack_id) for ack_id in ack_ids}
        positions = {a: d.message.position if d is not None else 0 for a, d in found.items()}
        return sorted(ack_ids, key=positions.__getitem__)

    def _settle(self, delivery: Delivery) -> None:
        """A delivery, that no ack id names any more, is acked."""
        if delivery.lane is not None:
            assert self._lanes is not None
            self._lanes.settle(delivery, delivery.lane)
            return
        if delivery.state is LEASED:
            self._leases.end((delivery,), ACKED)
        else:
            self._end_wait(delivery)
        if self._shared.history is not None:
            self._shared.history.acked(delivery.message)

    def _end_wait(self, delivery: Delivery) -> None:
        """A delivery without a lane is acked late, while it waited to go out again."""
        if delivery.state is DELAYED:
            self._leases.end_backoff((delivery,), ACKED)
            self._queue.delayed -= 1
        else:
            delivery.move_to(ACKED)
            self._queue.forget_one()

    def _record(self, ack_ids: list[str], settled: list[Delivery], *, is_remembered: bool) -> None:
        shared = self._shared
        positions = tuple([delivery.message.position for delivery in settled])
        shared.recording.add(Settled(shared.subscription, tuple(ack_ids), positions, is_remembered))
