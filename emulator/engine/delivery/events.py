"""What happened to messages: facts, one for a batch, for whoever records them.

An event is built only while somebody listens (`Recording.is_on`, read once an operation), and
leaves the engine in the `events` of the operation's outcome, in the order in which things happened.
Events name a message by its position in its topic's log and a lease by its ack id. They say what
became of things, so that no rule has to be asked again: applied in order to an engine that was
equal before, they make it equal after. What follows from an event alone, whatever the rules, it
leaves unsaid: that a settled delivery's deadline is disarmed, that a lane without messages is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Reason(Enum):
    """Why a message that was leased waits again."""

    NACK = "nack"
    DEADLINE = "ack deadline"
    RELEASED = "released"  # it never reached its consumer (PUL-06)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened."""


class Recording:
    """Whether events are wanted, and those of the operation that runs."""

    __slots__ = ("_events", "is_on")

    def __init__(self) -> None:
        self.is_on = False
        self._events: list[Event] = []

    def add(self, event: Event) -> None:
        """Take note of an event; ask `is_on` before making one."""
        self._events.append(event)

    def take(self) -> tuple[Event, ...]:
        """What came in since the last call."""
        if not self._events:
            return ()
        events, self._events = tuple(self._events), []
        return events


@dataclass(frozen=True, slots=True)
class Appended(Event):
    """Messages were published, all with one key: `encoded` are their stored forms.

    Determines the topic's log from `position` on and the time of its newest message, the count of
    all messages ever accepted (`number` is the first one's place among them), and the alarms of
    what had slept for want of a message. The messages wait in every backlog of the topic whose
    source is the log; in each that picks its messages, unless a `Filtered` that follows says
    otherwise, or its feed reads the log and comes to them in its turn.
    """

    topic: str
    generation: int  # which of the topics that had this name, or any
    position: int
    number: int
    time_us: int
    ordering_key: str
    encoded: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Filtered(Event):
    """Of the messages just appended, these did not pass the subscription's filter (DLV-40).

    Determines that they never come into its backlog.
    """

    subscription: str
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fed(Event):
    """A part of what a seek brings back was gone through (SEK-01..09).

    Determines the feed's progress - `carried` messages more of what was carried over are gone
    through, the log is up to `log_position`, None once it is at its end - that `positions` wait, in
    this order, behind what waited, and that `settled` are acked: retained, where that is asked for.
    `is_done`: the feed is over.
    """

    subscription: str
    carried: int
    log_position: int | None
    positions: tuple[int, ...]
    settled: tuple[int, ...]
    is_done: bool


@dataclass(frozen=True, slots=True)
class Leased(Event):
    """Messages were leased until `deadline_us`; the three tuples go together, item by item.

    Determines that they are LEASED and in nobody's queue, and their deadlines; by the ack ids, of
    which each consumes one serial, which lease is a message's newest; the window of the holder
    (None: a pull's), whether it `is_blocked`, and that lanes they come from are its own.
    `line` says what became of the lanes at the head of those that are ready, one after another:
    True, it left the line; False, it went to its end. `is_turn_of_unkeyed`: as it is afterwards.
    It is told, without messages, also where an attempt to lease changed one of these alone.
    """

    subscription: str
    holder: int | None
    is_blocked: bool
    at_us: int
    deadline_us: int
    ack_ids: tuple[str, ...]
    positions: tuple[int, ...]
    attempts: tuple[int, ...]
    line: tuple[bool, ...]
    is_turn_of_unkeyed: bool


@dataclass(frozen=True, slots=True)
class Extended(Event):
    """Running leases end at `deadline_us` instead (DLV-21).

    Determines their deadlines, and that the clients of `holders` are known to send receipts for
    what they get (see `unanswered`).
    """

    subscription: str
    ack_ids: tuple[str, ...]
    deadline_us: int
    holders: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Settled(Event):
    """Messages were acked, in this order; the two tuples go together (DLV-02).

    Determines that they are ACKED, and retained where that is asked for; that the windows of their
    holders, the lines of redeliveries and the backoffs are without them; that lanes have moved on.
    `is_remembered`: their ids are, for exactly-once delivery (EOD-08).
    """

    subscription: str
    ack_ids: tuple[str, ...]
    positions: tuple[int, ...]
    is_remembered: bool


@dataclass(frozen=True, slots=True)
class Counted(Event):
    """Leases ended as failures; the three tuples go together.

    Determines the counters of attempts: all failures, how many of them came before the dead-letter
    policy number `policy` of the subscription (DLQ-11).
    """

    subscription: str
    positions: tuple[int, ...]
    failures: tuple[int, ...]
    first_counted: tuple[int, ...]
    policy: int


