"""Updates by field mask of topics and subscriptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from emulator.api import pubsub, schema
from emulator.engine.delivery.outcome import Ended
from emulator.engine.engine import Engine
from emulator.schemas.avro.schema import AvroSchema
from tests.engine.story import (
    SUBSCRIPTION,
    TOPIC,
    Refusal,
    Story,
    invalid,
    not_found,
    publish,
    pull,
    refusal_of,
)
from tests.spec import spec

Topic = pubsub.Topic
Subscription = pubsub.Subscription
EMPTY = (
    "The update_mask in the Update{}Request must be set, and must contain a non-empty paths list."
)
UNKNOWN = (
    "Invalid update_mask provided in the Update{0}Request: '{1}' is not a known {0} field. Note "
    "that field paths must be of the form '{2}' rather than '{3}'."
)
IMMUTABLE = (
    "Invalid update_mask provided in the Update{0}Request: the '{1}' field in the {0} is not "
    "mutable."
)
HINTS = {
    "Topic": ("schema_settings", "schemaSettings"),
    "Subscription": ("push_config", "pushConfig"),
}


def update(engine: Engine, kind: str, paths: list[str], **fields: Any) -> Any:
    """Update `top` or `sub`; return what the operation returned."""
    if kind == "Topic":
        return engine.topics.update(Topic(name=TOPIC, **fields), paths, now=0).value
    given = Subscription(name=SUBSCRIPTION, **fields)
    return engine.subscriptions.update(given, paths, now=0).value


def current(engine: Engine, kind: str) -> Any:
    if kind == "Topic":
        return engine.topics.get(TOPIC, now=0).value
    return engine.subscriptions.get(SUBSCRIPTION, now=0).value


KINDS = pytest.mark.parametrize("kind", ["Topic", "Subscription"])


# --- masks ---


@spec("UPD-01", "ERR-25")
@KINDS
def test_a_mask_must_name_something(kind: str) -> None:
    engine = Story(expiration_policy=None).engine
    refusal = refusal_of(lambda: update(engine, kind, [], labels={"a": "b"}))
    assert refusal == invalid(EMPTY.format(kind))


@spec("UPD-04", "UPD-03", "ERR-26")
@KINDS
@pytest.mark.parametrize(
    "path", ["nothing", "", "pushConfig", "labels.a", "name.x", "*", "ack_deadline_seconds.x"]
)
def test_an_unknown_path_is_refused(kind: str, path: str) -> None:
    engine = Story(expiration_policy=None).engine
    refusal = refusal_of(lambda: update(engine, kind, [path]))
    assert refusal == invalid(UNKNOWN.format(kind, path, *HINTS[kind]))


IMMUTABLES = [
    *(("Topic", path) for path in ("name", "tags", "state", "satisfies_pzs")),
    *(
        ("Subscription", path)
        for path in (
            *("name", "topic", "enable_message_ordering", "filter", "detached", "tags", "state"),
            *("topic_message_retention_duration", "analytics_hub_subscription_info"),
            "analytics_hub_subscription_info.listing",
        )
    ),
]


@spec("UPD-04", "UPD-05", "UPD-06", "TAG-01", "TOP-08", "SUB-16", "ERR-27")
@pytest.mark.parametrize(("kind", "path"), IMMUTABLES)
def test_an_immutable_path_is_refused(kind: str, path: str) -> None:
    engine = Story(expiration_policy=None).engine
    refusal = refusal_of(lambda: update(engine, kind, [path]))
    assert refusal == invalid(IMMUTABLE.format(kind, path))


@spec("UPD-01", "ERR-01", "ERR-02")
def test_what_is_updated_must_exist() -> None:
    engine = Story(expiration_policy=None).engine
    topic = Topic(name="projects/p/topics/nothing")
    refusal = refusal_of(lambda: engine.topics.update(topic, ["labels"], now=0))
    assert refusal == not_found("nothing")
    given = Subscription(name="projects/p/subscriptions/nothing")
    refusal = refusal_of(lambda: engine.subscriptions.update(given, ["labels"], now=0))
    assert refusal == not_found("nothing")
    refusal = refusal_of(lambda: engine.topics.update(Topic(name="x"), ["labels"], now=0))
    assert refusal is not None
    assert refusal.text.startswith("Invalid resource name given (name=x).")


# --- fields ---

_UDF = pubsub.JavaScriptUDF(function_name="f", code="function f(m, metadata) { return m; }")
KMS_KEY = "projects/p/locations/l/keyRings/r/cryptoKeys/k"
TOPIC_VALUES: dict[str, Any] = {
    "labels": {"a": "b"},
    "message_storage_policy": {"allowed_persistence_regions": ["europe-west1"]},
    "kms_key_name": KMS_KEY,
    "schema_settings": {"schema": "projects/p/schemas/schema"},
    "message_retention_duration": {"seconds": 3_600},
    "ingestion_data_source_settings": {"aws_kinesis": {"stream_arn": "arn", "state": "ACTIVE"}},
    "message_transforms": [{"javascript_udf": _UDF}],
}
SUBSCRIPTION_VALUES: dict[str, Any] = {
    "push_config": {"push_endpoint": "https://example.com/"},
    "bigquery_config": {"table": "p.d.t", "state": "ACTIVE"},
    "bigtable_config": {"table": "projects/p/instances/i/tables/t", "state": "ACTIVE"},
    "cloud_storage_config": {
        "bucket": "bucket",
        "text_config": {},
        "max_duration": {"seconds": 60},
        "state": "ACTIVE",
    },
    "ack_deadline_seconds": 42,
    "retain_acked_messages": True,
    "message_retention_duration": {"seconds": 3_600},
    "labels": {"a": "b"},
    "expiration_policy": {"ttl": {"seconds": 864_000}},
    "dead_letter_policy": {"dead_letter_topic": TOPIC, "max_delivery_attempts": 7},
    "retry_policy": {"minimum_backoff": {"seconds": 1}, "maximum_backoff": {"seconds": 2}},
    "enable_exactly_once_delivery": True,
    "message_transforms": [{"javascript_udf": _UDF}],
}
FIELDS = [
    *(("Topic", field) for field in TOPIC_VALUES),
    *(("Subscription", field) for field in SUBSCRIPTION_VALUES),
]
VALUES = {"Topic": TOPIC_VALUES, "Subscription": SUBSCRIPTION_VALUES}
MESSAGES = {"Topic": Topic, "Subscription": Subscription}


@spec("UPD-01", "UPD-02", "UPD-05", "UPD-06", "UPD-08", "UPD-11")
@pytest.mark.parametrize(("kind", "field"), FIELDS)
def test_a_field_is_set_alone_and_reset_alone(kind: str, field: str) -> None:
    engine = Story(expiration_policy=None).engine
    text = schema.Schema(type="AVRO", definition='"string"')
    engine.schemas.create("projects/p", "schema", text, AvroSchema(text.definition), now=0)
    plain = current(engine, kind)
    value = getattr(MESSAGES[kind](**{field: VALUES[kind][field]}), field)
    # Whatever else is given does not count: only the mask does.
    others = {"labels": {"other": "label"}, field: VALUES[kind][field]}
    updated = update(engine, kind, [field], **others)
    assert updated == current(engine, kind)
    assert getattr(updated, field) == value
    assert field == "labels" or updated.labels == plain.labels
    assert update(engine, kind, [field]) == plain
    assert current(engine, kind) == plain


@spec("UPD-08")
@KINDS
def test_labels_are_replaced_as_a_whole(kind: str) -> None:
    engine = Story(expiration_policy=None).engine
    update(engine, kind, ["labels"], labels={"a": "1", "b": "1"})
    updated = update(engine, kind, ["labels"], labels={"b": "2", "c": "2"})
    assert dict(updated.labels) == {"b": "2", "c": "2"}
    assert dict(update(engine, kind, ["labels"]).labels) == {}


@spec("UPD-02", "SUB-04", "SUB-05", "SUB-06", "SUB-07")
def test_the_defaults_come_back() -> None:
    engine = Story(expiration_policy=None).engine
    paths = ["ack_deadline_seconds", "message_retention_duration", "expiration_policy"]
    update(
        engine,
        "Subscription",
        paths,
        ack_deadline_seconds=42,
        message_retention_duration={"seconds": 600},
        expiration_policy={},
    )
    assert not current(engine, "Subscription").expiration_policy.HasField("ttl")
    updated = update(engine, "Subscription", paths)
    assert updated.ack_deadline_seconds == 10
    assert updated.message_retention_duration.seconds == 604_800
    assert updated.expiration_policy.ttl.seconds == 2_678_400


@spec("UPD-10")
def test_sub_paths_change_a_part() -> None:
    engine = Story(expiration_policy=None).engine
    whole = {"bucket": "one", "filename_prefix": "one"}
    update(engine, "Subscription", ["cloud_storage_config"], cloud_storage_config=whole)
    path = "cloud_storage_config.filename_prefix"
    other = {"bucket": "two", "filename_prefix": "two"}
    config = update(engine, "Subscription", [path], cloud_storage_config=other).cloud_storage_config
    assert (config.bucket, config.filename_prefix) == ("one", "two")
    config = update(engine, "Subscription", [path]).cloud_storage_config
    assert (config.bucket, config.filename_prefix) == ("one", "")


@spec("UPD-10")
@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("push_config.push_endpoint", {"push_config": {"push_endpoint": "https://example.com/"}}),
        ("expiration_policy.ttl", {"expiration_policy": {"ttl": {"seconds": 864_000}}}),
        ("bigquery_config.table", {"bigquery_config": {"table": "p.d.t"}}),
        ("cloud_storage_config.bucket", {"cloud_storage_config": {"bucket": "bucket"}}),
    ],
)
def test_sub_paths_reach_into_messages(path: str, fields: dict[str, Any]) -> None:
    updated = update(Story(expiration_policy=None).engine, "Subscription", [path], **fields)
    first, _, second = path.partition(".")
    wanted = getattr(getattr(Subscription(**fields), first), second)
    assert getattr(getattr(updated, first), second) == wanted


@spec("UPD-10")
def test_a_sub_path_of_nothing_makes_nothing() -> None:
    engine = Story(expiration_policy=None).engine
    before = current(engine, "Subscription")
    assert update(engine, "Subscription", ["cloud_storage_config.bucket"]) == before


# --- refusals change nothing ---

BAD_VALUES: list[tuple[str, list[str], dict[str, Any]]] = [
    ("Topic", ["labels", "nothing"], {"labels": {"a": "b"}}),
    ("Topic", ["labels", "name"], {"labels": {"a": "b"}}),
    ("Topic", ["kms_key_name", "labels"], {"kms_key_name": KMS_KEY, "labels": {"A": "b"}}),
    ("Topic", ["labels", "kms_key_name"], {"labels": {"a": "b"}, "kms_key_name": "k"}),
    ("Topic", ["labels", "message_storage_policy"], {"message_storage_policy": {}}),
    ("Subscription", ["labels", "topic"], {"labels": {"a": "b"}}),
    ("Subscription", ["labels", "ack_deadline_seconds"],
     {"labels": {"a": "b"}, "ack_deadline_seconds": 9}),
    ("Subscription", ["labels", "ack_deadline_seconds"],
     {"labels": {"a": "b"}, "ack_deadline_seconds": 601}),
    ("Subscription", ["ack_deadline_seconds", "message_retention_duration"],
     {"ack_deadline_seconds": 42, "message_retention_duration": {"seconds": 599}}),
    ("Subscription", ["ack_deadline_seconds", "expiration_policy"],
     {"ack_deadline_seconds": 42, "expiration_policy": {"ttl": {"seconds": 86_399}}}),
    # SUB-06: it may not be shorter than the retention, which is seven days here.
    ("Subscription", ["expiration_policy"], {"expiration_policy": {"ttl": {"seconds": 86_400}}}),
    ("Subscription", ["bigquery_config", "bigtable_config"],
     {"bigquery_config": {"table": "t"}, "bigtable_config": {"table": "t"}}),
]  # fmt: skip


@spec("UPD-09", "SUB-03", "SUB-06", "LBL-01", "LBL-02", "ERR-10", "ERR-22", "ERR-23")
@pytest.mark.parametrize(("kind", "paths", "fields"), BAD_VALUES)
def test_one_bad_value_leaves_everything_as_it_was(
    kind: str, paths: list[str], fields: dict[str, Any]
) -> None:
    engine = Story(expiration_policy=None).engine
    before = current(engine, kind)
    refusal = refusal_of(lambda: update(engine, kind, paths, **fields))
    assert isinstance(refusal, Refusal)
    assert refusal.code == "INVALID_ARGUMENT"
    assert current(engine, kind) == before


@spec("UPD-01")
@KINDS
def test_what_an_update_returns_and_takes_is_a_copy(kind: str) -> None:
    engine = Story(expiration_policy=None).engine
    update(engine, kind, ["labels"], labels={"a": "b"}).labels["c"] = "d"
    assert dict(current(engine, kind).labels) == {"a": "b"}


# --- what updates bring about ---


def switch(engine: Engine, **fields: Any) -> tuple[object, ...]:
    given = Subscription(name=SUBSCRIPTION, **fields)
    paths = list(fields) or ["bigquery_config"]
    return engine.subscriptions.update(given, paths, now=0).effects


@spec("UPD-06", "STR-13", "PUL-04", "ERR-40")
def test_a_switch_to_an_export_ends_consumers_and_keeps_the_backlog() -> None:
    story = Story().play((0, publish("a")))
    [effect] = switch(story.engine, bigquery_config={"table": "p.d.t"})
    assert isinstance(effect, Ended)
    assert (effect.subscription, effect.error.code.name) == (SUBSCRIPTION, "FAILED_PRECONDITION")
    assert switch(story.engine, bigquery_config={"table": "p.d.other"}) == ()
    unsupported = "This method is not supported for this subscription type."
    story.play(
        (0, publish("b")),
        (0, pull(), Refusal("FAILED_PRECONDITION", unsupported)),
    )
    assert switch(story.engine) == ()
    story.play((0, pull(), ["a#1", "b#1"]))


@spec("DLV-20", "SUB-04")
def test_a_new_ack_deadline_holds_for_later_leases() -> None:
    def set_deadline(seconds: int) -> Callable[[Story], None]:
        def command(story: Story) -> None:
            given = Subscription(name=SUBSCRIPTION, ack_deadline_seconds=seconds)
            story.engine.subscriptions.update(given, ["ack_deadline_seconds"], now=story.now)

        return command

    Story().play(
        (0, publish("a", "b")),
        (0, pull(1), ["a#1"]),
        (0, set_deadline(30)),
        (0, pull(1), ["b#1"]),
        (10, pull(), ["a#2"]),
        (29, pull(), []),
        (30, pull(), ["b#2"]),
        (40, pull(), ["a#3"]),
    )
