"""The requests of the benchmark, as bytes ready to be sent.

Requests that carry ack ids take them as `wire.sized_ack_ids` returns them.
"""

from scripts.bench import wire

PAYLOAD_BYTES = 100
TOPIC = "projects/bench/topics/events"
SCHEMA = "projects/bench/schemas/event"
SUBSCRIPTION = "projects/bench/subscriptions/worker"


def _message(kind: str) -> bytes:
    attribute = wire.text(1, "kind") + wire.text(2, kind)
    return wire.block(1, b"x" * PAYLOAD_BYTES) + wire.block(2, attribute)


_MESSAGE = _message("event")
_OTHER_MESSAGE = _message("other")

ORDERED = wire.number(10, 1)
EXACTLY_ONCE = wire.number(16, 1)
FILTERED = wire.text(12, 'attributes.kind = "event"')
"""What a subscription may have besides; the filter takes half of `publish_halves`."""

_AVRO = 2
_BINARY = 2

STREAM_ACK_DEADLINE_S = 60
_ACK_DEADLINE_S = 600
"""The longest: no lease may run out while a slow server is measured."""


def topic(name: str = TOPIC) -> bytes:
    """Build a Topic, which is what CreateTopic takes; GetTopic's request has the same bytes."""
    return wire.text(1, name)


def create_schema(definition: str) -> bytes:
    """Build the CreateSchemaRequest of an Avro schema."""
    schema = wire.number(2, _AVRO) + wire.text(3, definition)
    parts = wire.block(2, schema) + wire.text(3, SCHEMA.rpartition("/")[2])
    return wire.text(1, "projects/bench") + parts


def schema_topic(name: str) -> bytes:
    """Build a Topic whose messages must fit the schema, in binary."""
    settings = wire.text(1, SCHEMA) + wire.number(2, _BINARY)
    return wire.text(1, name) + wire.block(6, settings)


def publish_to(topic_name: str, payload: bytes, count: int) -> bytes:
    """Build a PublishRequest of `count` messages with nothing but a payload."""
    return wire.text(1, topic_name) + wire.block(2, wire.block(1, payload)) * count


def subscription(
    name: str = SUBSCRIPTION, topic_name: str = TOPIC, property_field: bytes = b""
) -> bytes:
    """Build a Subscription, which is what CreateSubscription takes."""
    names = wire.text(1, name) + wire.text(2, topic_name)
    return names + wire.number(5, _ACK_DEADLINE_S) + property_field


def publish(count: int, ordering_key: str = "") -> bytes:
    """Build a PublishRequest of `count` messages with 100 bytes and one attribute each."""
    key = wire.text(5, ordering_key) if ordering_key else b""
    return wire.text(1, TOPIC) + wire.block(2, _MESSAGE + key) * count


def publish_halves(count: int) -> bytes:
    """Build a PublishRequest of messages of which every second one passes the filter."""
    pair = wire.block(2, _MESSAGE) + wire.block(2, _OTHER_MESSAGE)
    return wire.text(1, TOPIC) + pair * (count // 2)


def pull(max_messages: int) -> bytes:
    """Build a PullRequest."""
    return wire.text(1, SUBSCRIPTION) + wire.number(3, max_messages)


def acknowledge(sized_ack_ids: list[bytes]) -> bytes:
    """Build an AcknowledgeRequest."""
    return wire.text(1, SUBSCRIPTION) + _repeated(2, sized_ack_ids)


def modify_ack_deadline(sized_ack_ids: list[bytes], deadline_s: int) -> bytes:
    """Build a ModifyAckDeadlineRequest."""
    return wire.text(1, SUBSCRIPTION) + wire.number(3, deadline_s) + _repeated(4, sized_ack_ids)


def open_stream(subscription_name: str = SUBSCRIPTION) -> bytes:
    """Build the first StreamingPullRequest; without flow control, the server is what limits."""
    return wire.text(1, subscription_name) + wire.number(5, STREAM_ACK_DEADLINE_S)


def acknowledge_on_stream(sized_ack_ids: list[bytes]) -> bytes:
    """Build a later StreamingPullRequest that acknowledges."""
    return _repeated(2, sized_ack_ids)


def _repeated(field: int, sized: list[bytes]) -> bytes:
    tag = wire.varint(field << 3 | 2)
    return tag + tag.join(sized)
