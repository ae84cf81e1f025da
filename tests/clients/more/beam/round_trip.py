"""One message through Apache Beam's direct runner: read, changed, and published again."""

from __future__ import annotations

import time
import uuid

import apache_beam as beam
from apache_beam.io.gcp.pubsub import ReadFromPubSub, WriteToPubSub
from apache_beam.options.pipeline_options import PipelineOptions
from google.cloud import pubsub_v1


def main() -> None:
    project = f"beam-{uuid.uuid4().hex[:12]}"
    publisher, subscriber = pubsub_v1.PublisherClient(), pubsub_v1.SubscriberClient()
    names = {}
    for end in ("source", "sink"):
        topic = publisher.create_topic(name=f"projects/{project}/topics/{end}").name
        subscription = f"projects/{project}/subscriptions/{end}"
        subscriber.create_subscription(name=subscription, topic=topic)
        names[end] = topic, subscription
    publisher.publish(names["source"][0], b"hello").result(30)
    pipeline = beam.Pipeline(
        options=PipelineOptions(streaming=True, runner="BundleBasedDirectRunner")
    )
    _ = (
        pipeline
        | ReadFromPubSub(subscription=names["source"][1])
        | beam.Map(bytes.upper)
        | WriteToPubSub(names["sink"][0])
    )
    running = pipeline.run()
    try:
        limit = time.monotonic() + 60
        while time.monotonic() < limit:
            pulled = subscriber.pull(subscription=names["sink"][1], max_messages=1, timeout=5)
            if pulled.received_messages:
                assert pulled.received_messages[0].message.data == b"HELLO"
                print("received", pulled.received_messages[0].message.data)
                return
        raise AssertionError("nothing came out of the pipeline")
    finally:
        running.cancel()
        subscriber.close()


if __name__ == "__main__":
    main()
