"""What was sent on a stream and never answered: given back when its client goes (STR-05, STR-14).

Leases of delivered messages run on when a stream ends. But a client that stops often nacks what
it has while its stream is still open. Those messages go out again at once (DLV-03), many of them
on that same stream, where nobody reads any more. Nothing is lost when they are taken back: a
lease counts as unanswered only if nobody acked it, nacked it or set its deadline, the same one
included, and only if its client cannot have put the message to use:

- its last failure was a nack by this very stream (of a key: of any message of the key), or
- the client has half-closed, and is one that sends a receipt for whatever it gets (CLI-14).
"""

from __future__ import annotations

from collections.abc import Iterable

from emulator.engine.delivery.delivery import Delivery, Lane
from emulator.engine.delivery.holder import Holder
from emulator.engine.values import limits
from emulator.engine.values.durations import SECOND_US


def note_receipts(deliveries: Iterable[Delivery], now: int) -> tuple[int, ...]:
    """The deadlines of these leases are being set: note whose client does so upon receiving.

    Return the ids of the holders that were not known to.
    """
    found: list[int] = []
    for delivery in deliveries:
        holder, batch = delivery.holder, delivery.batch
        if holder is None or holder.sends_receipts or batch is None or batch.sent_us is None:
            continue
        is_prompt = now - batch.sent_us <= limits.RECEIPT_WITHIN_S * SECOND_US
        if is_prompt and batch.is_untouched(delivery):
            holder.sends_receipts = True
            found.append(holder.id)
    return tuple(found)


def newest(holder: Holder, limit: int) -> list[Delivery]:
    """About `limit` of what a stream that is over left unanswered, the newest of it first."""
    holder.sent = [batch for batch in holder.sent if batch.live]
    is_reader = holder.has_half_closed and holder.sends_receipts
    if not is_reader and not holder.has_nacked:
        return []
    found: list[Delivery] = []
    for batch in reversed(holder.sent):
        found += (
            delivery
            for delivery in reversed(batch.deliveries)
            if batch.is_untouched(delivery) and (is_reader or _nacked_by(delivery) is holder)
        )
        if len(found) >= limit:
            break
    return found[:limit]


def _nacked_by(delivery: Delivery) -> Holder | None:
    if delivery.lane is not None:
        return delivery.lane.nacked_by
    return delivery.nacked_by if delivery.failures else None


def returnable(newest_first: list[Delivery]) -> list[Delivery]:
    """Leave out what was delivered before something of its key that stays out (ORD-02, ORD-03).

    The client had that one, so it had them too. Those that are left are in order again.
    """
    lanes: dict[Lane, set[Delivery]] = {}
    for delivery in newest_first:
        if delivery.lane is not None:
            lanes.setdefault(delivery.lane, set()).add(delivery)
    for lane, candidates in lanes.items():
        for delivered in reversed(lane.delivered):
            if delivered not in candidates:
                break
            candidates.remove(delivered)
    # What is left of the candidates is what stays.
    return [d for d in reversed(newest_first) if d.lane is None or d not in lanes[d.lane]]
