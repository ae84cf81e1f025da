"""A delivery: one message in one subscription, from its first lease until it is done with.

                lease                    ack
    AVAILABLE ─────────▶ LEASED ───────────────▶ ACKED
        ▲                  │                       ▲
        ├──────────────────┘ nack, deadline        │
        │                                          │
        └──────────────────────────────────────────┘ ack after the lease, before another one
    delete, reset ─▶ DROPPED from any state

A message that was never leased in a subscription has no delivery there: it is AVAILABLE because
it lies beyond the subscription's position in the message log (see `Backlog`). That is what makes
a backlog of millions cheap.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from emulator.engine.holder import Holder
from emulator.engine.message_log import Message

if TYPE_CHECKING:
    from emulator.engine.lease_heap import LeaseBatch


class DeliveryState(Enum):
    AVAILABLE = "available"
    LEASED = "leased"
    ACKED = "acked"
    DROPPED = "dropped"


AVAILABLE = DeliveryState.AVAILABLE
LEASED = DeliveryState.LEASED
ACKED = DeliveryState.ACKED
DROPPED = DeliveryState.DROPPED

#: Every move a delivery may make; anything else is a bug in this program.
MOVES = frozenset(
    {
        (AVAILABLE, LEASED),
        (LEASED, AVAILABLE),
        (LEASED, ACKED),
        (AVAILABLE, ACKED),
        (AVAILABLE, DROPPED),
        (LEASED, DROPPED),
    }
)


class Delivery:
    """`attempt` counts its leases, `ack_id` names the newest one, `deadline_us` is when that one
    ends.

    `holder` is who has it, where leases are held in a window.
    `behind` orders redeliveries: this one goes out again after every message below that position
    of the log.
    """

    __slots__ = (
        "ack_id",
        "attempt",
        "batch",
        "behind",
        "deadline_us",
        "holder",
        "message",
        "state",
    )

    def __init__(self, message: Message) -> None:
        self.message = message
        self.state = AVAILABLE
        self.attempt = 0
        self.ack_id = ""
        self.deadline_us = 0
        self.behind = 0
        self.batch: LeaseBatch | None = None
        self.holder: Holder | None = None

    def move_to(self, state: DeliveryState) -> None:
        assert (self.state, state) in MOVES, f"{self!r} cannot become {state.value}"
        self.state = state

    def __repr__(self) -> str:
        return f"<Delivery {self.state.value} of {self.message!r}, attempt {self.attempt}>"
