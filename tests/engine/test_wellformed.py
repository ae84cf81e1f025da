"""What protobuf carries and JSON cannot say is refused before it is stored."""

from __future__ import annotations

import math

import pytest

from emulator.api import pubsub
from emulator.api.wkt import Duration, Struct, Timestamp
from emulator.engine.values import wellformed
from emulator.engine.values.errors import InvalidArgument


def retention(seconds: int, nanos: int) -> pubsub.Subscription:
    duration = Duration(seconds=seconds, nanos=nanos)
    return pubsub.Subscription(message_retention_duration=duration)


@pytest.mark.parametrize(
    "good",
    [
        retention(600, 0),
        retention(600, 999_999_999),
        retention(-1, -1),
        retention(0, -1),
        pubsub.SeekRequest(time=Timestamp(seconds=253_402_300_799, nanos=999_999_999)),
        pubsub.SeekRequest(time=Timestamp(seconds=-62_135_596_800)),
        pubsub.Topic(labels={"a": "b"}),
    ],
)
def test_what_json_can_say_passes(good: pubsub.Subscription) -> None:
    wellformed.check(good)


@pytest.mark.parametrize(
    "bad",
    [
        retention(600, 1_000_000_000),
        retention(600, -1),
        retention(-600, 1),
        retention(315_576_000_001, 0),
        pubsub.SeekRequest(time=Timestamp(nanos=-1)),
        pubsub.SeekRequest(time=Timestamp(nanos=1_000_000_000)),
        pubsub.SeekRequest(time=Timestamp(seconds=253_402_300_800)),
    ],
)
def test_what_json_cannot_say_is_refused(bad: pubsub.Subscription) -> None:
    with pytest.raises(InvalidArgument):
        wellformed.check(bad)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none_are_found_at_any_depth(number: float) -> None:
    struct = Struct()
    struct.update({"a": [1.0, {"b": number}]})
    parameters = pubsub.AIInference.UnstructuredInference(parameters=struct)
    transform = pubsub.MessageTransform(
        ai_inference=pubsub.AIInference(unstructured_inference=parameters)
    )
    with pytest.raises(InvalidArgument, match="message_transforms"):
        wellformed.check(pubsub.Topic(message_transforms=[transform]))
