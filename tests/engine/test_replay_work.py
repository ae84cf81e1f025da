"""How much replay looks at and keeps, with very many messages; counted, never timed."""

from __future__ import annotations

import tracemalloc
from typing import Any, SupportsIndex

import pytest

from emulator.engine.engine import Engine
from emulator.engine.log.message_log import Message, MessageLog
from emulator.engine.resources.retention import SubscriptionRetention
from tests.engine.replay_story import (
    DAY_S,
    HOUR_S,
    KINDS,
    change,
    forget,
    make,
    retain,
    seconds,
    seek,
    send,
    snap,
    story_of,
)
from tests.engine.story import SECOND_US, SUBSCRIPTION, TOPIC, Story, full_name, pull
from tests.property.invariants import backlog_of, log_of
from tests.spec import spec

BATCH = send(*["x"] * 1_000)
COUNTS = [pytest.param(50_000, id="50000"), pytest.param(1_000_000, marks=pytest.mark.soak)]
#: A binary search and a few looks at ends; no number that grows with the log.
FEW = 200


class Counted(list[Any]):
    """A list that counts how many of its entries are looked at."""

    seen = 0

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        found = super().__getitem__(key)
        Counted.seen += len(found) if isinstance(key, slice) else 1
        return found


def watch(log: MessageLog) -> None:
    log._entries = Counted(log._entries)
    Counted.seen = 0


def seen() -> int:
    """How many entries were looked at since the last call."""
    count, Counted.seen = Counted.seen, 0
    return count


def filled(count: int, **fields: Any) -> Story:
    """A topic that retains `count` messages, a second for each thousand; `sub` was not there."""
    story = story_of(HOUR_S)
    log = log_of(story.engine, TOPIC)
    story.play((0, send("x")))
    encoded = log.between(0, 1)[0].encoded
    for start in range(1, count, 1_000):
        time_us = start * 1_000
        stop = min(start + 1_000, count)
        log.append([Message(position, time_us, "", encoded) for position in range(start, stop)])
    story.now = count * 1_000
    story.engine._world.topics[TOPIC].last_publish_time_us = story.now
    make("new", **fields)(story)
    return story


def tick_until_idle(engine: Engine, now: int, budget: int) -> int:
    """How many ticks it took; none looked at more than its budget."""
    ticks, is_more_due = 0, True
    while is_more_due:
        is_more_due = engine.tick("p", now=now, budget=budget).value
        assert seen() <= budget + FEW
        ticks += 1
    return ticks


@spec("SEK-01", "SEK-09", "SEK-10")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", COUNTS)
def test_a_seek_looks_at_a_few_messages_and_slices_at_no_more_than_their_budget(
    count: int, kind: str
) -> None:
    story = filled(count, **KINDS[kind])
    name = full_name("subscriptions", "new")
    story.catch_up()
    watch(log_of(story.engine, TOPIC))
    middle = count // 2 // 1_000
    for to in (0, 10**6, middle):
        seek(to, "new")(story)
        assert seen() <= FEW
    tick_until_idle(story.engine, story.now, 500)
    backlog = backlog_of(story.engine, name)
    assert backlog.feed is None
    assert backlog.undelivered == count - (middle * 1_000 + 1)
    change("new", retain_acked_messages=True)(story)
    seek(0, "new")(story)
    assert seen() <= FEW
    tick_until_idle(story.engine, story.now, 500)
    assert backlog_of(story.engine, name).undelivered == count


@spec("SEK-16")
def test_a_lease_looks_at_a_part_of_what_a_filter_rejects() -> None:
    story = filled(20_000, filter='attributes.colour = "blue"')
    watch(log_of(story.engine, TOPIC))
    seek(0, "new")(story)
    seen()
    for _ in range(5):
        assert pull(9, "new")(story) == []
        assert 0 < seen() <= 2_000 + FEW
    story.play((story.now / 1e6, send("y", colour="blue")))
    assert pull(9, "new")(story) == ["y#1"]


