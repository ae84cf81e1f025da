"""Streams that are idle, cut, or ended."""

from __future__ import annotations

import time

import pytest
from conftest import MakeLink, MakePublisher, MakeSubscriber
from contract import HANG_LIMIT_S, Inbox, Link, listening, until
from google.cloud import pubsub_v1

IDLE_S = 40


def clients_on(
    link: Link, make_publisher: MakePublisher, make_subscriber: MakeSubscriber
) -> tuple[pubsub_v1.PublisherClient, pubsub_v1.SubscriberClient]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PUBSUB_EMULATOR_HOST", link.address)
        return make_publisher(), make_subscriber()


# @spec STR-10 CLI-10
def test_idle_stream(
    topic: str,
    subscription: str,
    make_link: MakeLink,
    make_publisher: MakePublisher,
    make_subscriber: MakeSubscriber,
) -> None:
    link = make_link("grpc")
    publisher, subscriber = clients_on(link, make_publisher, make_subscriber)
    inbox = Inbox()
    with listening(subscriber, subscription, inbox):
        publisher.publish(topic, b"before").result(HANG_LIMIT_S)
        assert inbox.next().data == b"before"
        streams = link.streams()
        time.sleep(IDLE_S)
        publisher.publish(topic, b"after").result(HANG_LIMIT_S)
        assert inbox.next(timeout_s=1).data == b"after"
        assert link.streams() == streams > 0  # none was given up meanwhile


def goes_on(
    link: Link,
    topic: str,
    subscription: str,
    make_publisher: MakePublisher,
    make_subscriber: MakeSubscriber,
) -> None:
    """Break the link three times; every message published in between arrives.

    It takes connections again at once: this client tries five times without a pause, and then
    waits until ten seconds have gone by.
    """
    publisher, subscriber = clients_on(link, make_publisher, make_subscriber)
    inbox = Inbox()
    with listening(subscriber, subscription, inbox):
        for number in range(3):
            publisher.publish(topic, b"%d" % number).result(HANG_LIMIT_S)
            until(lambda number=number: b"%d" % number in {inbox.next().data})
            assert link.break_all() > 0
        publisher.publish(topic, b"last").result(HANG_LIMIT_S)
        until(lambda: inbox.next().data == b"last")


# @spec CLI-01
def test_cut_connection(
    topic: str,
    subscription: str,
    make_link: MakeLink,
    make_publisher: MakePublisher,
    make_subscriber: MakeSubscriber,
) -> None:
    goes_on(make_link("tcp"), topic, subscription, make_publisher, make_subscriber)


# @spec STR-13 CLI-01
def test_ended_stream(
    topic: str,
    subscription: str,
    make_link: MakeLink,
    make_publisher: MakePublisher,
    make_subscriber: MakeSubscriber,
) -> None:
    goes_on(make_link("grpc"), topic, subscription, make_publisher, make_subscriber)
