"""Prove the lower bounds of pyproject.toml: run in the environment of oldest.txt.

`make test` runs this file with that environment's Python, which has no pytest. Each run is a
process of its own, since the order of imports is what is proved.
"""

import subprocess
import sys
from importlib.metadata import version

PACKAGES = (
    "protobuf",
    "grpcio",
    "grpcio-reflection",
    "grpcio-tools",
    "aiohttp",
    "uvloop",
    "google-cloud-pubsub",
)

IMPORTS = ("import emulator.api.pubsub", "from google.cloud import pubsub_v1")

PROGRAM = """
import os
import emulator
from google.cloud import pubsub_v1

with emulator.Emulator() as running:
    os.environ["PUBSUB_EMULATOR_HOST"] = f"127.0.0.1:{running.port}"
    topic = "projects/oldest/topics/topic"
    subscription = "projects/oldest/subscriptions/subscription"
    with pubsub_v1.PublisherClient() as publisher, pubsub_v1.SubscriberClient() as subscriber:
        publisher.create_topic(name=topic, timeout=30)
        subscriber.create_subscription(name=subscription, topic=topic, timeout=30)
        message_id = publisher.publish(topic, b"hello", colour="blue").result(timeout=30)
        pulled = subscriber.pull(subscription=subscription, max_messages=1, timeout=30)
        [received] = pulled.received_messages
        message = received.message
        assert message.message_id == message_id, (message.message_id, message_id)
        assert (message.data, dict(message.attributes)) == (b"hello", {"colour": "blue"})
        subscriber.acknowledge(subscription=subscription, ack_ids=[received.ack_id], timeout=30)
    with pubsub_v1.SchemaServiceClient() as schemas:
        definition = 'edition = "2023"; message Event { map<string, int64> counts = 1; }'
        schema = {"type_": "PROTOCOL_BUFFER", "definition": definition}
        parent = "projects/oldest"
        request = {"parent": parent, "schema": schema, "schema_id": "event"}
        name = schemas.create_schema(request=request, timeout=30).name
        for encoding, message in (("JSON", b'{"counts": {"a": "1"}}'), ("BINARY", b"\\x0a\\x00")):
            request = {"parent": parent, "name": name, "message": message, "encoding": encoding}
            schemas.validate_message(request=request, timeout=30)
"""


def main() -> None:
    """Exchange one message with each order of imports; raise CalledProcessError on a failure."""
    print("oldest:", ", ".join(f"{package} {version(package)}" for package in PACKAGES))
    for first, second in (IMPORTS, IMPORTS[::-1]):
        program = "\n".join((first, second, PROGRAM))
        subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
        print(f"passed: {first}; {second}")


if __name__ == "__main__":
    main()
