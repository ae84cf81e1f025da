"""What is not built is refused by name; what is only stored is shown, with one warning."""

from __future__ import annotations

import logging

import grpc
import pytest
from google.protobuf.message import Message

from emulator.api import pubsub
from emulator.service import features
from emulator.service.features import REFUSED, STORED, Feature
from emulator.service.rpcs import RPCS
from tests.spec import spec
from tests.wire import Names, Wire, refusal

_BY_METHOD = {(rpc.service, rpc.name): rpc for rpc in RPCS}
_RESOURCES = {
    "google.pubsub.v1.Topic": pubsub.Topic,
    "google.pubsub.v1.Subscription": pubsub.Subscription,
}
METHODS = [feature for feature in REFUSED if (feature.where, feature.what) in _BY_METHOD]
FIELDS = [feature for feature in REFUSED if feature not in METHODS]


def title(feature: Feature) -> str:
    return f"{feature.where.rpartition('.')[2]}.{feature.what}: {feature.name}"


def resource(feature: Feature, wire: Wire, names: Names) -> Message:
    """A resource of the feature's kind that could be created."""
    if feature.where == "google.pubsub.v1.Topic":
        return pubsub.Topic(name=names.topic())
    wire.create(names.topic())
    return pubsub.Subscription(name=names.subscription(), topic=names.topic())


def create(wire: Wire, given: Message) -> Message:
    kind = given.DESCRIPTOR.name
    created: Message = wire(f"Create{kind}", given)
    return created


def fetch(wire: Wire, given: Message) -> Message:
    name = given.name  # type: ignore[attr-defined]
    if given.DESCRIPTOR.name == "Topic":
        found: Message = wire("GetTopic", pubsub.GetTopicRequest(topic=name))
    else:
        found = wire("GetSubscription", pubsub.GetSubscriptionRequest(subscription=name))
    return found


def set_field(message: Message, path: str) -> None:
    """Set the field to something that is not its default."""
    first, _, rest = path.partition(".")
    field = message.DESCRIPTOR.fields_by_name[first]
    if field.message_type is not None:
        value = getattr(message, first)
        value.SetInParent()
        if rest:
            set_field(value, rest)
    else:
        setattr(message, first, True if field.type == field.TYPE_BOOL else "x")


def test_every_refused_feature_is_a_method_or_a_field(capsys: pytest.CaptureFixture[str]) -> None:
    print("\n".join(title(feature) for feature in REFUSED))
    assert {feature.where for feature in FIELDS} <= set(_RESOURCES)
    assert len(capsys.readouterr().out.splitlines()) == len(METHODS) + len(FIELDS) == len(REFUSED)


@pytest.mark.parametrize("feature", METHODS, ids=title)
def test_methods_are_refused(feature: Feature, wire: Wire) -> None:
    rpc = _BY_METHOD[feature.where, feature.what]
    if rpc.is_streaming:
        method = wire.channel.stream_stream(rpc.path)
        error = refusal(lambda: list(method(iter([b""]), timeout=30)))
    else:
        error = refusal(lambda: wire.raw(rpc.path, b""))
    assert error.code() is grpc.StatusCode.UNIMPLEMENTED
    assert error.details() == features.refusal(feature).message
    assert feature.name in error.details()


@pytest.mark.parametrize("feature", FIELDS, ids=title)
def test_fields_are_refused_and_nothing_is_created(
    feature: Feature, wire: Wire, names: Names
) -> None:
    given = resource(feature, wire, names)
    set_field(given, feature.what)
    error = refusal(lambda: create(wire, given))
    assert error.code() is grpc.StatusCode.UNIMPLEMENTED
    assert error.details() == features.refusal(feature).message
    assert feature.name in error.details()
    assert refusal(lambda: fetch(wire, given)).code() is grpc.StatusCode.NOT_FOUND


