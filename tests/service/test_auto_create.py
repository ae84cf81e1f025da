"""Topics that are made when they are first used, where that was asked for."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest

from emulator.api import pubsub
from emulator.server import Options
from emulator.testing import Emulator
from tests.spec import spec
from tests.wire import Names, Wire, refusal


@pytest.fixture
def auto(names: Names) -> Iterator[Wire]:
    options = Options(
        hosts=("127.0.0.1",), port=0, projects=frozenset({names.project}), auto_create=True
    )
    with Emulator(options) as emulator:
        wire = Wire(emulator.host_port)
        yield wire
        wire.close()


def test_publishing_makes_the_topic(auto: Wire, names: Names) -> None:
    assert len(auto.publish(names.topic("new"), b"lost")) == 1
    auto("CreateSubscription", pubsub.Subscription(name=names.subscription("sub"),
                                                   topic=names.topic("new")))  # fmt: skip
    auto.publish(names.topic("new"), b"kept")
    assert [got.message.data for got in auto.pull(names.subscription("sub"))] == [b"kept"]


def test_subscribing_makes_topic_and_dead_letter_topic(auto: Wire, names: Names) -> None:
    policy = pubsub.DeadLetterPolicy(dead_letter_topic=names.topic("dead"))
    subscription = pubsub.Subscription(
        name=names.subscription("sub"), topic=names.topic("new"), dead_letter_policy=policy
    )
    auto("CreateSubscription", subscription)
    listed = auto("ListTopics", pubsub.ListTopicsRequest(project=f"projects/{names.project}"))
    assert {topic.name for topic in listed.topics} == {names.topic("new"), names.topic("dead")}


@spec("NAM-15", "NAM-16")
def test_what_else_is_wrong_stays_wrong(auto: Wire, names: Names) -> None:
    message = pubsub.PubsubMessage(data=b"a")
    bad_name = pubsub.PublishRequest(topic=names.topic("x"), messages=[message])
    assert refusal(lambda: auto("Publish", bad_name)).code() is grpc.StatusCode.INVALID_ARGUMENT
    elsewhere = pubsub.PublishRequest(topic="projects/elsewhere/topics/abc", messages=[message])
    assert refusal(lambda: auto("Publish", elsewhere)).code() is grpc.StatusCode.NOT_FOUND
    nowhere = pubsub.PullRequest(subscription=names.subscription("none"), max_messages=1)
    assert refusal(lambda: auto("Pull", nowhere)).code() is grpc.StatusCode.NOT_FOUND


def test_unasked_nothing_is_made(wire: Wire, names: Names) -> None:
    request = pubsub.PublishRequest(
        topic=names.topic("none"), messages=[pubsub.PubsubMessage(data=b"a")]
    )
    assert refusal(lambda: wire("Publish", request)).code() is grpc.StatusCode.NOT_FOUND
