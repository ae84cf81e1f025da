"""The official Python client over REST."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import google.pubsub_v1
import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.iam.v1 import iam_policy_pb2, policy_pb2
from google.protobuf import field_mask_pb2
from google.pubsub_v1 import types
from google.pubsub_v1.services.publisher.transports.rest import PublisherRestTransport
from google.pubsub_v1.services.subscriber.transports.rest import SubscriberRestTransport

from emulator.testing import Emulator
from tests.spec import spec
from tests.wire import HANG_LIMIT_S, Names

Publisher = google.pubsub_v1.PublisherClient
Subscriber = google.pubsub_v1.SubscriberClient


@pytest.fixture
def publisher(emulator: Emulator) -> Iterator[Publisher]:
    transport = PublisherRestTransport(
        host=emulator.host_port, url_scheme="http", credentials=AnonymousCredentials()
    )
    with Publisher(transport=transport) as client:
        yield client


@pytest.fixture
def subscriber(emulator: Emulator) -> Iterator[Subscriber]:
    transport = SubscriberRestTransport(
        host=emulator.host_port, url_scheme="http", credentials=AnonymousCredentials()
    )
    with Subscriber(transport=transport) as client:
        yield client


@spec("TOP-01", "TOP-02", "NAM-05", "RST-T1", "RST-T2", "RST-T4", "RST-T5", "RST-T8")
def test_a_topics_life(publisher: Publisher, names: Names) -> None:
    name, project = names.topic("a+b~c"), f"projects/{names.project}"
    plain = types.Topic(name=name)
    assert publisher.create_topic(name=name) == plain
    assert publisher.get_topic(topic=name) == plain
    labelled = types.Topic(name=name, labels={"a": "b"})
    mask = field_mask_pb2.FieldMask(paths=["labels"])
    assert publisher.update_topic(topic=labelled, update_mask=mask) == labelled
    assert list(publisher.list_topics(project=project)) == [labelled]
    publisher.delete_topic(topic=name)
    assert list(publisher.list_topics(project=project)) == []


@spec("SUB-13", "RST-S1", "RST-S2", "RST-S3", "RST-S4", "RST-S5", "RST-T6", "RST-T9")
def test_a_subscriptions_life(publisher: Publisher, subscriber: Subscriber, names: Names) -> None:
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
    expected.ack_deadline_seconds = 30
    mask = field_mask_pb2.FieldMask(paths=["ack_deadline_seconds"])
    updated = subscriber.update_subscription(subscription=expected, update_mask=mask)
    assert updated == expected
    assert list(subscriber.list_subscriptions(project=f"projects/{names.project}")) == [expected]
    assert list(publisher.list_topic_subscriptions(topic=topic)) == [name]
    publisher.detach_subscription(request={"subscription": name})
    assert subscriber.get_subscription(subscription=name).detached
    subscriber.delete_subscription(subscription=name)
    with pytest.raises(exceptions.NotFound):
        subscriber.get_subscription(subscription=name)


@spec("PUB-01", "PUB-10", "RST-T3", "RST-S6", "RST-S7", "RST-S8")
def test_messages_there_and_back(
    publisher: Publisher, subscriber: Subscriber, names: Names
) -> None:
    topic, name = names.topic(), names.subscription()
    publisher.create_topic(name=topic)
    subscriber.create_subscription(name=name, topic=topic)
    sent = types.PubsubMessage(data=bytes(range(256)), attributes={"é": "ü"}, ordering_key="k")
    ids = publisher.publish(topic=topic, messages=[sent]).message_ids
    for _ in range(2):
        pulled = subscriber.pull(subscription=name, max_messages=10, timeout=HANG_LIMIT_S)
        [received] = pulled.received_messages
        message = received.message
        assert (message.data, dict(message.attributes)) == (sent.data, {"é": "ü"})
        assert ([message.message_id], message.ordering_key) == (ids, "k")
        assert message.publish_time.microsecond % 1_000 == 0
        subscriber.modify_ack_deadline(
            subscription=name, ack_ids=[received.ack_id], ack_deadline_seconds=0
        )
    [received] = subscriber.pull(subscription=name, max_messages=10).received_messages
    subscriber.acknowledge(subscription=name, ack_ids=[received.ack_id])
    impatient = [("x-server-timeout", "0.01")]
    empty = subscriber.pull(subscription=name, max_messages=1, metadata=impatient)
    assert empty.received_messages == []


@spec("LST-04", "RST-32")
def test_lists_come_in_pages(publisher: Publisher, names: Names) -> None:
    created = [names.topic(f"topic{number}") for number in range(5)]
    for name in created:
        publisher.create_topic(name=name)
    request = {"project": f"projects/{names.project}", "page_size": 2}
    pages = [[topic.name for topic in page.topics] for page in publisher.list_topics(request).pages]
    assert pages == [created[:2], created[2:4], created[4:]]


@spec("RST-50", "RST-51", "RST-52")
def test_errors_are_the_clients_own(
    publisher: Publisher, subscriber: Subscriber, names: Names
) -> None:
    publisher.create_topic(name=names.topic())
    with pytest.raises(exceptions.Conflict, match="Resource already exists"):
        publisher.create_topic(name=names.topic())
    with pytest.raises(exceptions.NotFound, match=r"Resource not found \(resource=nothing\)"):
        publisher.get_topic(topic=names.topic("nothing"))
    with pytest.raises(exceptions.BadRequest, match="message_count is too small"):
        publisher.publish(topic=names.topic(), messages=[])
    with pytest.raises(exceptions.BadRequest, match="Invalid ack deadline"):
        subscriber.create_subscription(
            request={
                "name": names.subscription(), "topic": names.topic(), "ack_deadline_seconds": 5
            }
        )  # fmt: skip


@spec("IAM-02", "IAM-03", "RST-I1", "RST-I2", "RST-I3")
def test_policies(publisher: Publisher, names: Names) -> None:
    publisher.create_topic(name=names.topic())
    ask = iam_policy_pb2.GetIamPolicyRequest(resource=names.topic())
    assert publisher.get_iam_policy(request=ask) == policy_pb2.Policy(etag=b"\0 \1")
    binding = policy_pb2.Binding(role="roles/pubsub.viewer", members=["allUsers"])
    stored = publisher.set_iam_policy(
        request=iam_policy_pb2.SetIamPolicyRequest(
            resource=names.topic(), policy=policy_pb2.Policy(bindings=[binding])
        )
    )
    assert (stored.version, list(stored.bindings)) == (1, [binding])
    assert publisher.get_iam_policy(request=ask) == stored
    tested = publisher.test_iam_permissions(
        request=iam_policy_pb2.TestIamPermissionsRequest(
            resource=names.topic(), permissions=["pubsub.topics.get"]
        )
    )
    assert list(tested.permissions) == ["pubsub.topics.get"]
