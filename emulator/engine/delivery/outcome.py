"""What an operation of the engine gives back: its value, what is to be done, what happened."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

from emulator.api.pubsub import PubsubMessage
from emulator.engine.delivery.events import Event
from emulator.engine.values.errors import PubsubError

Value = TypeVar("Value")


class Available(NamedTuple):
    """Messages of this subscription may be waiting: whoever waits for them should try to lease.

    The holders in `last` just nacked messages or let their leases end; others come before them.
    """

    subscription: str
    last: frozenset[int] = frozenset()


class Ended(NamedTuple):
    """This subscription takes no more consumers: all that wait on it must be told `error`."""

    subscription: str
    error: PubsubError


class Room(NamedTuple):
    """The window of the holder with this id, too full for the next message before, has room."""

    holder: int


class Forward(NamedTuple):
    """This message is to be published to a dead-letter topic: `Engine.forward` it at once.

    It is an effect because the topic may lie in a project with another time. `subscription` and
    `message_id` say where it comes from.
    """

    topic: str
    content: PubsubMessage
    subscription: str
    message_id: str

    def __hash__(self) -> int:
        return id(self.content)


class Due(StrEnum):
    """What can happen because its time has come."""

    ACK_DEADLINE = "ack deadline"
    BACKOFF = "backoff"
    RETENTION = "retention"
    TOPIC_RETENTION = "topic retention"
    SNAPSHOT_EXPIRY = "snapshot expiry"
    SUBSCRIPTION_EXPIRY = "subscription expiry"
    DEPARTURE = "departure"


class Fired(NamedTuple):
    """Something happened, its time having come, to `quantity` deliveries, messages or resources."""

    at_us: int
    what: Due
    name: str
    quantity: int


Effect = Available | Ended | Room | Forward | Fired


def once(effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """Each effect once, in order; what was fired more than once is added up."""
    kept: dict[object, Effect] = {}
    for effect in effects:
        key: object = effect
        if isinstance(effect, Fired):
            key = effect._replace(quantity=0)
            before = kept.get(key)
            if isinstance(before, Fired):
                effect = effect._replace(quantity=before.quantity + effect.quantity)
        kept[key] = effect
    return tuple(kept.values())


class Outcome(NamedTuple, Generic[Value]):
    """`effects` are to be acted on, in order; `events` are facts, where someone records them."""

    value: Value
    effects: tuple[Effect, ...] = ()
    events: tuple[Event, ...] = ()
