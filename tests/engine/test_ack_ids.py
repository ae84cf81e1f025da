"""Ack ids: which are known, which are stale, which were never issued."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from emulator.engine.delivery.ack_ids import AckIdMint
from emulator.engine.values.limits import ACK_REQUEST_BYTES
from tests.engine.story import (
    SUBSCRIPTION,
    Command,
    Refusal,
    Story,
    ack,
    create_topic,
    invalid,
    modack,
    nack,
    publish,
    pull,
    refusal_of,
    reset,
    subscribe,
    unsubscribe,
)
from tests.spec import spec

NO_IDS = invalid("You have not specified an ack ID in the request.")
TOO_LARGE = invalid("Request payload size exceeds the limit: 524288 bytes.")


def bad_id(ack_id: str) -> Refusal:
    return invalid(f"You have passed an invalid ack ID to the service (ack_id={ack_id}).")


def issued(story: Story | None = None) -> str:
    """The ack id of a lease that runs on `sub`."""
    story = (story or Story()).play((0, publish("a")), (0, pull(), ["a#1"]))
    return story.ack_id("a#1")


def corrupted(ack_id: str) -> list[str]:
    """`ack_id` with each of its characters changed in turn."""
    return [
        ack_id[:i] + ("1" if character != "1" else "2") + ack_id[i + 1 :]
        for i, character in enumerate(ack_id)
    ]


MALFORMED = ["", "junk", "é" * 25, "0" * 25, issued()[:-1], issued() + "0", issued().upper()]


@spec("ACK-01")
def test_ack_ids_are_short_and_plain() -> None:
    ack_id = issued()
    assert re.fullmatch(r"[A-Za-z0-9_-]+", ack_id)
    assert len(ack_id) <= 170
    assert 3_000 * (len(ack_id) + 3) < ACK_REQUEST_BYTES


@spec("ACK-02")
def test_an_id_with_any_character_changed_was_never_issued() -> None:
    mint = AckIdMint(SUBSCRIPTION, b"nonce", 1)
    ack_id = mint.issue()
    assert mint.recognises(ack_id)
    assert [changed for changed in corrupted(ack_id) if mint.recognises(changed)] == []


@spec("ACK-01")
def test_no_two_ids_are_alike() -> None:
    mints = [
        AckIdMint(SUBSCRIPTION, b"nonce", 1),
        AckIdMint(SUBSCRIPTION, b"other", 1),
        AckIdMint(SUBSCRIPTION, b"nonce", 2),
        AckIdMint(f"{SUBSCRIPTION}2", b"nonce", 3),
    ]
    ids = [mint.issue() for mint in mints for _ in range(1_000)]
    assert len(set(ids)) == 4_000


@spec("DLV-25", "ERR-12")
@pytest.mark.parametrize("ack_id", MALFORMED)
@pytest.mark.parametrize("seconds", [None, 0, 60])
def test_one_malformed_id_refuses_the_whole_request(ack_id: str, seconds: int | None) -> None:
    def settle(*labels: str) -> Command:
        return ack(*labels) if seconds is None else modack(seconds, *labels)

    Story().play(
        (0, publish("a", "b")),
        (0, pull(), ["a#1", "b#1"]),
        (0, settle("a#1", ack_id, "b#1"), bad_id(ack_id)),
        (0, settle("a#1", "b#1", ack_id), bad_id(ack_id)),
        (9.999999, pull(), []),
        (10, pull(), ["a#2", "b#2"]),
    )


@spec("DLV-28", "ERR-12")
def test_an_id_of_another_subscription_is_as_malformed() -> None:
    story = Story().play(
        (0, subscribe("two")), (0, publish("a")), (0, pull(subscription="two"), ["a#1"])
    )
    foreign = story.ack_id("two:a#1")
    story.play(
        (0, ack(foreign), bad_id(foreign)),
        (0, nack(foreign), bad_id(foreign)),
        (10, pull(subscription="two"), ["a#2"]),
    )


@spec("DLV-28", "NAM-10")
def test_an_id_of_the_same_subscription_id_in_another_project_is_as_malformed() -> None:
    theirs = "projects/q/subscriptions/sub"
    story = Story().play(
        (0, subscribe(theirs)), (0, publish("a")), (0, pull(subscription=theirs), ["a#1"])
    )
    foreign = story.ack_id("sub:a#1")
    story.play((0, ack(foreign), bad_id(foreign)))


@spec("DLV-23", "SUB-20", "ACK-02")
@pytest.mark.parametrize("settle", [ack, nack, lambda label: modack(1, label)])
def test_an_id_from_before_the_subscription_was_made_again_is_stale(
    settle: Callable[[str], Command],
) -> None:
    story = Story().play((0, publish("a")), (0, pull(), ["a#1"]))
    before = story.ack_id("a#1")
    story.play(
        (0, unsubscribe()),
        (0, subscribe()),
        (0, publish("b")),
        (0, settle(before)),
        (0, pull(), ["b#1"]),
        (0, settle(before)),
        (9.999999, pull(), []),
        (10, pull(), ["b#2"]),
    )


@spec("DLV-23", "ACK-02")
@pytest.mark.parametrize("settle", [ack, nack, lambda label: modack(1, label)])
def test_an_id_from_before_a_reset_is_stale(
    settle: Callable[[str], Command],
) -> None:
    story = Story().play((0, publish("a")), (0, pull(), ["a#1"]))
    before = story.ack_id("a#1")
    story.play(
        (0, reset(b"another nonce")),
        (0, create_topic()),
        (0, subscribe()),
        (0, publish("b")),
        (0, pull(), ["b#1"]),
        (0, settle(before)),
        (9.999999, pull(), []),
        (10, pull(), ["b#2"]),
    )


@spec("DLV-23", "ACK-02")
@pytest.mark.parametrize("settle", [ack, nack, lambda label: modack(1, label)])
def test_an_id_of_a_former_engine_is_stale(
    settle: Callable[[str], Command],
) -> None:
    before = issued(Story(nonce=b"the former engine"))
    Story(nonce=b"this engine").play(
        (0, publish("b")),
        (0, pull(), ["b#1"]),
        (0, settle(before)),
        (9.999999, pull(), []),
        (10, pull(), ["b#2"]),
    )


@spec("DLV-24")
def test_stale_ids_stay_stale_however_long_ago() -> None:
    story = Story().play((0, publish("a")), (0, pull(), ["a#1"]), (0, ack("a#1")))
    story.play((10**9, ack("a#1")), (10**9, nack("a#1")), (10**9, pull(), []))


@spec("DLV-26", "ERR-13")
def test_a_request_without_ids_is_refused() -> None:
    Story().play((0, ack(), NO_IDS), (0, nack(), NO_IDS), (0, modack(60), NO_IDS))


@spec("DLV-27", "ERR-14", "PUB-30")
@pytest.mark.parametrize(
    ("size_bytes", "expected"), [(524_288, None), (524_289, TOO_LARGE), (10**9, TOO_LARGE)]
)
def test_requests_have_524288_bytes_at_most(size_bytes: int, expected: object) -> None:
    story = Story()
    ids = [issued(story)]
    engine = story.engine
    acknowledge, modify = engine.acknowledge, engine.modify_ack_deadline
    for call in (
        lambda: acknowledge(SUBSCRIPTION, ids, now=0, size_bytes=size_bytes),
        lambda: modify(SUBSCRIPTION, ids, 0, now=0, size_bytes=size_bytes),
    ):
        assert refusal_of(call) == expected


@spec("DLV-27")
def test_a_request_that_is_too_large_settles_nothing() -> None:
    story = Story()
    ids = [issued(story)]
    call = story.engine.acknowledge
    assert refusal_of(lambda: call(SUBSCRIPTION, ids, now=0, size_bytes=524_289)) == TOO_LARGE
    story.play((10, pull(), ["a#2"]))
