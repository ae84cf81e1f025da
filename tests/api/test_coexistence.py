"""The emulator and the official client share one process, whoever comes first.

With ordinary generated modules the second import raises `TypeError: duplicate symbol`.
"""

import subprocess
import sys

import pytest

OURS = """from emulator.api import health, http, iam, pool, pubsub, rpc, schema, wkt
from emulator.api.http_rules import http_rule"""
THEIRS = "from google.cloud import pubsub_v1\nfrom google.pubsub_v1.types import PubsubMessage"
EXCHANGE = """
theirs = PubsubMessage(data=b"x", attributes={"a": "b"}, ordering_key="k")
theirs.publish_time = {"seconds": 12}
ours = pubsub.PubsubMessage.FromString(PubsubMessage.serialize(theirs))
assert (ours.data, dict(ours.attributes), ours.ordering_key) == (b"x", {"a": "b"}, "k")
assert type(ours.publish_time) is wkt.Timestamp and ours.publish_time.seconds == 12
assert PubsubMessage.deserialize(ours.SerializeToString()) == theirs
assert type(ours).DESCRIPTOR is not PubsubMessage.pb().DESCRIPTOR
method = pool.service("google.pubsub.v1.Publisher").methods_by_name["Publish"]
assert type(http_rule(method)) is http.HttpRule
"""

EMULATOR = "from emulator import Emulator\nimport os"
ROUND_TRIP = """
with Emulator() as emulator:
    os.environ["PUBSUB_EMULATOR_HOST"] = emulator.host_port
    publisher, subscriber = pubsub_v1.PublisherClient(), pubsub_v1.SubscriberClient()
    topic, name = "projects/p/topics/topic", "projects/p/subscriptions/subscription"
    publisher.create_topic(name=topic)
    subscriber.create_subscription(name=name, topic=topic)
    message_id = publisher.publish(topic, b"x", a="b").result(60)
    [received] = subscriber.pull(subscription=name, max_messages=1).received_messages
    assert type(received.message) is PubsubMessage
    assert (received.message.data, received.message.message_id) == (b"x", message_id)
    assert dict(received.message.attributes) == {"a": "b"}
    subscriber.acknowledge(subscription=name, ack_ids=[received.ack_id])
    subscriber.close()
    publisher.stop()
"""


@pytest.mark.parametrize("imports", [(OURS, THEIRS), (THEIRS, OURS)], ids=["first", "second"])
def test_imports_in_either_order(imports: tuple[str, str]) -> None:
    program = "\n".join((*imports, EXCHANGE))
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.parametrize(
    "imports", [(EMULATOR, THEIRS), (THEIRS, EMULATOR)], ids=["first", "second"]
)
def test_the_client_uses_an_emulator_in_its_own_process(imports: tuple[str, str]) -> None:
    program = "\n".join((*imports, ROUND_TRIP))
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
