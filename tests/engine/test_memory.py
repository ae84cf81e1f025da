"""Memory: what is kept, and that giving it back never takes long at once.

The tests count work and entries; they never look at a clock.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emulator.engine.log.message_log import Message, MessageLog
from emulator.engine.values.limits import PULL_MESSAGES
from tests.engine.story import (
    SECOND_US,
    SUBSCRIPTION,
    TOPIC,
    Story,
    create_topic,
    delete_topic,
    publish,
    pull,
    subscribe,
    unsubscribe,
)
from tests.property.invariants import backlog_of, check_engine, heap_of, log_of
from tests.spec import spec

BATCH = publish(*["x"] * 1_000)


def filled(thousands: int) -> Story:
    return Story().play(*[(0, BATCH)] * thousands)


def lease_all(story: Story, subscription: str = SUBSCRIPTION) -> list[str]:
    ids: list[str] = []
    while found := story.engine.lease(subscription, PULL_MESSAGES, now=story.now).value:
        ids += [delivery.ack_id for delivery in found]
    return ids


def messages(count: int, start: int = 0) -> list[Message]:
    return [Message(position, 0, "", b"x") for position in range(start, start + count)]


@spec("DLV-04", "TOP-15")
def test_nothing_is_kept_of_what_all_have_acked() -> None:
    story = Story().play((0, subscribe("two")), *[(0, BATCH)] * 5)
    log = log_of(story.engine, TOPIC)
    for name in (SUBSCRIPTION, "projects/p/subscriptions/two"):
        assert log.kept == 5_000
        for ack_id in (ids := lease_all(story, name)):
            story.engine.acknowledge(name, [ack_id], now=0)
        assert len(ids) == 5_000
        assert not backlog_of(story.engine, name).leases.by_ack_id
    assert log.kept == 0
    assert len(log._entries) == 0
    assert len(heap_of(story.engine, "p")) <= 1_025


@spec("DLV-23")
def test_late_acks_leave_nothing_behind() -> None:
    story = filled(5)
    ids = lease_all(story)
    backlog = backlog_of(story.engine, SUBSCRIPTION)
    story.engine.modify_ack_deadline(SUBSCRIPTION, ids, 0, now=0)
    assert len(backlog.queue.redeliveries) == 5_000
    for ack_id in ids:
        story.engine.acknowledge(SUBSCRIPTION, [ack_id], now=0)
        assert len(backlog.queue.redeliveries) <= 2 * backlog.available + 65
    assert backlog.available == 0


@spec("TOP-14")
def test_without_subscriptions_nothing_is_kept() -> None:
    story = Story(is_empty=True).play((0, create_topic()), *[(0, BATCH)] * 10)
    log = log_of(story.engine, TOPIC)
    assert (log.kept, log.end, len(log._entries)) == (0, 10_000, 0)


@spec("TOP-15")
def test_the_log_is_kept_for_the_slowest_subscription_alone() -> None:
    story = Story().play((0, subscribe("two")), *[(0, BATCH)] * 4)
    story.engine.lease(SUBSCRIPTION, 1_000, now=0)
    lease_all(story, "projects/p/subscriptions/two")
    assert log_of(story.engine, TOPIC).kept == 3_000


@spec("SUB-20")
@pytest.mark.parametrize("budget", [10, 500])
def test_a_deleted_backlog_is_freed_in_slices(budget: int) -> None:
    story = filled(4)
    log, backlog = log_of(story.engine, TOPIC), backlog_of(story.engine, SUBSCRIPTION)
    story.play((0, publish("y")))
    for _ in range(2):
        story.engine.lease(SUBSCRIPTION, 1_000, now=0)
    story.play((0, unsubscribe()))

    def held() -> int:
        return len(backlog.leases.by_ack_id) + log.kept

    before = held()
    assert before == 2_000 + 2_001
    assert story.engine.next_deadline("p") == 0
    is_more_due = True
    while is_more_due:
        is_more_due = story.engine.tick("p", now=0, budget=budget).value
        assert before - held() <= budget
        before = held()
    assert held() == 0
    assert story.engine.next_deadline("p") is None
    assert heap_of(story.engine, "p").live == 0


@spec("SUB-20")
def test_deletion_itself_frees_nothing() -> None:
    story = filled(3)
    backlog = backlog_of(story.engine, SUBSCRIPTION)
    lease_all(story)
    story.play((0, unsubscribe()))
    assert len(backlog.leases.by_ack_id) == 3_000


@spec("SUB-20")
def test_redeliveries_of_a_deleted_backlog_are_freed_too() -> None:
    story = filled(1)
    ids = lease_all(story)
    story.engine.modify_ack_deadline(SUBSCRIPTION, ids[:600], 0, now=0)
    backlog = backlog_of(story.engine, SUBSCRIPTION)
    story.play((0, unsubscribe()))
    story.catch_up()
    assert (len(backlog.leases.by_ack_id), len(backlog.queue.redeliveries)) == (0, 0)


@spec("SUB-20")
def test_leases_of_a_deleted_subscription_end_quietly() -> None:
    story = filled(1)
    lease_all(story)
    for command in (unsubscribe(), subscribe()):
        command(story)  # without a tick in between
    outcome = story.engine.tick("p", now=10 * SECOND_US, budget=100)
    assert outcome.effects == ()
    check_engine(story.engine)
    story.play((10, pull(), []))
    check_engine(story.engine)


@spec("TOP-11")
def test_a_deleted_topic_is_kept_only_for_its_subscriptions() -> None:
    story = filled(3)
    log = log_of(story.engine, TOPIC)
    story.play((0, delete_topic()))
    assert log.kept == 3_000
    lease_all(story)
    assert log.kept == 0


@spec("TOP-11", "SUB-20")
def test_topic_and_subscription_deleted_in_either_order_leave_nothing() -> None:
    for steps in ([delete_topic(), unsubscribe()], [unsubscribe(), delete_topic()]):
        story = filled(3)
        log, backlog = log_of(story.engine, TOPIC), backlog_of(story.engine, SUBSCRIPTION)
        story.engine.lease(SUBSCRIPTION, 10, now=0)
        story.play(*((0, step) for step in steps))
        story.catch_up()
        assert (log.kept, len(log._entries), len(backlog.leases.by_ack_id)) == (0, 0, 0)
        assert story.engine.next_deadline("p") is None


@pytest.mark.parametrize("budget", [10, 1_000])
def test_a_reset_frees_in_slices_and_the_new_world_works_at_once(budget: int) -> None:
    story = filled(3)
    log, backlog = log_of(story.engine, TOPIC), backlog_of(story.engine, SUBSCRIPTION)
    story.engine.lease(SUBSCRIPTION, 1_000, now=0)
    engine = story.engine
    engine.reset(nonce=b"another", now=0)
    held = len(backlog.leases.by_ack_id) + log.kept
    assert held == 3_000
    for command in (create_topic(), subscribe(), publish("a")):
        command(story)
    assert pull()(story) == ["a#1"]
    assert engine.next_deadline("p") == 0
    while engine.tick("p", now=0, budget=budget).value:
        left = len(backlog.leases.by_ack_id) + log.kept
        assert held - left <= budget
        held = left
    assert (len(backlog.leases.by_ack_id), log.kept) == (0, 0)
    assert engine.next_deadline("p") == 10 * SECOND_US
    check_engine(engine)


def test_a_reset_while_chores_are_left_forgets_none_of_them() -> None:
    story = filled(2)
    log = log_of(story.engine, TOPIC)
    unsubscribe()(story)
    for nonce in (b"second", b"third"):
        story.engine.reset(nonce=nonce, now=0)
    story.catch_up()
    assert log.kept == 0


def test_ten_thousand_readers_in_step_are_looked_at_once_a_round() -> None:
    """The floor is searched for by the last reader that leaves it only."""

    class Counted(set[object]):
        walks = 0

        def __iter__(self) -> Iterator[object]:
            Counted.walks += 1
            return super().__iter__()

    log = MessageLog()
    readers = [log.attach() for _ in range(10_000)]
    log._readers = Counted(readers)  # type: ignore[assignment]
    for number in range(5):
        log.append(messages(1, start=number))
        for reader in readers:
            log.advance(reader, log.end)
        assert log.kept == 0
    assert Counted.walks == 5


@pytest.mark.parametrize("budget", [1, 7, 1_000])
def test_a_far_move_of_a_reader_is_freed_in_slices(budget: int) -> None:
    log = MessageLog()
    reader = log.attach()
    log.append(messages(10_000))
    log.advance(reader, log.end)
    assert log.garbage == 10_000 - MessageLog.FREED_AT_ONCE
    freed = 0
    while count := log.reclaim(budget):
        assert count <= budget
        freed += count
    assert freed == 10_000 - MessageLog.FREED_AT_ONCE
    assert (log.kept, log.garbage, len(log._entries)) == (0, 0, 0)


def test_positions_are_never_used_again() -> None:
    log = MessageLog()
    reader = log.attach()
    log.append(messages(5))
    log.advance(reader, 5)
    assert log.end == 5
    log.append(messages(2, start=5))
    assert [message.position for message in log.between(5, 7)] == [5, 6]


def test_a_reader_attached_later_does_not_hold_what_was_before() -> None:
    log = MessageLog()
    first = log.attach()
    log.append(messages(10))
    second = log.attach()
    log.detach(first)
    log.reclaim(100)
    assert (log.kept, second.position) == (0, 10)


def test_the_last_reader_that_leaves_frees_everything() -> None:
    log = MessageLog()
    readers = [log.attach() for _ in range(3)]
    log.append(messages(10))
    for reader in readers[:2]:
        log.detach(reader)
        assert log.reclaim(100) == 0
    log.detach(readers[2])
    assert log.reclaim(100) == 10