@dataclass(frozen=True, slots=True)
class Returned(Event):
    """Leases ended, and their messages, without a key, wait again; in this order.

    Determines that they are AVAILABLE, in the line of redeliveries, behind all messages below
    `requeued_at` - those released in front of the line, with 0 there - or, with `until_us`, DELAYED
    until then. A released lease's ack id names nothing any more; all others name their message
    until its next lease.
    """

    subscription: str
    reason: Reason
    ack_ids: tuple[str, ...]
    positions: tuple[int, ...]
    requeued_at: int
    until_us: int | None


@dataclass(frozen=True, slots=True)
class Rewound(Event):
    """A lane went back to its message at `first`; why, `reason` says (ORD-02, ORD-03).

    Determines the lane's cursor: from `first` on its messages are pending again, but for what is
    done with for good. `failed` are those of them whose own leases ended, and they keep their ack
    ids; `canceled` are the ack ids of the other leases, running or ended, which name nothing any
    more; `unacked` are those that were acked already.
    A backoff that the lane had is over; with `until_us` all of it has another, with `first` DELAYED
    until then (ORD-08). `kept_for` is the stream that
    alone may have it before `kept_until_us`. `ready_at`: the lane stands among those that are
    ready, at the end, or - of RELEASED leases - in front of them all, and gives way to messages
    without a key from below that position; None: it does not stand there.
    """

    subscription: str
    key: str
    reason: Reason
    first: int
    failed: tuple[int, ...]
    canceled: tuple[str, ...]
    unacked: tuple[int, ...]
    until_us: int | None
    kept_for: int | None
    kept_until_us: int | None
    ready_at: int | None


@dataclass(frozen=True, slots=True)
class BackoffOver(Event):
    """Messages have waited for their backoff, in this order (RTY-02).

    Determines that those without a key are AVAILABLE, behind all messages below `requeued_at`, and
    that the lanes of the others are ready again.
    """

    subscription: str
    positions: tuple[int, ...]
    requeued_at: int


@dataclass(frozen=True, slots=True)
class DeadLettered(Event):
    """A lease's end used up the attempts of its message, which is now `topic`'s (DLQ-02).

    Determines that it is DEAD_LETTERED: gone from here. What becomes of it there, an `Appended`
    says, and a `Forwarded` which of its messages it is.
    """

    subscription: str
    ack_id: str
    position: int
    message_id: str
    topic: str


@dataclass(frozen=True, slots=True)
class Forwarded(Event):
    """The dead letter with `old_id`, of a subscription, has `new_id` in the topic it went to.

    Determines nothing: it tells the way.
    """

    subscription: str
    old_id: str
    topic: str
    new_id: str


@dataclass(frozen=True, slots=True)
class Expired(Event):
    """What was published at `cutoff_us` or before is too old (DLV-41).

    Determines that `positions`, leased once or in a lane, are EXPIRED, and that what was never
    leased is gone up to the same time, from the source and from what is retained: a source that is
    the log goes on from `log_position`. Holders' windows are without them.
    """

    subscription: str
    cutoff_us: int
    positions: tuple[int, ...]
    log_position: int


@dataclass(frozen=True, slots=True)
class Dropped(Event):
    """A subscription's backlog, and what it retained, went at once: deleted, detached, reset."""

    subscription: str


@dataclass(frozen=True, slots=True)
class BacklogReplaced(Event):
    """A seek gave a subscription another backlog (SEK-09).

    Determines that every lease has ended and every lane is gone, that the windows of all holders
    are empty, and the new source: the log from `start` on. What is carried over from before it the
    criterion says: published at `time_us` or later, or unacked in the snapshot. `Fed` events tell
    when that comes.
    """

    subscription: str
    start: int
    time_us: int | None
    snapshot: str | None


@dataclass(frozen=True, slots=True)
class HolderOpened(Event):
    """Somebody is to be delivered to. Determines the holder, and the id that the next one gets.

    Limits are as given: 0 or less is none; `ack_deadline_us` is None for the subscription's own.
    """

    holder: int
    subscription: str
    ack_deadline_us: int | None
    max_messages: int
    max_bytes: int
    is_passing: bool


@dataclass(frozen=True, slots=True)
class HolderDeadline(Event):
    """A holder's leases run for this long from now on. Determines that time."""

    holder: int
    ack_deadline_us: int


@dataclass(frozen=True, slots=True)
class HolderLeft(Event):
    """The client of a holder goes, having half-closed or not; it is delivered to no more.

    Determines that keys which were kept for it are anybody's, and when what it left unanswered is
    looked at (None: not yet, or never).
    """

    holder: int
    has_half_closed: bool
    at_us: int | None


@dataclass(frozen=True, slots=True)
class HolderClosed(Event):
    """A holder is over: its leases run on (STR-05). Determines that it is known no more."""

    holder: int


@dataclass(frozen=True, slots=True)
class Used(Event):
    """A subscription was used. Determines when it will have been idle for too long (SUB-22)."""

    subscription: str
    at_us: int
