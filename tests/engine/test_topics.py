"""Topics: made, shown, deleted, made again."""

from __future__ import annotations

import pytest

from emulator.api import pubsub
from emulator.engine.engine import Engine
from tests.engine.story import (
    SUBSCRIPTION,
    TOPIC,
    Refusal,
    Story,
    ack,
    attached,
    create_topic,
    delete_topic,
    invalid,
    nack,
    not_found,
    publish,
    pull,
    refusal_of,
    subscribe,
    topic_of,
    unsubscribe,
)
from tests.spec import spec

KEY = "projects/p/locations/global/keyRings/r/cryptoKeys/k"
NEW = "projects/p/topics/new"


def exists(leaf: str) -> Refusal:
    return Refusal("ALREADY_EXISTS", f"Resource already exists in the project (resource={leaf}).")


def made(given: pubsub.Topic) -> pubsub.Topic:
    """What creating `given` returns, which Get and List then return too."""
    engine = Engine(nonce=b"nonce")
    created = engine.topics.create(given, now=0).value
    assert engine.topics.get(given.name, now=0).value == created
    assert engine.topics.list("projects/p", 0, "", now=0).value == ([created], "")
    return created


@spec("TOP-01", "TOP-02")
def test_a_plain_topic_is_its_name_and_nothing_else() -> None:
    assert made(pubsub.Topic(name=NEW)) == pubsub.Topic(name=NEW)


@spec("TOP-01", "ERR-03")
@pytest.mark.parametrize("given", [pubsub.Topic(), pubsub.Topic(labels={"k": "v"})])
def test_a_name_can_be_taken_once_whatever_the_rest(given: pubsub.Topic) -> None:
    given.name = TOPIC
    engine = Story().engine
    assert refusal_of(lambda: engine.topics.create(given, now=0)) == exists("top")
    assert engine.topics.get(TOPIC, now=0).value == pubsub.Topic(name=TOPIC)


STORED = [
    pubsub.Topic(name=NEW, labels={"k": "v"}),
    pubsub.Topic(name=NEW, kms_key_name=KEY),
    pubsub.Topic(
        name=NEW,
        message_storage_policy={
            "allowed_persistence_regions": ["europe-west1", "europe-west3"],
            "enforce_in_transit": True,
        },
    ),
    pubsub.Topic(
        name=NEW,
        message_transforms=[{"javascript_udf": {"function_name": "f", "code": "c"}}],
    ),
]


@spec("TOP-05", "TOP-06", "TOP-01")
@pytest.mark.parametrize("given", STORED, ids=lambda given: given.ListFields()[1][0].name)
def test_every_field_is_stored_and_shown(given: pubsub.Topic) -> None:
    assert made(given) == given


@spec("TOP-08", "TOP-02", "TAG-01")
def test_output_only_fields_and_tags_are_ignored() -> None:
    given = pubsub.Topic(
        name=NEW,
        state=pubsub.Topic.State.INGESTION_RESOURCE_ERROR,
        satisfies_pzs=True,
        tags={"123/environment": "test"},
    )
    assert made(given) == pubsub.Topic(name=NEW)


@spec("TOP-08")
def test_the_state_of_an_ingestion_source_is_not_the_clients_to_say() -> None:
    Source = pubsub.IngestionDataSourceSettings.ConfluentCloud
    given = pubsub.Topic(name=NEW)
    given.ingestion_data_source_settings.confluent_cloud.state = Source.State.CLUSTER_NOT_FOUND
    shown = made(given).ingestion_data_source_settings.confluent_cloud
    assert shown.state == Source.State.ACTIVE


@spec("TOP-02")
def test_a_topic_with_an_ingestion_source_has_a_state() -> None:
    given = pubsub.Topic(
        name=NEW,
        ingestion_data_source_settings={"cloud_storage": {"bucket": "b", "text_format": {}}},
    )
    assert made(given).state == pubsub.Topic.State.ACTIVE


@spec("TOP-05", "TOP-06")
@pytest.mark.parametrize(
    "given",
    [
        pubsub.Topic(message_storage_policy={}),
        pubsub.Topic(message_storage_policy={"enforce_in_transit": True}),
        pubsub.Topic(kms_key_name="key"),
        pubsub.Topic(kms_key_name=f"{KEY}/cryptoKeyVersions/1"),
        pubsub.Topic(kms_key_name=KEY.replace("global", "")),
    ],
)
def test_bad_values_are_refused(given: pubsub.Topic) -> None:
    given.name = NEW
    engine = Story().engine
    refusal = refusal_of(lambda: engine.topics.create(given, now=0))
    assert refusal is not None
    assert refusal.code == "INVALID_ARGUMENT"
    assert refusal_of(lambda: engine.topics.get(NEW, now=0)) == not_found("new")


