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
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from emulator.engine.delivery.holder import Holder
from emulator.engine.log.message_log import Message

if TYPE_CHECKING:
    from emulator.engine.delivery.deadline_heap import DeadlineBatch
    from emulator.engine.delivery.ordering import Lane


class DeliveryState(Enum):
    AVAILABLE = "available"
    LEASED = "leased"
    DELAYED = "delayed"
    ACKED = "acked"
    DEAD_LETTERED = "dead-lettered"
    EXPIRED = "expired"
    DROPPED = "dropped"


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
    a window, and `lane` the line of its ordering key. `behind` orders redeliveries: this one goes
    out again after every message below that position of the log.
    """

    __slots__ = (
        "ack_id",
        "batch",
        "behind",
        "deadline_us",
        "failures",
        "first_counted",
        "holder",
        "lane",
        "message",
        "nacked_by",
        "policy",
        "state",
    )

    # Set when they first mean something: most deliveries are acked before.
    behind: int
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
        assert (self.state, state) in MOVES, f"{self!r} cannot become {state.value}"
        self.state = state

    def __repr__(self) -> str:
        return f"<Delivery {self.state.value} of {self.message!r}, attempt {self.attempt}>"
