"""What must hold inside an engine after every operation; the only tests that look at internals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from emulator.engine.delivery import deadlines as heap_module
from emulator.engine.delivery import lanes as lanes_module
from emulator.engine.delivery import queue as queue_module
from emulator.engine.delivery import ready_lanes as ready_module
from emulator.engine.delivery.backlog import Backlog
from emulator.engine.delivery.deadlines import Deadlines
from emulator.engine.delivery.delivery import (
    ACKED,
    AVAILABLE,
    DEAD_LETTERED,
    DELAYED,
    EXPIRED,
    LEASED,
    Delivery,
    Lane,
)
from emulator.engine.delivery.holder import Holder
from emulator.engine.delivery.lanes import Lanes
from emulator.engine.delivery.leases import Lease
from emulator.engine.delivery.outcome import Outcome
from emulator.engine.delivery.sources import ReplaySource, Source
from emulator.engine.engine import Engine
from emulator.engine.log.message_log import Message, MessageLog
from emulator.engine.operations.holders import Leases


def messages_only(outcome: Outcome[Leases]) -> Outcome[list[Lease]]:
    """What a holder got, without what comes with it."""
    return outcome._replace(value=outcome.value.leases)


def delivered(
    engine: Engine, subscription: str, outcome: Outcome[list[Lease]]
) -> Outcome[list[Delivery]]:
    """What was leased, as the engine has it, which the leases are true to."""
    found = [delivery_of(engine, subscription, lease) for lease in outcome.value]
    attempts = attempts_of(engine, subscription, found) or [d.attempt for d in found]
    for lease, delivery, attempt in zip(outcome.value, found, attempts, strict=True):
        assert lease == (delivery.ack_id, delivery.message, attempt)
    return outcome._replace(value=found)


def attempts_of(
    engine: Engine, subscription: str, leases: Sequence[Lease | Delivery]
) -> list[int] | None:
    """`delivery_attempt` of some leases; None where it is not counted."""
    backlog = backlog_of(engine, subscription)
    if not backlog.rules.max_attempts:
        return None
    found = [backlog.leases.by_ack_id[lease.ack_id] for lease in leases]
    return [backlog._failures.counted(delivery) + 1 for delivery in found]


def delivery_of(engine: Engine, subscription: str, lease: Lease) -> Delivery:
    """The delivery that a running lease, just made, is of."""
    return backlog_of(engine, subscription).leases.by_ack_id[lease.ack_id]


def backlog_of(engine: Engine, subscription: str) -> Backlog:
    return engine._world.subscriptions[subscription].backlog


def heap_of(engine: Engine, project: str) -> Deadlines[Backlog]:
    return engine._world.projects[project].leases


def log_of(engine: Engine, topic: str) -> MessageLog:
    return engine._world.topics[topic].log


def check_engine(engine: Engine) -> None:
    """Assert all invariants that need no knowledge of what happened before."""
    logs = {id(topic.log): topic.log for topic in engine._world.topics.values()}
    ack_ids: Counter[str] = Counter()
    for subscription in engine._world.subscriptions.values():
        if subscription.backlog.is_closed:
            continue  # detached
        check_backlog(subscription.backlog)
        logs[id(subscription.log)] = subscription.log
        ack_ids.update(list(subscription.backlog.leases.by_ack_id))
    assert not [ack_id for ack_id, count in ack_ids.items() if count > 1]
    for log in logs.values():
        check_log(log)
    for project_id in engine.projects():
        project, armed = engine._world.projects[project_id], armed_of(engine, project_id)
        check_heap(project.leases, [d for d in armed if d.state is LEASED])
        check_heap(project.backoffs, [d for d in armed if d.state is DELAYED])
        check_next_deadline(engine, project_id)


def armed_of(engine: Engine, project_id: str) -> list[Delivery]:
    """The deliveries of a project whose leases or backoffs run, unfreed ones of deleted
    subscriptions too."""
    world = engine._world
    backlogs = [
        subscription.backlog
        for name, subscription in world.subscriptions.items()
        if name.startswith(f"projects/{project_id}/")
    ]
    project = world.projects[project_id]
    # After a reset there are chores whose leases are in a heap that nobody looks at any more.
    backlogs += [
        chore
        for chore in project.chores
        if isinstance(chore, Backlog)
        and chore.leases.deadlines is project.leases
        and chore not in backlogs  # as that of a detached subscription is
    ]
    backlogs = list({id(b): b for each in backlogs for b in with_formers(each)}.values())
    return [
        delivery
        for backlog in backlogs
        for delivery in backlog.leases.by_ack_id.values()
        if delivery.batch is not None
    ]


def with_formers(backlog: Backlog) -> list[Backlog]:
    """A backlog and those before it that seeks replaced and whose memory it still frees."""
    found = [backlog]
    while (feed := found[-1].feed) is not None and feed.former is not None:
        assert isinstance(feed.former, Backlog)
        found.append(feed.former)
    return found


def check_backlog(backlog: Backlog) -> None:
    deliveries = backlog.leases.by_ack_id
    for ack_id, delivery in deliveries.items():
        assert delivery.ack_id == ack_id
        assert delivery.state in (AVAILABLE, LEASED, DELAYED)
        assert (delivery.batch is not None) == (delivery.state is not AVAILABLE)
    leased = sum(d.state is LEASED for d in deliveries.values())
    assert backlog.leased == leased
    assert backlog.undelivered == backlog.available + leased + backlog.delayed
    check_unkeyed(backlog, [d for d in deliveries.values() if d.lane is None])
    if backlog.lanes is not None:
        check_lanes(backlog.lanes, [d for d in deliveries.values() if d.lane is not None])
        assert backlog.undelivered or not backlog.lanes.by_key


def check_unkeyed(backlog: Backlog, deliveries: list[Delivery]) -> None:
    waiting = [d for d in backlog.queue.redeliveries if d.state is AVAILABLE]
    source = backlog.queue.source
    if not (isinstance(source, ReplaySource) and source._carried.count):  # those come late
        assert all(d.message.position < source.position for d in deliveries)
    assert len({id(d) for d in waiting}) == len(waiting), "a delivery waits twice"
    named = {id(d) for d in deliveries if d.state is AVAILABLE}
    nameless = {id(d) for d in waiting if not d.ack_id}
    assert named | nameless == {id(d) for d in waiting}, "a delivery waits in no queue"
    positions = {id(d): d.message.position for d in (*deliveries, *waiting)}
    assert len(set(positions.values())) == len(positions), "one message in two deliveries"
    assert backlog.queue.delayed == sum(d.state is DELAYED for d in deliveries)
    assert backlog.queue.waiting == len(waiting)
    if backlog.feed is None:
        assert backlog.undelivered == len(unacked_positions(backlog))
    assert len(backlog.queue.redeliveries) <= 2 * len(waiting) + queue_module._SLACK + 1
    assert [d.requeued_at for d in waiting] == sorted(d.requeued_at for d in waiting)


def check_lanes(lanes: Lanes, deliveries: list[Delivery]) -> None:
    """`deliveries` are those with a key and an ack id."""
    for key, lane in lanes.by_key.items():
        assert lane.key == key
        check_lane(lanes, lane)
        assert lane.is_ready == (lane in lanes.ready)
    named = {
        id(d)
        for lane in lanes.by_key.values()
        for d in (*lane.delivered, *lane.pending)
        if isinstance(d, Delivery) and d.ack_id
    }
    assert named == {id(d) for d in deliveries}, "a delivery with a key in no lane"
    assert lanes.pending == sum(len(lane.pending) for lane in lanes.by_key.values())
    held_back = sum(len(lane.pending) for lane in lanes.by_key.values() if lane.is_delayed)
    assert lanes.held_back == held_back
    assert len(set(lanes.ready.line)) == len(lanes.ready), "a lane is ready twice"
    assert len(lanes.ready) <= 2 * len(lanes.by_key) + ready_module._SLACK + 1
    named_by_holders = [lane for held in lanes.of_holder.values() for lane in held]
    assert all(lane.holder is not None for lane in named_by_holders)
    assert all(lanes.of_holder.values()), "a stream without lanes is still there"


def check_lane(lanes: Lanes, lane: Lane) -> None:
    assert lane.delivered or lane.pending, "an empty lane is still there"
    assert not lane.delivered or lane.delivered[0].state is LEASED, "done with, and still there"
    assert all(d.state in (LEASED, ACKED, DEAD_LETTERED, EXPIRED) for d in lane.delivered)
    leased = [d for d in lane.delivered if d.state is LEASED]
    assert lane.leased == len(leased)
    assert all(d.holder is lane.holder for d in leased), "one key with two holders"
    assert lane.leased or lane.holder is None
    assert all(d.lane is lane for d in (*lane.delivered, *lane.pending) if isinstance(d, Delivery))
    messages = [lanes_module._message(item) for item in (*lane.delivered, *lane.pending)]
    positions = [message.position for message in messages]
    assert positions == sorted(set(positions)), "out of order"
    assert all(message.ordering_key == lane.key for message in messages)
    states = [item.state for item in lane.pending if isinstance(item, Delivery)]
    assert lane.is_delayed == (DELAYED in states[:1] and isinstance(lane.pending[0], Delivery))
    assert all(state is AVAILABLE for state in states[lane.is_delayed :])
    if not lane.pending or lane.is_delayed:
        return
    if not lane.leased:
        assert lane.is_ready, "a lane that nobody will find"
    elif lane.holder is not None:
        assert lane in lanes.of_holder[lane.holder], "a lane that its stream will not find"


def unacked_positions(backlog: Backlog) -> list[int]:
    """The positions of all that a backlog without a feed still has to deliver, sorted."""
    assert backlog.feed is None
    messages = [*backlog.unacked()[0], *in_log(backlog.queue.source)]
    return sorted(message.position for message in messages)


def in_log(source: Source) -> list[Message]:
    """What a source has not handed out, and the log has."""
    log = source._rest._log if isinstance(source, ReplaySource) else source._log
    return log.between(source.log_position, log.end)


def check_log(log: MessageLog) -> None:
    positions = [reader.position for reader in log._readers]
    floor = min(positions, default=log.end)
    assert log._floor == floor
    assert log._at_floor == positions.count(floor)
    assert log._base <= log._freed <= floor <= log.end
    start = floor - log._base
    kept = [entry for entry in log._entries[start:] if entry is not None]
    assert [message.position for message in kept] == list(range(floor, log.end))
    freed = log._entries[: log._freed - log._base]
    assert freed == [None] * len(freed)
    assert len(freed) * 2 <= max(len(log._entries), 1)


def check_heap(heap: Deadlines[Backlog], armed: list[Delivery]) -> None:
    assert heap.live == len(armed)
    live = Counter(id(delivery.batch) for delivery in armed)
    for deadline_us, _, batch in heap._heap:
        assert batch.deadline_us == deadline_us
        assert batch.live == live[id(batch)]
        assert sum(d.batch is batch for d in batch.deliveries) == batch.live
    listed = {id(batch) for _, _, batch in heap._heap if batch.live}
    assert listed == set(live), "a lease that never ends"
    for delivery in armed:
        assert delivery.batch is not None
        assert delivery.batch.deadline_us <= delivery.deadline_us, "a lease that ends too late"
    assert heap._heap.stale == sum(not batch.live for _, _, batch in heap._heap)
    assert heap._listed == sum(len(batch.deliveries) for _, _, batch in heap._heap)
    assert len(heap) <= 2 * heap.live + heap_module._SLACK + 1


def check_next_deadline(engine: Engine, project_id: str) -> None:
    """Nothing ends before the engine asks to be called again."""
    next_us = engine.next_deadline(project_id)
    armed = armed_of(engine, project_id)
    if next_us is None:
        assert armed == []
    else:
        assert next_us <= min((d.deadline_us for d in armed), default=next_us)


def check_window(holder: Holder, backlog: Backlog) -> None:
    """A stream holds the leases that run on what it was sent, and nothing else (STR-07)."""
    held = [d for d in backlog.leases.by_ack_id.values() if d.holder is holder]
    assert all(d.state is LEASED for d in held)
    assert holder.held_messages == len(held)
    assert holder.held_bytes == sum(len(d.message.encoded) for d in held)
