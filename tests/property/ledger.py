"""A ledger that is kept from events alone, to be compared with the engine that told them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from emulator.engine.delivery.backlog import Backlog
from emulator.engine.delivery.delivery import (
    AVAILABLE,
    DELAYED,
    LEASED,
    DeliveryState,
)
from emulator.engine.delivery.events import (
    Appended,
    BacklogReplaced,
    BackoffOver,
    Counted,
    DeadLettered,
    Dropped,
    Event,
    Expired,
    Extended,
    Fed,
    Filtered,
    HolderClosed,
    HolderDeadline,
    HolderOpened,
    Leased,
    Reason,
    Returned,
    Rewound,
    Settled,
    Used,
)
from emulator.engine.engine import Engine
from emulator.engine.log.message_log import MessageLog
from emulator.engine.resources.events import (
    ProjectSeen,
    Reset,
    ResourceGone,
    SnapshotSet,
    SubscriptionSet,
    TopicSet,
)
from tests.property.invariants import unacked_positions


@dataclass
class Entry:
    """A message that is not acked in a subscription."""

    state: DeliveryState = AVAILABLE
    ack_id: str = ""
    until_us: int = 0
    failures: int = 0
    holder: int | None = None


@dataclass
class TopicLedger:
    """`log` has the stored messages with their times and keys, by position."""

    log: list[tuple[int, str, bytes]] = field(default_factory=list)
    subscriptions: dict[str, SubscriptionLedger] = field(default_factory=dict)


@dataclass
class SubscriptionLedger:
    topic: TopicLedger
    is_indexed: bool
    last_used_us: int
    entries: dict[int, Entry] = field(default_factory=dict)
    acked: dict[int, Entry] = field(default_factory=dict)
    feed_position: int | None = None

    def named(self, ack_ids: Iterable[str]) -> list[int]:
        by_ack_id = {entry.ack_id: position for position, entry in self.entries.items()}
        return [by_ack_id[ack_id] for ack_id in ack_ids]


class Ledger:
    def __init__(self) -> None:
        self.projects: list[str] = []
        self.topics: dict[str, TopicLedger] = {}
        self.subscriptions: dict[str, SubscriptionLedger] = {}
        self.snapshots: set[str] = set()
        self.holders: dict[int, tuple[str, int | None]] = {}

    def apply(self, events: Iterable[Event]) -> None:
        for event in events:
            self._apply(event)

    def _apply(self, event: Event) -> None:
        match event:
            case Reset():
                self.__init__()  # type: ignore[misc]
            case ProjectSeen(project):
                self.projects.append(project)
            case TopicSet(resource):
                self.topics.setdefault(resource.name, TopicLedger())
            case SubscriptionSet(resource, _, at_us, True):
                topic = self.topics[resource.topic]
                is_indexed = bool(resource.enable_message_ordering or resource.filter)
                made = SubscriptionLedger(topic, is_indexed, at_us)
                self.subscriptions[resource.name] = topic.subscriptions[resource.name] = made
            case SnapshotSet(resource):
                self.snapshots.add(resource.name)
            case ResourceGone(name):
                self.topics.pop(name, None)
                self.subscriptions.pop(name, None)
                self.snapshots.discard(name)
            case HolderOpened(holder, subscription, ack_deadline_us):
                self.holders[holder] = subscription, ack_deadline_us
            case HolderDeadline(holder, ack_deadline_us):
                self.holders[holder] = self.holders[holder][0], ack_deadline_us
            case HolderClosed(holder):
                del self.holders[holder]
            case Appended():
                self._append(event)
            case _:
                name = getattr(event, "subscription", None)
                if name in self.subscriptions:
                    self._apply_to(self.subscriptions[name], event)

    def _append(self, event: Appended) -> None:
        topic = self.topics[event.topic]
        assert event.position == len(topic.log)
        topic.log += [(event.time_us, event.ordering_key, encoded) for encoded in event.encoded]
        for subscription in topic.subscriptions.values():
            if subscription.feed_position is None:
                for position in range(event.position, len(topic.log)):
                    subscription.entries[position] = Entry()

    def _apply_to(self, kept: SubscriptionLedger, event: Event) -> None:
        entries = kept.entries
        match event:
            case Filtered(_, positions):
                for position in positions:
                    del entries[position]
            case Used(_, at_us):
                kept.last_used_us = at_us
            case Leased(_, holder, _, _, deadline_us, ack_ids, positions):
                for ack_id, position in zip(ack_ids, positions, strict=True):
                    entry = entries[position]
                    assert entry.state is AVAILABLE
                    entry.state, entry.ack_id, entry.holder = LEASED, ack_id, holder
                    entry.until_us = deadline_us
            case Extended(_, ack_ids, deadline_us):
                for position in kept.named(ack_ids):
                    assert entries[position].state is LEASED
                    entries[position].until_us = deadline_us
            case Settled(_, ack_ids, positions):
                assert kept.named(ack_ids) == list(positions)
                for position in positions:
                    kept.acked[position] = entries.pop(position)
            case Counted(_, positions, failures):
                for position, count in zip(positions, failures, strict=True):
                    if position in entries:  # not what is a dead letter by that
                        entries[position].failures = count
            case DeadLettered(_, ack_id, position):
                assert kept.named([ack_id]) == [position]
                del entries[position]
            case Returned():
                self._return(kept, event)
            case Rewound():
                self._rewind(kept, event)
            case BackoffOver(_, positions):
                for position in positions:
                    assert entries[position].state is DELAYED
                    entries[position].state = AVAILABLE
            case Expired(_, cutoff_us, positions):
                for position in positions:
                    del entries[position]
                log = kept.topic.log
                for position in [p for p, e in entries.items() if not e.ack_id]:
                    if log[position][0] <= cutoff_us:
                        del entries[position]
            case Dropped(name):
                entries.clear()
                del kept.topic.subscriptions[name]
            case BacklogReplaced(_, start):
                entries.clear()
                kept.acked.clear()
                kept.feed_position = start if kept.is_indexed else None
                if not kept.is_indexed:
                    entries |= {p: Entry() for p in range(start, len(kept.topic.log))}
            case Fed(_, _, log_position, positions):
                kept.feed_position = log_position
                for position in positions:
                    assert position not in entries
                    entries[position] = Entry()

    @staticmethod
    def _return(kept: SubscriptionLedger, event: Returned) -> None:
        for position, ack_id in zip(event.positions, event.ack_ids, strict=True):
            entry = kept.entries[position]
            assert (entry.state, entry.ack_id) == (LEASED, ack_id)
            entry.holder = None
            entry.state = AVAILABLE if event.until_us is None else DELAYED
            entry.until_us = event.until_us or 0
            if event.reason is Reason.RELEASED:
                entry.ack_id = ""

    @staticmethod
    def _rewind(kept: SubscriptionLedger, event: Rewound) -> None:
        entries = kept.entries
        for position, entry in entries.items():
            if kept.topic.log[position][1] == event.key and entry.state is DELAYED:
                entry.state = AVAILABLE
        for position in kept.named(event.canceled):
            entries[position].ack_id = ""
            entries[position].state = AVAILABLE
            entries[position].holder = None
        for position in event.failed:
            entries[position].state = AVAILABLE
            entries[position].holder = None
        for position in event.unacked:
            entry = entries[position] = kept.acked.pop(position)
            entry.state, entry.ack_id, entry.holder = AVAILABLE, "", None
        if event.until_us is not None:
            entries[event.first].state = DELAYED
            entries[event.first].until_us = event.until_us

    # --- the comparison ---

    def check(self, engine: Engine) -> None:
        """Assert that the engine is as its events have said."""
        world = engine._world
        assert self.projects == list(world.projects)
        assert set(self.topics) == set(world.topics)
        assert set(self.subscriptions) == set(world.subscriptions)
        assert self.snapshots == set(world.snapshots)
        held = {h.id: (h.subscription, h.ack_deadline_us) for h in world.holders.values()}
        assert self.holders == held
        for name, topic in self.topics.items():
            check_log(topic, world.topics[name].log)
        for name, kept in self.subscriptions.items():
            subscription = world.subscriptions[name]
            assert kept.last_used_us == subscription.last_active_us
            if not subscription.backlog.is_closed:
                check_backlog(kept, subscription.backlog)


def check_log(kept: TopicLedger, log: MessageLog) -> None:
    assert len(kept.log) == log.end
    stored = [
        (m.publish_time_us, m.ordering_key, m.encoded) for m in log.between(log.floor, log.end)
    ]
    assert kept.log[log.floor :] == stored


def check_backlog(kept: SubscriptionLedger, backlog: Backlog) -> None:
    if backlog.feed is None:
        assert sorted(kept.entries) == unacked_positions(backlog)
    assert kept.feed_position == (backlog.feed.log_position if backlog.feed is not None else None)
    named = {e.ack_id: (p, e.state, e.failures) for p, e in kept.entries.items() if e.ack_id}
    found = backlog.leases.by_ack_id
    expected = {i: (d.message.position, d.state, d.failures) for i, d in found.items()}
    assert named == expected
    for entry in kept.entries.values():
        if entry.state is not AVAILABLE and entry.ack_id:
            assert entry.until_us == found[entry.ack_id].deadline_us
        if entry.state is LEASED:
            holder = found[entry.ack_id].holder
            assert holder is None or holder.id == entry.holder
