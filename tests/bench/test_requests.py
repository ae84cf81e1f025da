"""The benchmark writes and reads bytes by hand: they must be what the real messages are."""

from emulator.api import pubsub, schema
from scripts.bench import requests, wire

ACK_IDS = ["projects/bench/subscriptions/worker:1", "x" * 300]
SIZED = [wire.varint(len(ack_id)) + ack_id.encode() for ack_id in ACK_IDS]


def test_the_resources_are_those_asked_for() -> None:
    topic = pubsub.Topic.FromString(requests.topic())
    subscription = pubsub.Subscription.FromString(requests.subscription())
    assert topic == pubsub.Topic(name=requests.TOPIC)
    assert subscription == pubsub.Subscription(
        name=requests.SUBSCRIPTION, topic=requests.TOPIC, ack_deadline_seconds=600
    )


def test_a_publish_request_has_so_many_messages_of_100_bytes_and_one_attribute() -> None:
    request = pubsub.PublishRequest.FromString(requests.publish(3))
    assert request.topic == requests.TOPIC
    assert [len(message.data) for message in request.messages] == [100, 100, 100]
    assert [len(message.attributes) for message in request.messages] == [1, 1, 1]


def test_a_subscription_may_have_a_property() -> None:
    def made(property_field: bytes) -> pubsub.Subscription:
        return pubsub.Subscription.FromString(requests.subscription(property_field=property_field))

    assert made(requests.ORDERED).enable_message_ordering
    assert made(requests.EXACTLY_ONCE).enable_exactly_once_delivery
    assert made(requests.FILTERED).filter == 'attributes.kind = "event"'


def test_a_topic_may_have_a_schema() -> None:
    made = schema.CreateSchemaRequest.FromString(requests.create_schema('"string"'))
    assert made == schema.CreateSchemaRequest(
        parent="projects/bench",
        schema_id="event",
        schema=schema.Schema(type="AVRO", definition='"string"'),
    )
    topic = pubsub.Topic.FromString(requests.schema_topic("name"))
    settings = pubsub.SchemaSettings(schema=requests.SCHEMA, encoding="BINARY")
    assert topic == pubsub.Topic(name="name", schema_settings=settings)
    published = pubsub.PublishRequest.FromString(requests.publish_to("name", b"a", 2))
    assert published == pubsub.PublishRequest(
        topic="name", messages=[pubsub.PubsubMessage(data=b"a")] * 2
    )


def test_messages_have_the_key_and_half_of_them_pass_the_filter() -> None:
    ordered = pubsub.PublishRequest.FromString(requests.publish(2, "key"))
    halves = pubsub.PublishRequest.FromString(requests.publish_halves(4))
    assert [message.ordering_key for message in ordered.messages] == ["key", "key"]
    kinds = [message.attributes["kind"] for message in halves.messages]
    assert kinds == ["event", "other", "event", "other"]


def test_requests_of_a_subscriber_are_those_asked_for() -> None:
    assert pubsub.PullRequest.FromString(requests.pull(100)) == pubsub.PullRequest(
        subscription=requests.SUBSCRIPTION, max_messages=100
    )
    assert pubsub.AcknowledgeRequest.FromString(
        requests.acknowledge(SIZED)
    ) == pubsub.AcknowledgeRequest(subscription=requests.SUBSCRIPTION, ack_ids=ACK_IDS)
    assert pubsub.ModifyAckDeadlineRequest.FromString(
        requests.modify_ack_deadline(SIZED, 600)
    ) == pubsub.ModifyAckDeadlineRequest(
        subscription=requests.SUBSCRIPTION, ack_ids=ACK_IDS, ack_deadline_seconds=600
    )


def test_requests_on_a_stream_are_those_asked_for() -> None:
    first = pubsub.StreamingPullRequest.FromString(requests.open_stream())
    later = pubsub.StreamingPullRequest.FromString(requests.acknowledge_on_stream(SIZED))
    assert first == pubsub.StreamingPullRequest(
        subscription=requests.SUBSCRIPTION, stream_ack_deadline_seconds=60
    )
    assert later == pubsub.StreamingPullRequest(ack_ids=ACK_IDS)


def test_ack_ids_are_found_in_both_kinds_of_response() -> None:
    received = [
        pubsub.ReceivedMessage(
            ack_id=ack_id, delivery_attempt=5, message=pubsub.PubsubMessage(data=b"d" * 200)
        )
        for ack_id in ACK_IDS
    ]
    pulled = pubsub.PullResponse(received_messages=received)
    streamed = pubsub.StreamingPullResponse(received_messages=received)
    streamed.subscription_properties.message_ordering_enabled = True
    assert wire.sized_ack_ids(pulled.SerializeToString()) == SIZED
    assert wire.sized_ack_ids(streamed.SerializeToString()) == SIZED


def test_an_ack_id_is_found_behind_other_fields() -> None:
    fields = wire.block(2, b"m" * 300) + wire.number(3, 1000) + wire.text(1, ACK_IDS[0])
    assert wire.sized_ack_ids(wire.block(1, fields)) == SIZED[:1]
