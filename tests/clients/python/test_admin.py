"""The life of topics and subscriptions, and errors as the client's own exceptions."""

from __future__ import annotations

import pytest
from contract import Names
from google.api_core import exceptions
from google.cloud import pubsub_v1
from google.iam.v1 import policy_pb2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask


def test_topic_life(names: Names, publisher: pubsub_v1.PublisherClient) -> None:
    name = names.topic()
    created = publisher.create_topic(request={"name": name, "labels": {"team": "red"}})
    assert (created.name, dict(created.labels)) == (name, {"team": "red"})
    hour = Duration(seconds=3600)
    update = {"name": name, "labels": {"team": "blue"}, "message_retention_duration": hour}
    mask = FieldMask(paths=["labels"])
    publisher.update_topic(request={"topic": update, "update_mask": mask})
    got = publisher.get_topic(topic=name)
    assert dict(got.labels) == {"team": "blue"}
    assert not got.message_retention_duration  # the mask did not name it
    publisher.delete_topic(topic=name)
    with pytest.raises(exceptions.NotFound):
        publisher.get_topic(topic=name)


def test_subscription_life(
    names: Names,
    topic: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    name = names.subscription()
    created = subscriber.create_subscription(
        request={"name": name, "topic": topic, "ack_deadline_seconds": 30, "labels": {"a": "b"}}
    )
    assert (created.topic, created.ack_deadline_seconds) == (topic, 30)
    assert list(publisher.list_topic_subscriptions(topic=topic)) == [name]
    update = {"name": name, "ack_deadline_seconds": 60, "labels": {"c": "d"}}
    mask = FieldMask(paths=["ack_deadline_seconds"])
    subscriber.update_subscription(request={"subscription": update, "update_mask": mask})
    got = subscriber.get_subscription(subscription=name)
    assert (got.ack_deadline_seconds, dict(got.labels)) == (60, {"a": "b"})
    publisher.delete_topic(topic=topic)
    assert subscriber.get_subscription(subscription=name).topic == "_deleted-topic_"
    subscriber.delete_subscription(subscription=name)
    with pytest.raises(exceptions.NotFound):
        subscriber.get_subscription(subscription=name)


def test_lists_have_pages(
    names: Names,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    topics = [names.topic(f"topic-{number}") for number in range(5)]
    subscriptions = [names.subscription(f"subscription-{number}") for number in range(5)]
    for topic, subscription in zip(topics, subscriptions, strict=True):
        publisher.create_topic(name=topic)
        subscriber.create_subscription(name=subscription, topic=topic)
    request = {"project": names.parent, "page_size": 3}
    pages = [[topic.name for topic in page.topics] for page in publisher.list_topics(request).pages]
    assert list(map(len, pages)) == [3, 2]
    assert sorted(name for page in pages for name in page) == topics
    listed = [each.name for each in subscriber.list_subscriptions(request)]
    assert sorted(listed) == subscriptions


def test_errors_are_the_clients_own(
    names: Names,
    topic: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    with pytest.raises(exceptions.AlreadyExists):
        publisher.create_topic(name=topic)
    with pytest.raises(exceptions.NotFound):
        publisher.delete_topic(topic=names.topic("absent"))
    with pytest.raises(exceptions.NotFound):
        publisher.publish(names.topic("absent"), b"x").result()
    with pytest.raises(exceptions.NotFound):
        subscriber.create_subscription(name=names.subscription(), topic=names.topic("absent"))
    with pytest.raises(exceptions.InvalidArgument):
        publisher.create_topic(name=names.topic("goog-reserved"))
    with pytest.raises(exceptions.InvalidArgument):
        subscriber.create_subscription(
            request={"name": names.subscription(), "topic": topic, "ack_deadline_seconds": 5}
        )


def test_iam_policies(topic: str, publisher: pubsub_v1.PublisherClient) -> None:
    policy = publisher.get_iam_policy(request={"resource": topic})
    assert list(policy.bindings) == []
    binding = policy_pb2.Binding(role="roles/pubsub.viewer", members=["user:me@example.com"])
    policy.bindings.append(binding)
    publisher.set_iam_policy(request={"resource": topic, "policy": policy})
    got = publisher.get_iam_policy(request={"resource": topic})
    assert list(got.bindings) == [binding]
    permissions = ["pubsub.topics.publish", "pubsub.topics.get"]
    granted = publisher.test_iam_permissions(
        request={"resource": topic, "permissions": permissions}
    )
    assert sorted(granted.permissions) == sorted(permissions)


# @spec PUL-04
def test_detach(
    topic: str,
    subscription: str,
    publisher: pubsub_v1.PublisherClient,
    subscriber: pubsub_v1.SubscriberClient,
) -> None:
    publisher.publish(topic, b"lost").result()
    publisher.detach_subscription(request={"subscription": subscription})
    assert subscriber.get_subscription(subscription=subscription).detached
    assert list(publisher.list_topic_subscriptions(topic=topic)) == []
    with pytest.raises(exceptions.FailedPrecondition):
        subscriber.pull(subscription=subscription, max_messages=1)
