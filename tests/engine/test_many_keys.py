"""Very many ordering keys: all in order, and nothing is left of them afterwards.

The small sizes run always, the large ones with `-m soak`.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from emulator.api import pubsub
from emulator.engine.delivery.lanes import Lanes
from emulator.engine.values.durations import SECOND_US
from emulator.engine.values.limits import PULL_MESSAGES
from tests.engine.story import SUBSCRIPTION, TOPIC, Story, unsubscribe
from tests.property.invariants import backlog_of, check_engine, heap_of
from tests.spec import spec

PER_REQUEST = 5
SIZES = pytest.mark.parametrize(
    ("keys", "per_key"),
    [(5_000, 10), pytest.param(100_000, 10, marks=pytest.mark.soak)],
)


def publish_all(story: Story, keys: int, per_key: int) -> None:
    """Publish to each key in turn, a few messages at a time."""
    for _ in range(per_key // PER_REQUEST):
        for key in range(keys):
            request = pubsub.PublishRequest(topic=TOPIC)
            for _ in range(PER_REQUEST):
                request.messages.add(data=b"x", ordering_key=str(key))
            story.engine.publish(request, request.SerializeToString(), now=story.now)


def pulled(story: Story) -> Iterator[list[tuple[str, int, str]]]:
    """Key, position and ack id of what pulls get, until there is nothing more."""
    while found := story.engine.lease(SUBSCRIPTION, PULL_MESSAGES, now=story.now).value:
        yield [(d.message.ordering_key, d.message.position, d.ack_id) for d in found]


def drain(story: Story) -> tuple[Counter[str], int]:
    """Pull and ack everything; return how many of each key, all in order, and how many pulls."""
    newest: dict[str, int] = {}
    counts: Counter[str] = Counter()
    pulls = 0
    for response in pulled(story):
        pulls += 1
        for key, position, _ in response:
            assert position > newest.get(key, -1), "out of order"
            newest[key] = position
            counts[key] += 1
        ack_ids = [ack_id for _, _, ack_id in response]
        story.engine.acknowledge(SUBSCRIPTION, ack_ids, now=story.now)
    return counts, pulls


def check_nothing_is_left(story: Story) -> None:
    backlog: Any = backlog_of(story.engine, SUBSCRIPTION)
    assert (backlog.undelivered, len(backlog.lanes.by_key)) == (0, 0)
    assert (len(backlog.leases.by_ack_id), len(backlog.queue.redeliveries)) == (0, 0)
    assert len(backlog.lanes.ready) <= 65
    project = story.engine._world.projects["p"]
    assert (project.leases.live, project.backoffs.live) == (0, 0)
    assert len(project.leases) <= 1_025
    assert len(project.backoffs) <= 1_025
    check_engine(story.engine)


def blocks() -> int:
    gc.collect()
    return sys.getallocatedblocks()


@spec("ORD-01", "ORD-04", "ORD-07")
@SIZES
def test_all_keys_are_drained_in_order_and_leave_nothing(keys: int, per_key: int) -> None:
    story = Story(enable_message_ordering=True)
    publish_all(story, 10, per_key)
    drain(story)
    before = blocks()
    publish_all(story, keys, per_key)
    assert backlog_of(story.engine, SUBSCRIPTION).available == keys * per_key
    counts, pulls = drain(story)
    assert len(counts) == keys
    assert set(counts.values()) == {per_key}
    assert pulls == keys * per_key // PULL_MESSAGES
    del counts
    check_nothing_is_left(story)
    assert blocks() - before < keys * per_key // 100


@spec("ORD-02", "ORD-03", "ORD-08", "RTY-02")
@SIZES
def test_keys_that_all_fail_come_again_in_order_and_leave_nothing(keys: int, per_key: int) -> None:
    bounds = {"minimum_backoff": {"seconds": 1}, "maximum_backoff": {"seconds": 1}}
    story = Story(enable_message_ordering=True, retry_policy=bounds)
    publish_all(story, keys, per_key)
    backlog = backlog_of(story.engine, SUBSCRIPTION)
    for response in pulled(story):
        failed = {key: ack_id for key, _, ack_id in reversed(response)}  # the first of each
        story.engine.modify_ack_deadline(SUBSCRIPTION, list(failed.values()), 0, now=0)
    assert (backlog.available, backlog.leased, backlog.delayed) == (0, 0, keys * per_key)
    story.now = SECOND_US
    story.catch_up()
    assert backlog.available == keys * per_key
    counts, _ = drain(story)
    assert set(counts.values()) == {per_key}
    check_nothing_is_left(story)


@spec("DLV-23", "ORD-03")
@SIZES
def test_late_acks_of_very_many_keys_leave_nothing(keys: int, per_key: int) -> None:
    story = Story(enable_message_ordering=True)
    publish_all(story, keys, per_key)
    firsts: dict[str, str] = {}
    for response in pulled(story):
        for key, _, ack_id in response:
            firsts.setdefault(key, ack_id)
    story.engine.modify_ack_deadline(SUBSCRIPTION, list(firsts.values()), 0, now=0)
    story.engine.acknowledge(SUBSCRIPTION, list(firsts.values()), now=0)
    counts, _ = drain(story)
    assert set(counts.values()) == {per_key - 1}
    check_nothing_is_left(story)


@spec("ORD-01", "DLV-04")
@pytest.mark.parametrize("keys", [20_000, pytest.param(2_000_000, marks=pytest.mark.soak)])
def test_keys_used_once_leave_nothing(keys: int) -> None:
    story = Story(enable_message_ordering=True)
    backlog: Any = backlog_of(story.engine, SUBSCRIPTION)
    before = 0
    for number in range(keys):
        request = pubsub.PublishRequest(topic=TOPIC)
        request.messages.add(data=b"x", ordering_key=str(number))
        story.engine.publish(request, request.SerializeToString(), now=0)
        [delivery] = story.engine.lease(SUBSCRIPTION, 10, now=0).value
        story.engine.acknowledge(SUBSCRIPTION, [delivery.ack_id], now=0)
        assert not backlog.lanes.by_key
        assert len(backlog.lanes.ready) <= 65
        if number == 2_000:
            before = blocks()
    check_nothing_is_left(story)
    assert blocks() - before < 5_000


@spec("ORD-01")
def test_a_pull_looks_at_no_key_that_it_does_not_return(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(enable_message_ordering=True)
    publish_all(story, 2_000, PER_REQUEST)
    looks = Counter[str]()
    take_from = Lanes._take_from

    def counted(backlog: Lanes, lane: Any, taking: Any) -> None:
        looks[lane.key] += 1
        take_from(backlog, lane, taking)

    monkeypatch.setattr(Lanes, "_take_from", counted)
    counts, pulls = drain(story)
    assert pulls == 2_000 * PER_REQUEST // PULL_MESSAGES
    assert looks.keys() == counts.keys()
    assert sum(looks.values()) <= len(counts) + pulls


@pytest.mark.soak
@spec("SUB-20", "ORD-01")
def test_a_quarter_of_a_million_keys_are_freed() -> None:
    """It takes seconds; a walk over those that are gone already would take minutes."""
    story = Story(enable_message_ordering=True)
    publish_all(story, 250_000, PER_REQUEST)
    backlog: Any = backlog_of(story.engine, SUBSCRIPTION)
    unsubscribe()(story)
    while story.engine.tick("p", now=0).value:
        pass
    assert (len(backlog.lanes.by_key), len(backlog.lanes.ready)) == (0, 0)


@spec("SUB-20", "ORD-01")
@pytest.mark.parametrize("budget", [100, 2_000])
def test_very_many_keys_are_freed_in_slices(budget: int) -> None:
    story = Story(enable_message_ordering=True)
    publish_all(story, 2_000, PER_REQUEST)
    story.engine.lease(SUBSCRIPTION, PULL_MESSAGES, now=0)
    backlog: Any = backlog_of(story.engine, SUBSCRIPTION)
    unsubscribe()(story)

    def held() -> int:
        lanes = backlog.lanes.by_key.values()
        return sum(len(lane.pending) + len(lane.delivered) + 1 for lane in lanes)

    before, slices = held(), 0
    while story.engine.tick("p", now=0, budget=budget).value:
        assert before - held() <= budget
        before = held()
        slices += 1
    assert (held(), len(backlog.lanes.ready), len(backlog.leases.by_ack_id)) == (0, 0, 0)
    assert slices <= 3 * (2_000 * (PER_REQUEST + 1)) // budget
    assert heap_of(story.engine, "p").live == 0
