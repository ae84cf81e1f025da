"""Topics and subscriptions through the official Python client."""

from __future__ import annotations

from datetime import timedelta

import pytest
from google.api_core import exceptions
from google.cloud import pubsub_v1
from google.pubsub_v1 import types

from tests.spec import spec
from tests.wire import Names

Publisher = pubsub_v1.PublisherClient
Subscriber = pubsub_v1.SubscriberClient


@spec("TOP-01", "TOP-02", "NAM-06")
def test_a_topics_life(publisher: Publisher, names: Names) -> None:
    name = names.topic()
    plain = types.Topic(name=name)
    assert publisher.create_topic(name=name) == plain
    assert publisher.get_topic(topic=name) == plain
    assert list(publisher.list_topics(project=f"projects/{names.project}")) == [plain]
    publisher.delete_topic(topic=name)
    assert list(publisher.list_topics(project=f"projects/{names.project}")) == []
    with pytest.raises(exceptions.NotFound):
        publisher.get_topic(topic=name)


@spec("SUB-13")
def test_a_subscriptions_life_and_the_servers_defaults(
    publisher: Publisher, subscriber: Subscriber, names: Names
) -> None:
    topic, name = names.topic(), names.subscription()
    publisher.create_topic(name=topic)
    expected = types.Subscription(
        name=name,
        topic=topic,
        push_config=types.PushConfig(),
        ack_deadline_seconds=10,
        message_retention_duration=timedelta(days=7),
        expiration_policy=types.ExpirationPolicy(ttl=timedelta(days=31)),
        state=types.Subscription.State.ACTIVE,
    )
    assert subscriber.create_subscription(name=name, topic=topic) == expected
    assert subscriber.get_subscription(subscription=name) == expected
    project = f"projects/{names.project}"
    assert list(subscriber.list_subscriptions(project=project)) == [expected]
    assert list(publisher.list_topic_subscriptions(topic=topic)) == [name]
    subscriber.delete_subscription(subscription=name)
    assert list(subscriber.list_subscriptions(project=project)) == []
    assert list(publisher.list_topic_subscriptions(topic=topic)) == []
    with pytest.raises(exceptions.NotFound):
        subscriber.get_subscription(subscription=name)


@spec("SUB-04", "SUB-05", "SUB-07", "LBL-01")
def test_values_that_are_given_are_kept(
    publisher: Publisher, subscriber: Subscriber, names: Names
) -> None:
    publisher.create_topic(request=types.Topic(name=names.topic(), labels={"team": "a"}))
    given = types.Subscription(
        name=names.subscription(),
        topic=names.topic(),
        ack_deadline_seconds=42,
        message_retention_duration=timedelta(minutes=10),
        expiration_policy=types.ExpirationPolicy(),
        labels={"team": "b"},
    )
    created = subscriber.create_subscription(request=given)
    assert created.ack_deadline_seconds == 42
    assert created.message_retention_duration == timedelta(minutes=10)
    assert "ttl" not in created.expiration_policy  # it never expires
    assert dict(created.labels) == {"team": "b"}
    assert subscriber.get_subscription(subscription=names.subscription()) == created
    assert dict(publisher.get_topic(topic=names.topic()).labels) == {"team": "a"}


@spec("LST-02", "LST-06", "LST-07")
def test_the_client_pages_through_long_lists(
    publisher: Publisher, subscriber: Subscriber, names: Names
) -> None:
    topics = [names.topic(f"topic-{number:03}") for number in range(230)]
    for topic in topics:
        publisher.create_topic(name=topic)
    subscriptions = [names.subscription(f"subscription-{number:03}") for number in range(7)]
    for name in subscriptions:
        subscriber.create_subscription(name=name, topic=topics[0])
    project = f"projects/{names.project}"
    pages = list(publisher.list_topics(project=project).pages)
    assert [topic.name for page in pages for topic in page.topics] == topics
    assert len(pages) > 1
    attached = publisher.list_topic_subscriptions(request={"topic": topics[0], "page_size": 3})
    assert list(attached) == subscriptions
    listed = subscriber.list_subscriptions(request={"project": project, "page_size": 2})
    assert [each.name for each in listed] == subscriptions


@spec("ERR-01", "ERR-02", "ERR-03", "ERR-91")
def test_refusals_become_the_clients_exceptions(
    publisher: Publisher, subscriber: Subscriber, names: Names
) -> None:
    publisher.create_topic(name=names.topic())
    with pytest.raises(exceptions.AlreadyExists) as existing:
        publisher.create_topic(name=names.topic())
    with pytest.raises(exceptions.NotFound) as missing:
        subscriber.create_subscription(name=names.subscription(), topic=names.topic("other"))
    with pytest.raises(exceptions.InvalidArgument) as misnamed:
        publisher.create_topic(name=names.topic("goog-topic"))
    texts = [each.value.message for each in (existing, missing, misnamed)]
    assert texts[0] == "Resource already exists in the project (resource=topic)."
    assert texts[1] == "Resource not found (resource=other)."
    assert f"(name={names.topic('goog-topic')})" in texts[2]
    assert [each.value.details for each in (existing, missing, misnamed)] == [[], [], []]


@spec("TOP-11", "NAM-18")
def test_subscriptions_outlive_their_topic(
    publisher: Publisher, subscriber: Subscriber, names: Names
) -> None:
    publisher.create_topic(name=names.topic())
    subscriber.create_subscription(name=names.subscription(), topic=names.topic())
    publisher.publish(names.topic(), b"x").result(30)
    publisher.delete_topic(topic=names.topic())
    found = subscriber.get_subscription(subscription=names.subscription())
    assert found.topic == "_deleted-topic_"
    [received] = subscriber.pull(
        subscription=names.subscription(), max_messages=10
    ).received_messages
    assert received.message.data == b"x"