def test_what_is_returned_is_a_copy() -> None:
    engine = Story().engine
    engine.topics.get(TOPIC, now=0).value.labels["k"] = "v"
    engine.topics.list("projects/p", 0, "", now=0).value[0][0].labels["k"] = "v"
    given = pubsub.Topic(name=NEW)
    engine.topics.create(given, now=0).value.labels["k"] = "v"
    given.labels["k"] = "v"
    assert engine.topics.get(TOPIC, now=0).value == pubsub.Topic(name=TOPIC)
    assert engine.topics.get(NEW, now=0).value == pubsub.Topic(name=NEW)


@spec("TOP-11", "LST-01", "ERR-02")
def test_a_missing_topic_is_not_found_by_its_leaf() -> None:
    story = Story().play((0, delete_topic("none"), not_found("none")))
    engine = story.engine
    assert refusal_of(lambda: engine.topics.get("projects/q/topics/no-ne", now=0)) == (
        not_found("no-ne")
    )


@spec("TOP-11", "TOP-13")
def test_a_deleted_topic_is_gone_and_its_subscriptions_keep_their_backlogs() -> None:
    Story().play(
        (0, publish("a", "b", "c")),
        (0, pull(1), ["a#1"]),
        (1, delete_topic()),
        (1, delete_topic(), not_found("top")),
        (1, publish("d"), not_found("top")),
        (1, topic_of(), "_deleted-topic_"),
        (1, pull(1), ["b#1"]),
        (1, nack("b#1")),
        (1, pull(), ["c#1", "b#2"]),
        (1, ack("c#1", "b#2")),
        (10, pull(), ["a#2"]),
        (10, ack("a#2")),
        (100, pull(), []),
    )


@spec("TOP-12")
def test_a_topic_made_again_is_another_topic() -> None:
    story = Story().play(
        (0, publish("a")),
        (0, delete_topic()),
        (0, create_topic()),
        (0, topic_of(), "_deleted-topic_"),
        (0, attached(), []),
        (0, publish("b")),
        (0, pull(), ["a#1"]),
        (0, subscribe("two")),
        (0, publish("c")),
        (0, attached(), ["two"]),
        (0, pull(subscription="two"), ["c#1"]),
        (0, pull(), []),
        (0, unsubscribe()),
        (0, attached(), ["two"]),
    )
    assert story.engine.topics.get(TOPIC, now=0).value == pubsub.Topic(name=TOPIC)


@spec("TOP-12")
def test_the_former_topics_config_is_not_taken_over() -> None:
    engine = Engine(nonce=b"nonce")
    engine.topics.create(pubsub.Topic(name=NEW, labels={"k": "v"}), now=0)
    engine.topics.delete(NEW, now=0)
    assert engine.topics.create(pubsub.Topic(name=NEW), now=0).value == pubsub.Topic(name=NEW)


@spec("TOP-11", "NAM-18")
def test_a_subscription_of_a_deleted_topic_can_be_deleted_and_made_on_another() -> None:
    Story().play(
        (0, create_topic("other")),
        (0, delete_topic()),
        (0, subscribe("new"), not_found("top")),
        (0, unsubscribe()),
        (0, subscribe(topic="other")),
        (0, publish("a", topic="other")),
        (0, pull(), ["a#1"]),
    )


@spec("TOP-11", "NAM-18", "ERR-01")
def test_the_placeholder_is_no_topic_to_subscribe_to() -> None:
    engine = Story().engine
    given = pubsub.Subscription(name="projects/p/subscriptions/new", topic="_deleted-topic_")
    refusal = refusal_of(lambda: engine.subscriptions.create(given, now=0))
    assert refusal is not None
    assert refusal.code == "INVALID_ARGUMENT"
    assert "(name=_deleted-topic_)" in refusal.text


@spec("QUO-01")
def test_a_project_has_10000_topics_at_most() -> None:
    engine = Engine(nonce=b"nonce")
    for number in range(10_000):
        engine.topics.create(pubsub.Topic(name=f"projects/p/topics/t{number}x"), now=0)
    expected = invalid("")._replace(
        code="RESOURCE_EXHAUSTED",
        text='Your project has exceeded a limit: (type="topics-per-project", current=10000, '
        "maximum=10000).",
    )
    assert refusal_of(lambda: engine.topics.create(pubsub.Topic(name=NEW), now=0)) == expected
    engine.topics.create(pubsub.Topic(name="projects/q/topics/new"), now=0)
    engine.topics.delete("projects/p/topics/t0x", now=0)
    engine.topics.create(pubsub.Topic(name=NEW), now=0)


@spec("TOP-11")
def test_a_topic_with_a_subscription_in_another_project_can_go() -> None:
    far = "projects/q/subscriptions/far"
    Story().play(
        (0, subscribe(far)),
        (0, publish("a")),
        (0, delete_topic()),
        (0, topic_of(far), "_deleted-topic_"),
        (0, pull(subscription=far), ["a#1"]),
        (10, pull(subscription=far), ["a#2"]),
        (10, pull(subscription=SUBSCRIPTION), ["a#1"]),
    )