@spec("DLV-41", "SEK-10", "SUB-22")
def test_a_month_goes_by_for_a_hundred_subscriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    """One look for each publish and subscription; the messages themselves are not looked at."""
    rings = []
    ring = SubscriptionRetention.ring

    def counting(self: SubscriptionRetention, now: int) -> Any:
        rings.append(now)
        return ring(self, now)

    monkeypatch.setattr(SubscriptionRetention, "ring", counting)
    story = story_of(message_retention_duration=seconds(31 * DAY_S))
    for number in range(99):
        days = 1 + number % 30
        make(f"sub-{number}", message_retention_duration=seconds(days * DAY_S))(story)
    for day in range(20):
        for _ in range(5):
            story.now = round(day * DAY_S * SECOND_US)
            BATCH(story)
    log = log_of(story.engine, TOPIC)
    assert log.kept == 100_000
    watch(log)
    engine, end = story.engine, 31 * DAY_S * SECOND_US
    ticks = 0
    while (next_us := engine.next_deadline("p")) is not None and next_us <= end - 1:
        engine.tick("p", now=max(next_us, story.now), budget=2_000)
        story.now = max(next_us, story.now)
        ticks += 1
    for number in range(99):
        days = 1 + number % 30
        left = max(20 - (31 - days), 0)
        found = backlog_of(engine, full_name("subscriptions", f"sub-{number}")).undelivered
        assert found == left * 5_000, (days, found)
    assert backlog_of(engine, SUBSCRIPTION).undelivered == 100_000
    # The days' publishes ring once each for each subscription.
    assert len(rings) <= 99 * 21
    assert ticks <= 99 * 21 + 100_000 // 2_000
    assert Counted.seen <= len(rings) * 60
    engine.tick("p", now=end)
    assert backlog_of(engine, SUBSCRIPTION).undelivered == 95_000


@spec("SNP-01", "SNP-06")
@pytest.mark.parametrize(
    ("kind", "bytes_each"),
    [("plain", 3_000), ("filtered", 10_000 * 8 + 3_000)],
)
def test_snapshots_share_their_messages_and_let_go_of_them_with_time(
    kind: str, bytes_each: int
) -> None:
    """A hundred of one backlog; a subscription with a queue costs a reference a message each."""
    story = story_of(**KINDS[kind]).play(*[(0, BATCH)] * 10)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(100):
            snap(f"shot-{number}")(story)
        held, _ = tracemalloc.get_traced_memory()
        assert held - before <= 100 * bytes_each
        story.play((1, seek(10)))
        log = log_of(story.engine, TOPIC)
        story.catch_up()
        assert log.kept == (10_000 if kind == "plain" else 0)
        story.play((7 * DAY_S, seek(0)))
        story.catch_up()
        assert story.engine._world.snapshots == {}
        after, _ = tracemalloc.get_traced_memory()
        assert after - before <= 100_000
    finally:
        tracemalloc.stop()
    assert (log.kept, log.garbage, len(log._entries)) == (0, 0, 0)


@spec("SNP-06")
@pytest.mark.parametrize("budget", [100, 5_000])
@pytest.mark.parametrize("kind", ["plain", "filtered"])
def test_what_a_snapshot_held_is_freed_in_slices(kind: str, budget: int) -> None:
    story = story_of(**KINDS[kind]).play(*[(0, BATCH)] * 10, (0, snap()), (0, seek(10)))
    story.catch_up()
    log, shot = (
        log_of(story.engine, TOPIC),
        story.engine._world.snapshots["projects/p/snapshots/shot"],
    )

    def held() -> int:
        return log.kept + len(shot._remains)

    forget()(story)
    before = held()
    assert before == 10_000
    is_more_due = True
    while is_more_due:
        is_more_due = story.engine.tick("p", now=0, budget=budget).value
        assert before - held() <= budget
        before = held()
    assert held() == 0


@spec("TOP-04", "SEK-11")
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("is_removed", [False, True])
def test_what_a_topic_retained_is_freed_in_slices(count: int, is_removed: bool) -> None:
    story = filled(count)
    log, engine = log_of(story.engine, TOPIC), story.engine
    seek(10**6)(story)
    story.catch_up()
    assert log.kept == count
    now = story.now
    if is_removed:
        retain(None)(story)
    else:
        now += HOUR_S * SECOND_US
    is_more_due, before = True, log.kept
    at_once = 2 * MessageLog.FREED_AT_ONCE  # an alarm's own share
    while is_more_due:
        is_more_due = engine.tick("p", now=now, budget=1_000).value
        assert before - log.kept <= 1_000 + at_once
        before = log.kept
    assert log.kept == 0
    assert engine.next_deadline("p") is None
