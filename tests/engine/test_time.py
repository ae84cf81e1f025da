"""Time: what is due, how much of it one tick does, and when the next one is needed."""

from __future__ import annotations

import pytest

from emulator.api import pubsub
from emulator.engine.delivery.outcome import Available, Fired
from emulator.engine.engine import TICK_BUDGET
from tests.engine.story import (
    RETENTION_US,
    SECOND_US,
    SUBSCRIPTION,
    TOPIC,
    Command,
    Story,
    ack,
    modack,
    nack,
    publish,
    pull,
    release,
    reset,
    subscribe,
)
from tests.property.invariants import backlog_of, heap_of
from tests.spec import spec


def leased(count: int, *, per_call: int = 1_000) -> tuple[Story, list[str]]:
    """A story with `count` running leases, and their ack ids."""
    story = Story()
    for _ in range(count // 1_000):
        story.play((0, publish(*["x"] * 1_000)))
    story.play(*[(0, publish(*["x"] * (count % 1_000)))] * (count % 1_000 > 0))
    ids: list[str] = []
    while len(ids) < count:
        ids += [d.ack_id for d in story.engine.lease(SUBSCRIPTION, per_call, now=0).value]
    return story, ids


def lease_ended(subscription: str, quantity: int) -> Fired:
    return Fired(10 * SECOND_US, "ack deadline", subscription, quantity)


def test_nothing_is_due_without_leases() -> None:
    story = Story()
    assert story.engine.next_deadline("p") is None
    story.play((0, publish("a")))
    assert story.engine.next_deadline("p") == RETENTION_US
    assert story.engine.tick("p", now=RETENTION_US - 1) == (False, (), ())


def test_a_project_that_was_never_used_has_no_time() -> None:
    engine = Story().engine
    assert engine.next_deadline("unused") is None
    assert engine.tick("unused", now=10**15) == (False, (), ())
    assert engine.projects() == ["p"]


@pytest.mark.parametrize(
    ("settle", "left"),
    [
        (ack("a#1"), RETENTION_US),
        (nack("a#1"), RETENTION_US),
        (release("a#1"), RETENTION_US),
        (reset(b"another"), None),
    ],
)
def test_nothing_but_retention_is_due_once_the_last_lease_is_gone(
    settle: Command, left: int | None
) -> None:
    story = Story().play((0, publish("a")), (0, pull(), ["a#1"]))
    assert story.engine.next_deadline("p") == 10 * SECOND_US
    story.play((1, settle))
    story.catch_up()
    assert story.engine.next_deadline("p") == left


@spec("DLV-21")
def test_the_next_deadline_follows_a_shortened_lease() -> None:
    story = Story().play((0, publish("a", "b")), (0, pull(), ["a#1", "b#1"]))
    story.play((1, modack(2, "b#1")))
    assert story.engine.next_deadline("p") == 3 * SECOND_US


@spec("DLV-02")
def test_a_tick_before_the_deadline_does_nothing() -> None:
    story = Story().play((0, publish("a")), (0, pull(), ["a#1"]))
    assert story.engine.tick("p", now=10 * SECOND_US - 1) == (False, (), ())
    assert story.engine.tick("p", now=10 * SECOND_US) == (
        False,
        (Available(SUBSCRIPTION), lease_ended(SUBSCRIPTION, 1)),
        (),
    )


def test_projects_have_their_own_time() -> None:
    story = Story()
    far = "projects/q/subscriptions/far"
    story.play(
        (0, subscribe(far)), (0, publish("a")), (0, pull(), ["a#1"]), (0, pull(9, far), ["a#1"])
    )
    story.engine.tick("q", now=10 * SECOND_US)
    assert story.engine.next_deadline("q") == RETENTION_US
    assert story.engine.next_deadline("p") == 10 * SECOND_US
    assert [backlog_of(story.engine, s).leased for s in (SUBSCRIPTION, far)] == [1, 0]


@pytest.mark.parametrize("per_call", [1, 30, 1_000])
@pytest.mark.parametrize("budget", [1, 7, 100])
def test_a_tick_ends_no_more_leases_than_its_budget(per_call: int, budget: int) -> None:
    story, _ = leased(250, per_call=per_call)
    backlog = backlog_of(story.engine, SUBSCRIPTION)
    is_more_due, left = True, 250
    while is_more_due:
        is_more_due, effects, _ = story.engine.tick("p", now=10 * SECOND_US, budget=budget)
        ended = left - backlog.leased
        assert effects == (Available(SUBSCRIPTION), lease_ended(SUBSCRIPTION, ended))
        assert 0 < left - backlog.leased <= budget
        left = backlog.leased
        assert is_more_due == (left > 0)
    assert story.engine.next_deadline("p") == RETENTION_US


def test_what_a_small_budget_left_over_is_still_due() -> None:
    story, _ = leased(10)
    assert story.engine.tick("p", now=10 * SECOND_US, budget=4).value
    assert story.engine.next_deadline("p") == 10 * SECOND_US
    assert backlog_of(story.engine, SUBSCRIPTION).leased == 6


def test_extended_leases_are_looked_at_within_the_budget_too() -> None:
    story, ids = leased(1_000)
    story.engine.modify_ack_deadline(SUBSCRIPTION, ids, 600, now=0)
    ticks = 1
    while story.engine.tick("p", now=10 * SECOND_US, budget=100).value:
        ticks += 1
    assert ticks == 10
    assert backlog_of(story.engine, SUBSCRIPTION).leased == 1_000
    assert story.engine.next_deadline("p") == 600 * SECOND_US


def test_one_tick_reports_each_subscription_once() -> None:
    story = Story().play((0, subscribe("two")), (0, publish("a", "b", "c")))
    for _ in range(3):
        story.engine.lease(SUBSCRIPTION, 1, now=0)
        story.engine.lease("projects/p/subscriptions/two", 1, now=0)
    effects = story.engine.tick("p", now=10 * SECOND_US).effects
    two = "projects/p/subscriptions/two"
    woken = [effect for effect in effects if isinstance(effect, Available)]
    assert sorted(woken) == [Available(SUBSCRIPTION), Available(two)]
    assert {effect for effect in effects if isinstance(effect, Fired)} == {
        lease_ended(SUBSCRIPTION, 3),
        lease_ended(two, 3),
    }


@spec("DLV-21")
def test_a_million_modacks_do_not_fill_the_heap() -> None:
    """As client libraries do it: every lease is extended over and over."""
    story, ids = leased(1_000)
    heap = heap_of(story.engine, "p")
    largest = 0
    for number in range(1_000):
        # Longer, then shorter, so that both ways through the heap are taken.
        seconds = 600 if number % 2 else 60
        story.engine.modify_ack_deadline(SUBSCRIPTION, ids, seconds, now=number * 1_000)
        largest = max(largest, len(heap))
    assert largest <= 4_000
    assert heap.live == 1_000


@spec("DLV-21")
def test_single_modacks_do_not_fill_the_heap() -> None:
    story, ids = leased(1_000)
    heap = heap_of(story.engine, "p")
    for number in range(20_000):
        seconds = 600 - number // 1_000
        modify = story.engine.modify_ack_deadline
        modify(SUBSCRIPTION, [ids[number % 1_000]], seconds, now=0)
        assert len(heap) <= 4_000
    assert heap.live == 1_000


def test_acks_leave_nothing_in_the_heap() -> None:
    story = Story()
    heap = heap_of(story.engine, "p")
    for number in range(50):
        story.play((0, publish(*["x"] * 1_000)))
        deliveries = story.engine.lease(SUBSCRIPTION, 1_000, now=number).value
        # All but one of each call, so that no batch is ever empty.
        story.engine.acknowledge(SUBSCRIPTION, [d.ack_id for d in deliveries[1:]], now=number)
        assert len(heap) <= 2 * heap.live + 1_025
    assert heap.live == 50


def test_the_default_budget_is_a_slice() -> None:
    story, _ = leased(3 * TICK_BUDGET)
    backlog = backlog_of(story.engine, SUBSCRIPTION)
    story.engine.tick("p", now=10 * SECOND_US)
    assert backlog.leased == 2 * TICK_BUDGET


@spec("GEN-01")
def test_leases_made_in_one_microsecond_end_in_the_order_they_were_made() -> None:
    story = Story().play(
        (0, publish("a", "b", "c", "d")),
        (0, pull(1), ["a#1"]),
        (0, pull(1), ["b#1"]),
        (0, pull(1), ["c#1"]),
        (0, pull(1), ["d#1"]),
    )
    story.play((10, pull(), ["a#2", "b#2", "c#2", "d#2"]))


def test_a_request_of_another_topic_needs_no_tick() -> None:
    story = Story()
    story.engine.topics.create(pubsub.Topic(name="projects/q/topics/abc"), now=0)
    request = pubsub.PublishRequest(topic=TOPIC, messages=[{"data": b"x"}])
    story.engine.publish(request, request.SerializeToString(), now=0)
    assert [story.engine.next_deadline(project) for project in "pq"] == [RETENTION_US, None]