_KMS_KEY = "projects/p/locations/l/keyRings/r/cryptoKeys/k"
_UDF = pubsub.JavaScriptUDF(function_name="f", code="function f(m, metadata) { return m; }")
_TRANSFORMS = [pubsub.MessageTransform(javascript_udf=_UDF)]
#: Resource and field -> a value that the service would take.
_VALUES = {
    ("Topic", "kms_key_name"): _KMS_KEY,
    ("Topic", "message_storage_policy"): pubsub.MessageStoragePolicy(
        allowed_persistence_regions=["europe-west1"], enforce_in_transit=True
    ),
    ("Topic", "ingestion_data_source_settings"): pubsub.IngestionDataSourceSettings(
        aws_kinesis=pubsub.IngestionDataSourceSettings.AwsKinesis(
            state=pubsub.IngestionDataSourceSettings.AwsKinesis.State.ACTIVE,
            stream_arn="arn:aws:kinesis:us-east-1:1:stream/s",
            consumer_arn="arn:aws:kinesis:us-east-1:1:stream/s/consumer/c:1",
            aws_role_arn="arn:aws:iam::1:role/r",
            gcp_service_account="a@p.iam.gserviceaccount.com",
        )
    ),
    ("Topic", "message_transforms"): _TRANSFORMS,
    ("Topic", "tags"): {"123/environment": "test"},
    ("Subscription", "bigquery_config"): pubsub.BigQueryConfig(
        table="p.d.t", write_metadata=True, state=pubsub.BigQueryConfig.State.ACTIVE
    ),
    ("Subscription", "bigtable_config"): pubsub.BigtableConfig(
        table="projects/p/instances/i/tables/t", state=pubsub.BigtableConfig.State.ACTIVE
    ),
    ("Subscription", "cloud_storage_config"): pubsub.CloudStorageConfig(
        bucket="bucket",
        avro_config=pubsub.CloudStorageConfig.AvroConfig(write_metadata=True),
        max_duration={"seconds": 60},
        state=pubsub.CloudStorageConfig.State.ACTIVE,
    ),
    ("Subscription", "message_transforms"): _TRANSFORMS,
    ("Subscription", "tags"): {"123/environment": "test"},
}


@spec("TAG-01", "TOP-05", "TOP-06")
@pytest.mark.parametrize("feature", STORED, ids=title)
def test_stored_features_are_shown_with_one_warning(
    feature: Feature, wire: Wire, names: Names, caplog: pytest.LogCaptureFixture
) -> None:
    given = resource(feature, wire, names)
    value = _VALUES[given.DESCRIPTOR.name, feature.what]
    given.MergeFrom(type(given)(**{feature.what: value}))
    with caplog.at_level(logging.WARNING, "emulator"):
        created = create(wire, given)
    [record] = caplog.records
    assert (record.levelno, record.name) == (logging.WARNING, "emulator")
    assert feature.what in record.getMessage()
    assert given.name in record.getMessage()  # type: ignore[attr-defined]
    shown, sent = (getattr(each, feature.what) for each in (fetch(wire, given), given))
    assert shown == getattr(created, feature.what)
    if feature.what == "tags":
        assert not shown  # TAG-01: input only
    else:
        assert shown == sent


@spec("TAG-01")
def test_tags_are_in_no_list_either(wire: Wire, names: Names) -> None:
    tags = {"123/environment": "test"}
    wire("CreateTopic", pubsub.Topic(name=names.topic(), tags=tags))
    subscription = pubsub.Subscription(name=names.subscription(), topic=names.topic(), tags=tags)
    wire("CreateSubscription", subscription)
    project = f"projects/{names.project}"
    [topic] = wire("ListTopics", pubsub.ListTopicsRequest(project=project)).topics
    found = wire("ListSubscriptions", pubsub.ListSubscriptionsRequest(project=project))
    [subscription] = found.subscriptions
    assert (topic.name, dict(topic.tags)) == (names.topic(), {})
    assert (subscription.name, dict(subscription.tags)) == (names.subscription(), {})
