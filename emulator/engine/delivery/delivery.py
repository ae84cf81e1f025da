"""A delivery: one message in one subscription, from its first lease until it is done with.

                lease                          ack
    AVAILABLE ─────────▶ LEASED ─────────────────────────▶ ACKED
     ▲  ▲  ▲               │ nack, deadline                  │
     │  │  └───────────────┤ no retry policy                 │
     │  │ backoff over     ▼ retry policy                    │
     │  └────────────── DELAYED                              │ its lane rewinds (ORD-02)
     └───────────────────────────────────────────────────────┘
    ack after the lease, before another one ─▶ ACKED from AVAILABLE or DELAYED
    attempts used up ─▶ DEAD_LETTERED from LEASED
    older than retention ─▶ EXPIRED from any state but the last ones
    delete, detach, reset, seek ─▶ DROPPED from any state

A message that was never leased in a subscription has no delivery there: it is AVAILABLE because
it still waits in the subscription's source (see `sources`). That is what makes a backlog of
millions cheap.

The lane that a delivery belongs to, and the batch whose deadline it shares, are here too: each of
the three knows the others. Their rules are in `lanes` and `deadlines`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

from emulator.engine.delivery.holder import Holder
from emulator.engine.log.message_log import Message


class DeliveryState(Enum):
    AVAILABLE = "available"
    LEASED = "leased"
    DELAYED = "delayed"
    ACKED = "acked"
    DEAD_LETTERED = "dead-lettered"
    EXPIRED = "expired"
    DROPPED = "dropped"

    __hash__ = object.__hash__  # each is one object; an Enum's own hash is slow


AVAILABLE = DeliveryState.AVAILABLE
LEASED = DeliveryState.LEASED
DELAYED = DeliveryState.DELAYED
ACKED = DeliveryState.ACKED
DEAD_LETTERED = DeliveryState.DEAD_LETTERED
EXPIRED = DeliveryState.EXPIRED
DROPPED = DeliveryState.DROPPED

#: Every move a delivery may make; anything else is a bug in this program.
MOVES = frozenset(
    {
        (AVAILABLE, LEASED),
        (LEASED, AVAILABLE),
        (LEASED, DELAYED),
        (LEASED, ACKED),
        (LEASED, DEAD_LETTERED),
        (AVAILABLE, DELAYED),  # in a lane, which gives the message back first
        (DELAYED, AVAILABLE),
        (DELAYED, ACKED),
        (AVAILABLE, ACKED),
        (ACKED, AVAILABLE),
        (AVAILABLE, EXPIRED),
        (LEASED, EXPIRED),
        (DELAYED, EXPIRED),
        (AVAILABLE, DROPPED),
        (LEASED, DROPPED),
        (DELAYED, DROPPED),
        (ACKED, DROPPED),
    }
)


class Delivery:
    """`ack_id` names the newest lease, `deadline_us` is when that lease, or its backoff, ends.

    `failures` counts nacks and expiries; `first_counted` is how many of them came before the
    subscription's present dead-letter policy, `policy` which policy that was, and `nacked_by` the
    stream of the last failure if that was a nack. `holder` is who has it, where leases are held in
    a window, and `lane` that of its ordering key. `requeued_at` orders redeliveries: it is the end
    of the log at the time, and this one goes out again after every message below that position.
    """

    __slots__ = (
        "ack_id",
        "batch",
        "deadline_us",
        "failures",
        "first_counted",
        "holder",
        "lane",
        "message",
        "nacked_by",
        "policy",
        "requeued_at",
        "state",
    )

    # Set when they first mean something: most deliveries are acked before.
    requeued_at: int
    deadline_us: int
    first_counted: int
    nacked_by: Holder | None
    policy: int

    def __init__(self, message: Message, lane: Lane | None = None) -> None:
        self.message = message
        self.state = AVAILABLE
        self.ack_id = ""
        self.failures = 0
        self.batch: DeadlineBatch | None = None
        self.holder: Holder | None = None
        self.lane = lane

    @property
    def attempt(self) -> int:
        """Which delivery of its message this is, or the next one will be: 1 at first."""
        return self.failures + 1

    def move_to(self, state: DeliveryState) -> None:
        """Move this one alone; see `move`."""
        move((self,), self.state, state)

    def __repr__(self) -> str:
        return f"<Delivery {self.state.value} of {self.message!r}, attempt {self.attempt}>"


def move(deliveries: Iterable[Delivery], start: DeliveryState, state: DeliveryState) -> None:
    """Take deliveries from `start` to `state`: the one place where a state changes."""
    assert (start, state) in MOVES, f"{start.value} cannot become {state.value}"
    for delivery in deliveries:
        assert delivery.state is start, f"{delivery!r} is not {start.value}"
        delivery.state = state


class DeadlineBatch:
    """Deliveries of one backlog that come up together; `live` counts those that are still here.

    `owner` is the backlog, for whoever asks whose they are. `sent_us` is when they were leased to
    a stream, None for all other batches.
    """

    __slots__ = ("deadline_us", "deliveries", "live", "owner", "sent_us")

    def __init__(self, owner: Any, deliveries: Sequence[Delivery], deadline_us: int) -> None:
        self.owner = owner
        self.deliveries = deliveries
        self.deadline_us = deadline_us
        self.live = len(deliveries)
        self.sent_us: int | None = None

    def is_untouched(self, delivery: Delivery) -> bool:
        """Whether nobody has ended or changed a lease of this batch since it was made."""
        return delivery.batch is self and delivery.deadline_us == self.deadline_us

    def __repr__(self) -> str:
        return f"<DeadlineBatch of {self.live} at {self.deadline_us}>"


class Lane:
    """The messages of one ordering key, in publish order: `delivered`, and then `pending`.

    `leased` counts the LEASED among `delivered`. `holder` is the stream that has them, None for a
    pull. `is_delayed` says that the first of `pending` waits for its backoff to end. `ready_at` is
    as `requeued_at` of a delivery: messages without a key below that position go before it.
    """

    __slots__ = (
        "delivered",
        "holder",
        "is_delayed",
        "is_ready",
        "kept_for",
        "kept_until_us",
        "key",
        "leased",
        "nacked_by",
        "pending",
        "ready_at",
    )

    ready_at: int  # set when it is ready
    kept_until_us: int  # set when it is kept

    def __init__(self, key: str) -> None:
        self.key = key
        self.delivered: deque[Delivery] = deque()
        self.pending: deque[Message | Delivery] = deque()
        self.leased = 0
        self.holder: Holder | None = None
        self.kept_for: Holder | None = None  # the stream that nacked a message of it
        self.nacked_by: Holder | None = None  # as that, also when it has the messages again
        self.is_delayed = False
        self.is_ready = False  # stands among the lanes that anybody may take from

    def is_kept_from(self, holder: Holder | None, now: int) -> bool:
        """Whether the stream that nacked it should have it again, and can (STR-15, ORD-05)."""
        kept_for = self.kept_for
        if kept_for is None or kept_for is holder or not kept_for.is_open:
            return False
        return now < self.kept_until_us and kept_for.room_messages > 0

    def __repr__(self) -> str:
        return f"<Lane {self.key!r}, {self.leased} leased, {len(self.pending)} pending>"
