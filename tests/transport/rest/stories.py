"""Requests, good and bad, each of which both faces must answer alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulator.api import iam, pubsub, schema, wkt
from tests.transport.rest.faces import Side, Step

LONG = "x" * 256
#: Leaves that are one segment of a path and no name.
BAD_LEAVES = ("ab", "1abc", "goog-x", "GOOGle", "a b c", "tópico", LONG, "abc$", "-abc")
MISSING = "missing"


def mask(*paths: str) -> wkt.FieldMask:
    return wkt.FieldMask(paths=paths)


def message(data: bytes = b"x", **more: Any) -> pubsub.PubsubMessage:
    return pubsub.PubsubMessage(data=data, **more)


def create_topic(leaf: str = "topic", **fields: Any) -> Step:
    return "CreateTopic", lambda side: pubsub.Topic(name=side.topic(leaf), **fields)


def create(leaf: str = "subscription", *, of: str = "topic", **fields: Any) -> Step:
    return "CreateSubscription", lambda side: pubsub.Subscription(
        name=side.subscription(leaf), topic=side.topic(of), **fields
    )


def publish(*messages: pubsub.PubsubMessage, to: str = "topic") -> Step:
    return "Publish", lambda side: pubsub.PublishRequest(topic=side.topic(to), messages=messages)


def pull(limit: int = 10, *, of: str = "subscription") -> Step:
    return "Pull", lambda side: pubsub.PullRequest(
        subscription=side.subscription(of), max_messages=limit, return_immediately=True
    )


def acknowledge(ids: Callable[[Side], list[str]], *, of: str = "subscription") -> Step:
    return "Acknowledge", lambda side: pubsub.AcknowledgeRequest(
        subscription=side.subscription(of), ack_ids=ids(side)
    )


def modify(seconds: int, ids: Callable[[Side], list[str]], *, of: str = "subscription") -> Step:
    return "ModifyAckDeadline", lambda side: pubsub.ModifyAckDeadlineRequest(
        subscription=side.subscription(of), ack_ids=ids(side), ack_deadline_seconds=seconds
    )


def get(leaf: str = "subscription") -> Step:
    return "GetSubscription", lambda side: pubsub.GetSubscriptionRequest(
        subscription=side.subscription(leaf)
    )


def get_topic(leaf: str = "topic") -> Step:
    return "GetTopic", lambda side: pubsub.GetTopicRequest(topic=side.topic(leaf))


def update_topic(*paths: str, leaf: str = "topic", **fields: Any) -> Step:
    return "UpdateTopic", lambda side: pubsub.UpdateTopicRequest(
        topic=pubsub.Topic(name=side.topic(leaf), **fields), update_mask=mask(*paths)
    )


def update(*paths: str, leaf: str = "subscription", **fields: Any) -> Step:
    return "UpdateSubscription", lambda side: pubsub.UpdateSubscriptionRequest(
        subscription=pubsub.Subscription(name=side.subscription(leaf), **fields),
        update_mask=mask(*paths),
    )


def list_topics(size: int = 0, token: str | None = "") -> Step:
    """No token: the one that came last."""
    return "ListTopics", lambda side: pubsub.ListTopicsRequest(
        project=f"projects/{side.project}",
        page_size=size,
        page_token=side.page_token if token is None else token,
    )


def list_subscriptions(size: int = 0, token: str | None = "") -> Step:
    return "ListSubscriptions", lambda side: pubsub.ListSubscriptionsRequest(
        project=f"projects/{side.project}",
        page_size=size,
        page_token=side.page_token if token is None else token,
    )


def of_topic(method: str, request: type, leaf: str = "topic", **fields: Any) -> Step:
    return method, lambda side: request(topic=side.topic(leaf), **fields)


def of_subscription(method: str, request: type, leaf: str = "subscription", **fields: Any) -> Step:
    return method, lambda side: request(subscription=side.subscription(leaf), **fields)


def detach(leaf: str = "subscription") -> Step:
    return of_subscription("DetachSubscription", pubsub.DetachSubscriptionRequest, leaf)


def policy(method: str, request: type, leaf: str = "topic", **fields: Any) -> Step:
    return method, lambda side: request(resource=side.topic(leaf), **fields)


def everything_named(leaf: str) -> list[Step]:
    """Each RPC that names a resource, with a resource of that name."""
    policy_requests = {
        "GetIamPolicy": iam.GetIamPolicyRequest,
        "SetIamPolicy": iam.SetIamPolicyRequest,
        "TestIamPermissions": iam.TestIamPermissionsRequest,
    }
    return [
        get_topic(leaf),
        update_topic("labels", leaf=leaf),
        publish(message(), to=leaf),
        of_topic("ListTopicSubscriptions", pubsub.ListTopicSubscriptionsRequest, leaf),
        of_topic("ListTopicSnapshots", pubsub.ListTopicSnapshotsRequest, leaf),
        of_topic("DeleteTopic", pubsub.DeleteTopicRequest, leaf),
        get(leaf),
        update("labels", leaf=leaf),
        pull(of=leaf),
        acknowledge(lambda side: ["a"], of=leaf),
        modify(10, lambda side: ["a"], of=leaf),
        of_subscription("ModifyPushConfig", pubsub.ModifyPushConfigRequest, leaf),
        of_subscription("Seek", pubsub.SeekRequest, leaf, time=wkt.Timestamp(seconds=1)),
        of_subscription("DeleteSubscription", pubsub.DeleteSubscriptionRequest, leaf),
        detach(leaf),
        ("GetSnapshot", lambda side: pubsub.GetSnapshotRequest(snapshot=side.snapshot(leaf))),
        ("DeleteSnapshot", lambda side: pubsub.DeleteSnapshotRequest(snapshot=side.snapshot(leaf))),
        (
            "UpdateSnapshot",
            lambda side: pubsub.UpdateSnapshotRequest(
                snapshot=pubsub.Snapshot(name=side.snapshot(leaf)), update_mask=mask("labels")
            ),
        ),
        ("GetSchema", lambda side: schema.GetSchemaRequest(name=side.schema(leaf))),
        ("DeleteSchema", lambda side: schema.DeleteSchemaRequest(name=side.schema(leaf))),
        *(policy(method, request, leaf) for method, request in policy_requests.items()),
    ]


def ids_of_last_pull(side: Side) -> list[str]:
    return side.ack_ids


DAY = 86_400
NO_IDS: Callable[[Side], list[str]] = lambda side: []  # noqa: E731 - one of many like it

STORIES: dict[str, list[Step]] = {
    "topics": [
        create_topic(),
        create_topic(),
        create_topic("other", labels={"a": "b", "c": ""}),
        create_topic("kms", kms_key_name="projects/p/locations/l/keyRings/r/cryptoKeys/k"),
        create_topic("kms2", kms_key_name="nonsense"),
        create_topic("stored", message_storage_policy=pubsub.MessageStoragePolicy(
            allowed_persistence_regions=["europe-west1"], enforce_in_transit=True)),
        create_topic("none", message_storage_policy=pubsub.MessageStoragePolicy()),
        create_topic("tagged", tags={"123/environment": "test"}),
        create_topic("out", satisfies_pzs=True, state=pubsub.Topic.ACTIVE),
        create_topic("retained", message_retention_duration=wkt.Duration(seconds=600)),
        create_topic("short", message_retention_duration=wkt.Duration(seconds=599)),
        create_topic("schema",
                     schema_settings=pubsub.SchemaSettings(schema="projects/p/schemas/s")),
        get_topic(),
        get_topic("other"),
        get_topic("stored"),
        list_topics(),
        of_topic("DeleteTopic", pubsub.DeleteTopicRequest),
        of_topic("DeleteTopic", pubsub.DeleteTopicRequest),
        list_topics(),
        create_topic(),
    ],
    "labels": [
        create_topic(f"topic{number}", labels=labels)
        for number, labels in enumerate((
            {}, {"a": "b"}, {"A": "b"}, {"a": "B"}, {"1": ""}, {"": ""}, {"ab-c_1": "1-_x"},
            {"é": "é"}, {"a" * 63: "b" * 63}, {"a" * 64: ""}, {"a": "b" * 64}, {"a b": ""},
            {f"k{n}": "" for n in range(64)}, {f"k{n}": "" for n in range(65)},
        ))
    ],
    "updated topics": [
        create_topic(labels={"a": "b"}),
        update_topic("labels", labels={"c": "d"}),
        update_topic("labels"),
        update_topic(),
        update_topic("nope"),
        update_topic("name"),
        update_topic("tags", tags={"1/a": "b"}),
        update_topic("labels", labels={"A": ""}),
        update_topic("labels", "kms_key_name", labels={"x": ""}, kms_key_name="bad"),
        update_topic("message_storage_policy", message_storage_policy=pubsub.MessageStoragePolicy(
            allowed_persistence_regions=["us-east1"])),
        update_topic("message_storage_policy.enforce_in_transit"),
        update_topic("message_retention_duration",
                     message_retention_duration=wkt.Duration(seconds=1)),
        update_topic("schema_settings.first_revision_id"),
        get_topic(),
    ],
    "subscriptions": [
        create_topic(),
        create(),
        create(),
        create("second", of=MISSING),
        create("third", of="ab"),
        create("labelled", labels={"a": "b"}),
        create("deadline", ack_deadline_seconds=600),
        *(create(f"bad{seconds}", ack_deadline_seconds=seconds) for seconds in (9, 601, -1, 1)),
        create("kept", message_retention_duration=wkt.Duration(seconds=600, nanos=500_000_000)),
        *(create(f"short{n}", message_retention_duration=duration) for n, duration in enumerate((
            wkt.Duration(seconds=599), wkt.Duration(seconds=599, nanos=500_000_000),
            wkt.Duration(seconds=2_678_401), wkt.Duration(seconds=-1),
        ))),
        create("never", expiration_policy=pubsub.ExpirationPolicy()),
        create("day", expiration_policy=pubsub.ExpirationPolicy(ttl=wkt.Duration(seconds=DAY))),
        create("hour", expiration_policy=pubsub.ExpirationPolicy(ttl=wkt.Duration(seconds=3_600))),
        create("long", expiration_policy=pubsub.ExpirationPolicy(ttl=wkt.Duration(seconds=DAY)),
               message_retention_duration=wkt.Duration(seconds=2 * DAY)),
        create("filtered", filter="attributes:x"),
        create("unfiltered", filter="nonsense ="),
        create("ordered", enable_message_ordering=True),
        create("exact", enable_exactly_once_delivery=True),
        create("retaining", retain_acked_messages=True),
        create("retry", retry_policy=pubsub.RetryPolicy(minimum_backoff=wkt.Duration(seconds=1))),
        create("dead", dead_letter_policy=pubsub.DeadLetterPolicy(max_delivery_attempts=4)),
        create("push", push_config=pubsub.PushConfig(push_endpoint="http://127.0.0.1:1/x")),
        create("table", bigquery_config=pubsub.BigQueryConfig(table="p.d.t")),
        create("two", bigquery_config=pubsub.BigQueryConfig(table="p.d.t"),
               cloud_storage_config=pubsub.CloudStorageConfig(bucket="b", max_bytes=2**40)),
        create("out", detached=True, state=pubsub.Subscription.RESOURCE_ERROR),
        *(get(leaf) for leaf in ("subscription", "labelled", "kept", "never", "day", "table")),
        list_subscriptions(),
        of_topic("ListTopicSubscriptions", pubsub.ListTopicSubscriptionsRequest),
        of_subscription("DeleteSubscription", pubsub.DeleteSubscriptionRequest),
        of_subscription("DeleteSubscription", pubsub.DeleteSubscriptionRequest),
        of_topic("DeleteTopic", pubsub.DeleteTopicRequest),
        get("labelled"),
        list_subscriptions(),
        update("labels", leaf="labelled", labels={"x": "y"}),
    ],
    "updated subscriptions": [
        create_topic(),
        create(labels={"a": "b"}, ack_deadline_seconds=20),
        update("ack_deadline_seconds", ack_deadline_seconds=30),
        update("ack_deadline_seconds"),
        update("ack_deadline_seconds", ack_deadline_seconds=5),
        update("labels", "message_retention_duration"),
        update("expiration_policy", expiration_policy=pubsub.ExpirationPolicy()),
        update("expiration_policy.ttl",
               expiration_policy=pubsub.ExpirationPolicy(ttl=wkt.Duration(seconds=10 * DAY))),
        update("expiration_policy"),
        update(),
        update("nope"),
        update("push_config.nope"),
        update("topic"),
        update("filter", filter="attributes:x"),
        update("enable_message_ordering"),
        update("name"),
        update("detached"),
        update("push_config"),
        update("retry_policy", retry_policy=pubsub.RetryPolicy()),
        get(),
    ],
    "publish": [
        create_topic(),
        publish(message()),
        publish(message(b"", attributes={"a": ""})),
        publish(message(bytes(range(256)), attributes={"é": "ü😀"}, ordering_key="k")),
        publish(message(message_id="mine", publish_time=wkt.Timestamp(seconds=5))),
        publish(*(message(b"%d" % number) for number in range(1_000))),
        publish(),
        publish(message(b"")),
        publish(message(), message(b"", ordering_key="k")),
        publish(*(message(b"x") for _ in range(1_001))),
        publish(message(attributes={"a" * 256: "b" * 1_024})),
        publish(message(attributes={"a" * 257: ""})),
        publish(message(attributes={"a": "b" * 1_025})),
        publish(message(attributes={"é" * 129: ""})),
        publish(message(attributes={"": "x"})),
        publish(message(attributes={"googleX": "x"})),
        publish(message(attributes={"googclient_traceparent": "x"})),
        publish(message(attributes={f"k{n}": "" for n in range(100)})),
        publish(message(attributes={f"k{n}": "" for n in range(101)})),
        publish(message(ordering_key="k" * 1_024)),
        publish(message(ordering_key="k" * 1_025)),
        publish(message(ordering_key="a"), message(ordering_key="b")),
        publish(message(), to=MISSING),
        publish(to=MISSING),
        publish(to="ab"),
    ],
    "leases": [
        create_topic(),
        create(ack_deadline_seconds=600),
        pull(),
        publish(message(b"a", attributes={"k": "v"}), message(b"b"), message(b"")),
        publish(message(b"a", attributes={"k": "v"}), message(b"b"),
                message(b"c", ordering_key="o")),
        pull(2),
        pull(),
        modify(0, ids_of_last_pull),
        pull(),
        modify(60, ids_of_last_pull),
        modify(601, ids_of_last_pull),
        modify(-1, ids_of_last_pull),
        modify(10, NO_IDS),
        modify(10, lambda side: ["nonsense"]),
        acknowledge(NO_IDS),
        acknowledge(lambda side: ["nonsense"]),
        acknowledge(lambda side: [""]),
        acknowledge(lambda side: [*side.ack_ids, "nonsense"]),
        acknowledge(ids_of_last_pull),
        acknowledge(ids_of_last_pull),
        modify(0, ids_of_last_pull),
        pull(),
        pull(0),
        pull(-1),
        pull(2**31 - 1),
        create("second"),
        acknowledge(ids_of_last_pull, of="second"),
        detach(),
        detach(),
        pull(),
        get(),
        update("labels", labels={"a": "b"}),
        of_topic("ListTopicSubscriptions", pubsub.ListTopicSubscriptionsRequest),
    ],
    "lists": [
        *(create_topic(f"topic{number}", labels={"n": str(number)}) for number in range(5)),
        *(create(f"subscription{number}", of="topic0") for number in range(5)),
        list_topics(2),
        list_topics(2, None),
        list_topics(2, None),
        list_topics(1_000),
        list_topics(1_001),
        list_topics(-1),
        list_topics(0, "nonsense"),
        list_subscriptions(3),
        list_subscriptions(3, None),
        list_subscriptions(-1),
        list_subscriptions(0, "é nonsense&?"),
        of_topic("ListTopicSubscriptions", pubsub.ListTopicSubscriptionsRequest, "topic0",
                 page_size=2),
        of_topic("ListTopicSubscriptions", pubsub.ListTopicSubscriptionsRequest, "topic0",
                 page_size=5_000),
        of_topic("ListTopicSubscriptions", pubsub.ListTopicSubscriptionsRequest, "topic1"),
        ("ListTopics", lambda side: pubsub.ListTopicsRequest(project=f"projects/{LONG}")),
        ("ListTopics", lambda side: pubsub.ListTopicsRequest(project="projects/a b")),
        ("ListSnapshots", lambda side: pubsub.ListSnapshotsRequest(
            project=f"projects/{side.project}")),
        ("ListSchemas", lambda side: schema.ListSchemasRequest(
            parent=f"projects/{side.project}", view=schema.FULL)),
        ("ListSchemas", lambda side: schema.ListSchemasRequest(
            parent=f"projects/{side.project}", page_size=-1)),
    ],
    "policies": [
        create_topic(),
        policy("GetIamPolicy", iam.GetIamPolicyRequest),
        policy("GetIamPolicy", iam.GetIamPolicyRequest,
               options=iam.GetPolicyOptions(requested_policy_version=3)),
        policy("SetIamPolicy", iam.SetIamPolicyRequest, policy=iam.Policy(bindings=[
            iam.Binding(role="roles/pubsub.viewer", members=["allUsers"])])),
        policy("GetIamPolicy", iam.GetIamPolicyRequest),
        policy("SetIamPolicy", iam.SetIamPolicyRequest, policy=iam.Policy(etag=b"stale")),
        policy("SetIamPolicy", iam.SetIamPolicyRequest),
        policy("TestIamPermissions", iam.TestIamPermissionsRequest,
               permissions=["pubsub.topics.get", "pubsub.topics.publish"]),
        policy("TestIamPermissions", iam.TestIamPermissionsRequest),
        policy("TestIamPermissions", iam.TestIamPermissionsRequest, MISSING,
               permissions=["pubsub.topics.get"]),
    ],
    "replay": [
        create_topic(),
        create(ack_deadline_seconds=600),
        publish(message(b"a")),
        ("CreateSnapshot", lambda side: pubsub.CreateSnapshotRequest(
            name=side.snapshot(), subscription=side.subscription(), labels={"a": "b"})),
        ("CreateSnapshot", lambda side: pubsub.CreateSnapshotRequest(
            name=side.snapshot(), subscription=side.subscription())),
        ("CreateSnapshot", lambda side: pubsub.CreateSnapshotRequest(
            name=side.snapshot("other"), subscription=side.subscription(MISSING))),
        ("GetSnapshot", lambda side: pubsub.GetSnapshotRequest(snapshot=side.snapshot())),
        ("UpdateSnapshot", lambda side: pubsub.UpdateSnapshotRequest(
            snapshot=pubsub.Snapshot(name=side.snapshot(), labels={"c": "d"}),
            update_mask=mask("labels"))),
        ("ListSnapshots", lambda side: pubsub.ListSnapshotsRequest(
            project=f"projects/{side.project}")),
        of_topic("ListTopicSnapshots", pubsub.ListTopicSnapshotsRequest),
        pull(),
        acknowledge(ids_of_last_pull),
        ("Seek", lambda side: pubsub.SeekRequest(
            subscription=side.subscription(), snapshot=side.snapshot())),
        of_subscription("Seek", pubsub.SeekRequest, time=wkt.Timestamp(seconds=1, nanos=1)),
        of_subscription("Seek", pubsub.SeekRequest),
        pull(),
        ("DeleteSnapshot", lambda side: pubsub.DeleteSnapshotRequest(snapshot=side.snapshot())),
    ],
    "schemas": [
        ("CreateSchema", lambda side: schema.CreateSchemaRequest(
            parent=f"projects/{side.project}", schema_id="schema", schema=schema.Schema(
                type=schema.Schema.AVRO, definition='{"type": "string"}'))),
        ("CreateSchema", lambda side: schema.CreateSchemaRequest(
            parent=f"projects/{side.project}", schema_id="ab", schema=schema.Schema(
                type=schema.Schema.AVRO, definition='{"type": "string"}'))),
        ("CreateSchema", lambda side: schema.CreateSchemaRequest(
            parent=f"projects/{side.project}", schema_id="bad", schema=schema.Schema(
                type=schema.Schema.AVRO, definition="nonsense"))),
        ("GetSchema", lambda side: schema.GetSchemaRequest(
            name=side.schema(), view=schema.BASIC)),
        ("ListSchemaRevisions", lambda side: schema.ListSchemaRevisionsRequest(
            name=side.schema(), page_size=5)),
        ("CommitSchema", lambda side: schema.CommitSchemaRequest(
            name=side.schema(), schema=schema.Schema(
                name=side.schema(), type=schema.Schema.AVRO, definition='{"type": "string"}'))),
        ("RollbackSchema", lambda side: schema.RollbackSchemaRequest(
            name=side.schema(), revision_id="00000000")),
        ("DeleteSchemaRevision", lambda side: schema.DeleteSchemaRevisionRequest(
            name=f"{side.schema()}@00000000")),
        ("ValidateSchema", lambda side: schema.ValidateSchemaRequest(
            parent=f"projects/{side.project}", schema=schema.Schema(
                type=schema.Schema.AVRO, definition='{"type": "string"}'))),
        ("ValidateMessage", lambda side: schema.ValidateMessageRequest(
            parent=f"projects/{side.project}", message=b'"x"', encoding=schema.JSON,
            schema=schema.Schema(type=schema.Schema.AVRO, definition='{"type": "string"}'))),
        ("ListSchemas", lambda side: schema.ListSchemasRequest(
            parent=f"projects/{side.project}")),
        ("DeleteSchema", lambda side: schema.DeleteSchemaRequest(name=side.schema())),
    ],
    "missing": everything_named(MISSING),
    **{
        f"bad name {leaf[:10]}": [create_topic(leaf), create(leaf), *everything_named(leaf)]
        for leaf in BAD_LEAVES
    },
}  # fmt: skip
