"""Labels, on both resources that take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from emulator.api import pubsub
from emulator.engine.engine import Engine
from tests.engine.story import TOPIC, Refusal, Story, invalid, refusal_of
from tests.spec import spec

PATTERN = r"[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]{0,62}"


def refused(argument: str) -> Refusal:
    return invalid(f"You have passed an invalid argument to the service (argument={argument}).")


def bad_start(key: str, first: str) -> Refusal:
    return refused(
        f'Invalid labels: Invalid field "labels"; key "{key}" does not conform to regular '
        f'expression "{PATTERN}"; first character "{first}" is not a non-uppercased letter '
        "(Unicode character class Ll or Lo)"
    )


def long_value(value: str) -> Refusal:
    return refused(
        f'Invalid labels: Invalid field "labels.k"; value "{value}" exceeds maximum value length '
        f"63 with a length of {len(value)}"
    )


Labels = Mapping[str, str]


def create_topic(engine: Engine, labels: Labels) -> Labels:
    given = pubsub.Topic(name="projects/p/topics/new", labels=labels)
    return engine.topics.create(given, now=0).value.labels


def create_subscription(engine: Engine, labels: Labels) -> Labels:
    given = pubsub.Subscription(name="projects/p/subscriptions/new", topic=TOPIC, labels=labels)
    return engine.subscriptions.create(given, now=0).value.labels


RESOURCES = pytest.mark.parametrize("create", [create_topic, create_subscription])
GOOD: list[Labels] = [
    {},
    {"k": ""},
    {"k": "v"},
    {"env": "test-1_a", "e2e": "0"},
    {"k" * 63: "v" * 63},
    {"é": "ü"},
    {"東" * 42: "京" * 42},  # 126 bytes each
    {"é" * 63: "é" * 63},
    {"k": "-_-"},
    {"k": "٣"},  # a digit, though not of ASCII
    {f"k{n}": "" for n in range(64)},
]
BAD: list[tuple[Labels, Refusal]] = [
    ({"": "v"}, bad_start("", "")),
    ({"Key": "v"}, bad_start("Key", "K")),
    ({"1k": "v"}, bad_start("1k", "1")),
    ({"_k": "v"}, bad_start("_k", "_")),
    ({"-k": "v"}, bad_start("-k", "-")),
    ({"É": "v"}, bad_start("É", "É")),
    ({"k": "v" * 64}, long_value("v" * 64)),
    ({"k": "é" * 64}, long_value("é" * 64)),
    (
        {f"k{n}": "" for n in range(65)},
        invalid(
            "The value for labels is too large. You passed 65 in the request, but the maximum "
            "value is 64."
        ),
    ),
]
BAD_SOMEHOW: list[Labels] = [  # the texts are unsettled
    {"k" * 64: "v"},
    {"kE": "v"},
    {"k.y": "v"},
    {"k y": "v"},
    {"東" * 43: "v"},  # 129 bytes
    {"k": "V"},
    {"k": "a.b"},
    {"k": "a b"},
    {"k": "京" * 43},
]


@spec("LBL-01")
@RESOURCES
@pytest.mark.parametrize("labels", GOOD)
def test_good_labels_are_kept(create: Callable[..., Labels], labels: Labels) -> None:
    assert dict(create(Story().engine, labels)) == labels


@spec("LBL-01", "LBL-02", "ERR-20", "ERR-21")
@RESOURCES
@pytest.mark.parametrize(("labels", "expected"), BAD)
def test_bad_labels_are_refused(
    create: Callable[..., Labels], labels: Labels, expected: Refusal
) -> None:
    engine = Story().engine
    assert refusal_of(lambda: create(engine, labels)) == expected
    assert create(engine, {}) == {}  # nothing was made by the refused call


@spec("LBL-01", "LBL-02")
@RESOURCES
@pytest.mark.parametrize("labels", BAD_SOMEHOW)
def test_other_bad_labels_are_invalid_arguments(
    create: Callable[..., Labels], labels: Labels
) -> None:
    refusal = refusal_of(lambda: create(Story().engine, labels))
    assert refusal is not None
    assert refusal.code == "INVALID_ARGUMENT"
    assert "Invalid labels" in refusal.text
