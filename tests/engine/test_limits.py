"""Every limit is read from `limits`: when one changes, the behaviour follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

from emulator.api import iam, pubsub
from emulator.engine.engine import Engine
from emulator.engine.values import limits
from emulator.engine.values.errors import PubsubError
from tests.engine.schema_desk import avro, compile_it

TOPIC = "projects/p/topics/top"
SUBSCRIPTION = "projects/p/subscriptions/sub"
Probe = Callable[[Engine], object]


def create_topic(**fields: Any) -> Probe:
    given = pubsub.Topic(**{"name": "projects/p/topics/another"} | fields)
    return lambda engine: engine.topics.create(given, now=0).value


def subscribe(**fields: Any) -> Probe:
    names = {"name": "projects/p/subscriptions/another", "topic": TOPIC}
    given = pubsub.Subscription(**names | fields)
    return lambda engine: engine.subscriptions.create(given, now=0).value


def publish(count: int = 1, **fields: Any) -> Probe:
    request = pubsub.PublishRequest(topic=TOPIC, messages=[{"data": b"x"} | fields] * count)
    return lambda engine: len(engine.publish(request, request.SerializeToString(), now=0).value)


def pull(limit: int) -> Probe:
    def probe(engine: Engine) -> int:
        publish(10)(engine)
        return len(engine.lease(SUBSCRIPTION, limit, now=0).value)

    return probe


def ack(size_bytes: int) -> Probe:
    def probe(engine: Engine) -> object:
        publish()(engine)
        ids = [lease.ack_id for lease in engine.lease(SUBSCRIPTION, 1, now=0).value]
        return engine.acknowledge(SUBSCRIPTION, ids, now=0, size_bytes=size_bytes).value

    return probe


def commit_schema(revisions: int) -> Probe:
    """Give a schema that many revisions."""

    def probe(engine: Engine) -> object:
        given, compiled = avro("a"), compile_it(avro("a"))
        engine.schemas.create("projects/p", "event", given, compiled, now=0)
        name = "projects/p/schemas/event"
        for _ in range(revisions - 1):
            engine.schemas.commit(name, given, compiled, now=0)
        return len(engine.schemas.list_revisions(name, 0, 0, "", now=0).value[0])

    return probe


def modack(seconds: int) -> Probe:
    def probe(engine: Engine) -> object:
        publish()(engine)
        ids = [lease.ack_id for lease in engine.lease(SUBSCRIPTION, 1, now=0).value]
        return engine.modify_ack_deadline(SUBSCRIPTION, ids, seconds, now=0).value

    return probe


def labelled(key: str, value: str) -> Probe:
    return create_topic(labels={key: value})


def list_topics(size: int) -> Probe:
    def probe(engine: Engine) -> int:
        for number in range(3):
            create_topic(name=f"projects/p/topics/top-{number}")(engine)
        return len(engine.topics.list("projects/p", size, "", now=0).value[0])

    return probe


def snapshot(now: int = 0) -> Probe:
    request = pubsub.CreateSnapshotRequest(
        name="projects/p/snapshots/shot", subscription=SUBSCRIPTION
    )

    def probe(engine: Engine) -> object:
        publish()(engine)
        return engine.snapshots.create(request, now=now).value

    return probe


def dead_letter(attempts: int) -> Probe:
    policy = {"dead_letter_topic": TOPIC, "max_delivery_attempts": attempts}
    return subscribe(dead_letter_policy=policy)


def retry(**seconds: int) -> Probe:
    return subscribe(retry_policy={name: {"seconds": value} for name, value in seconds.items()})


def set_policy(count: int) -> Probe:
    policy = iam.Policy(bindings=[{"role": "r", "members": [f"user:{n}" for n in range(count)]}])
    return lambda engine: engine.policies.set(TOPIC, policy, now=0).value


def update_topic(mask: str) -> Probe:
    return lambda engine: engine.topics.update(pubsub.Topic(name=TOPIC), [mask], now=0).value


def leave(seconds_before: int, is_nack: bool) -> Probe:
    """When the leases of a stream that went are looked at, its client having answered so late."""

    def probe(engine: Engine) -> object:
        now = seconds_before * 1_000_000
        publish()(engine)
        request = pubsub.StreamingPullRequest(
            subscription=SUBSCRIPTION, stream_ack_deadline_seconds=60
        )
        holder = engine.streaming.open(request, now=0).value
        [lease] = engine.holders.lease(holder, 1, now=0).value.leases
        deadline_s = 0 if is_nack else 30
        engine.modify_ack_deadline(SUBSCRIPTION, [lease.ack_id], deadline_s, now=now)
        engine.holders.lease(holder, 1, now=now)
        engine.holders.close(holder, now=now)
        return engine.next_deadline("p")

    return probe


STORAGE = {"cloud_storage_config": {"bucket": "bucket"}}

#: Those that requests are held to before they come to the engine.
OF_THE_SERVICE = {"ACK_IDS", "REPEATED_ELEMENTS"}

#: A limit, another value for it, and what must then have another outcome.
CHANGES: list[tuple[str, Any, Probe]] = [
    ("RESOURCE_ID_CHARACTERS_MIN", 20, create_topic()),
    ("RESOURCE_ID_CHARACTERS_MAX", 5, create_topic()),
    ("PROJECT_ID_CHARACTERS", 0, create_topic()),
    ("MESSAGES_PER_PUBLISH", 2, publish(3)),
    ("PUBLISH_REQUEST_BYTES", 20, publish(3)),
    ("ATTRIBUTES_PER_MESSAGE", 1, publish(attributes={"a": "", "b": ""})),
    ("ATTRIBUTE_KEY_BYTES", 4, publish(attributes={"abcde": ""})),
    ("ATTRIBUTE_VALUE_BYTES", 4, publish(attributes={"a": "abcde"})),
    ("ORDERING_KEY_BYTES", 4, publish(ordering_key="abcde")),
    (
        "CLIENT_ATTRIBUTE_KEYS",
        frozenset(),
        publish(attributes={"googclient_traceparent": ""}),
    ),
    ("ACK_DEADLINE_MIN_S", 30, subscribe(ack_deadline_seconds=29)),
    ("ACK_DEADLINE_MAX_S", 30, subscribe(ack_deadline_seconds=31)),
    ("ACK_DEADLINE_MAX_S", 30, modack(31)),
    ("ACK_DEADLINE_DEFAULT_S", 30, subscribe()),
    ("ACK_DEADLINE_CLOUD_STORAGE_S", 30, subscribe(**STORAGE)),
    ("CLOUD_STORAGE_FILE_DEFAULT_S", 61, subscribe(**STORAGE)),
    ("ACK_REQUEST_BYTES", 99, ack(100)),
    ("PULL_MESSAGES", 3, pull(10)),
    ("RESPONSE_BYTES", 100, pull(10)),
    ("RETENTION_MIN_S", 700, create_topic(message_retention_duration={"seconds": 600})),
    ("RETENTION_MAX_S", 700, subscribe(message_retention_duration={"seconds": 701})),
    ("RETENTION_DEFAULT_S", 700, subscribe()),
    ("EXPIRATION_MIN_S", 864_000, subscribe(expiration_policy={"ttl": {"seconds": 800_000}})),
    ("EXPIRATION_DEFAULT_S", 900_000, subscribe()),
    ("FILTER_BYTES", 12, subscribe(filter='hasPrefix(attributes.a, "b")')),
    ("LABELS", 0, labelled("a", "b")),
    ("LABEL_KEY_CHARACTERS", 2, labelled("abc", "d")),
    ("LABEL_VALUE_CHARACTERS", 2, labelled("a", "bcd")),
    ("LABEL_BYTES", 2, labelled("a", "bcd")),
    ("PAGE_SIZE_MAX", 2, list_topics(3)),
    ("PAGE_SIZE_DEFAULT", 2, list_topics(0)),
    ("TOPICS_PER_PROJECT", 1, create_topic()),
    ("SUBSCRIPTIONS_PER_PROJECT", 1, subscribe()),
    ("SUBSCRIPTIONS_PER_TOPIC", 1, subscribe()),
    ("BACKOFF_MIN_DEFAULT_S", 20, retry(maximum_backoff=100)),
    ("BACKOFF_MAX_DEFAULT_S", 20, retry(minimum_backoff=10)),
    ("BACKOFF_LONGEST_S", 20, retry(minimum_backoff=10, maximum_backoff=21)),
    ("DELIVERY_ATTEMPTS_MIN", 7, dead_letter(6)),
    ("DELIVERY_ATTEMPTS_MIN", 7, dead_letter(0)),
    ("DELIVERY_ATTEMPTS_MAX", 7, dead_letter(8)),
    (
        "EXACTLY_ONCE_ACK_DEADLINE_DEFAULT_S",
        30,
        subscribe(enable_exactly_once_delivery=True),
    ),
    ("SCHEMAS_PER_PROJECT", 0, commit_schema(1)),
    ("REVISIONS_PER_SCHEMA", 1, commit_schema(2)),
    ("SCHEMA_DEFINITION_BYTES", 20, commit_schema(1)),
    ("SNAPSHOTS_PER_PROJECT", 0, snapshot()),
    ("SNAPSHOTS_PER_TOPIC", 0, snapshot()),
    ("MASK_CHARACTERS", 3, update_topic("labels")),
    ("POLICY_BYTES", 5, set_policy(1)),
    ("POLICY_PRINCIPALS", 1, set_policy(2)),
    ("RECEIPT_WITHIN_S", 3, leave(2, is_nack=False)),
    ("LAST_ANSWERS_MS", 100, leave(2, is_nack=True)),
    ("SNAPSHOT_LIFE_S", 7_200, snapshot()),
    ("SNAPSHOT_LIFE_MIN_S", 604_800, snapshot(now=1_000_000)),
]


def an_engine() -> Engine:
    """It has a topic and a subscription."""
    engine = Engine(nonce=b"nonce")
    engine.topics.create(pubsub.Topic(name=TOPIC), now=0)
    given = pubsub.Subscription(name=SUBSCRIPTION, topic=TOPIC, ack_deadline_seconds=30)
    engine.subscriptions.create(given, now=0)
    return engine


def outcome_of(probe: Probe, engine: Engine) -> str:
    try:
        return repr(probe(engine))
    except PubsubError as error:
        return repr(error)


@pytest.mark.parametrize(
    ("name", "value", "probe"), CHANGES, ids=[f"{name}-{n}" for n, (name, *_) in enumerate(CHANGES)]
)
def test_a_limit_that_changes_changes_the_behaviour(name: str, value: Any, probe: Probe) -> None:
    usual = outcome_of(probe, an_engine())
    assert "Argument" not in usual
    engine = an_engine()
    with patch.object(limits, name, value):
        assert outcome_of(probe, engine) != usual


def test_every_limit_is_changed_once() -> None:
    every = {name for name in vars(limits) if name.isupper()}
    assert {name for name, *_ in CHANGES} == every - OF_THE_SERVICE
