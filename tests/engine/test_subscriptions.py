"""Subscriptions: made with defaults, checked, shown, deleted."""

from __future__ import annotations

import pytest

from emulator.api import pubsub
from emulator.api.wkt import Duration
from emulator.engine.delivery.outcome import Ended
from tests.engine.story import (
    SUBSCRIPTION,
    TOPIC,
    Refusal,
    Story,
    ack,
    attached,
    invalid,
    modack,
    not_found,
    publish,
    pull,
    refusal_of,
    subscribe,
    unsubscribe,
)
from tests.spec import spec

NAME = "projects/p/subscriptions/new"
DAY_S = 86_400


def create(given: pubsub.Subscription, *, name: str = NAME) -> pubsub.Subscription:
    """What creating `given` returns, which Get and List then return too."""
    engine = Story().engine
    given.name, given.topic = name, TOPIC
    created = engine.subscriptions.create(given, now=0).value
    assert engine.subscriptions.get(name, now=0).value == created
    assert created in engine.subscriptions.list("projects/p", 0, "", now=0).value[0]
    return created


def with_defaults(**fields: object) -> pubsub.Subscription:
    """A plain subscription as the service shows it, but for `fields`."""
    expected = {
        "name": NAME,
        "topic": TOPIC,
        "push_config": {},
        "ack_deadline_seconds": 10,
        "message_retention_duration": Duration(seconds=7 * DAY_S),
        "expiration_policy": {"ttl": Duration(seconds=31 * DAY_S)},
        "state": pubsub.Subscription.State.ACTIVE,
    }
    return pubsub.Subscription(**(expected | fields))  # type: ignore[arg-type]


def of(**fields: object) -> pubsub.Subscription:
    return pubsub.Subscription(**fields)  # type: ignore[arg-type]


def seconds(count: int, nanos: int = 0) -> Duration:
    return Duration(seconds=count, nanos=nanos)


@spec("SUB-13", "SUB-04", "SUB-05", "SUB-07", "SUB-08")
def test_a_plain_subscription_has_its_defaults() -> None:
    created = create(of())
    assert created == with_defaults()
    assert created.HasField("push_config")


STORED: list[dict[str, object]] = [
    {"ack_deadline_seconds": 10},
    {"ack_deadline_seconds": 600},
    {"retain_acked_messages": True},
    {"message_retention_duration": seconds(600)},
    {"message_retention_duration": seconds(600, 1)},
    {"message_retention_duration": seconds(31 * DAY_S)},
    {"expiration_policy": {}},
    {"expiration_policy": {"ttl": seconds(365 * DAY_S)}},
    {"labels": {"k": "v"}},
    {"enable_message_ordering": True},
    {"filter": 'attributes.k = "v"'},
    {"message_transforms": [{"javascript_udf": {"function_name": "f", "code": "c"}}]},
]


@spec("SUB-03", "SUB-04", "SUB-05", "SUB-07", "SUB-08", "SUB-13")
@pytest.mark.parametrize("fields", STORED, ids=str)
def test_every_field_is_stored_and_shown(fields: dict[str, object]) -> None:
    assert create(of(**fields)) == with_defaults(**fields)


@spec("SUB-16", "TAG-01")
def test_output_only_fields_and_tags_are_ignored() -> None:
    given = of(
        state=pubsub.Subscription.State.RESOURCE_ERROR,
        detached=True,
        topic_message_retention_duration=seconds(600),
        analytics_hub_subscription_info={"listing": "l"},
        tags={"123/environment": "test"},
    )
    assert create(given) == with_defaults()


@spec("SUB-06", "SUB-07", "SUB-13")
@pytest.mark.parametrize(
    ("ttl", "retention"),
    [
        (seconds(DAY_S), seconds(DAY_S)),
        (seconds(7 * DAY_S - 1), seconds(7 * DAY_S - 1)),
        (seconds(7 * DAY_S), seconds(7 * DAY_S)),
        (seconds(7 * DAY_S + 1), seconds(7 * DAY_S)),
    ],
)
def test_the_default_retention_is_no_longer_than_the_time_to_live(
    ttl: Duration, retention: Duration
) -> None:
    created = create(of(expiration_policy={"ttl": ttl}))
    assert created.expiration_policy.ttl == ttl
    assert created.message_retention_duration == retention


@spec("SUB-04", "ERR-10")
@pytest.mark.parametrize("deadline_s", [-1, 1, 9, 601, 2**31 - 1])
def test_ack_deadlines_are_10_to_600_seconds(deadline_s: int) -> None:
    text = (
        f"Invalid ack deadline given (ack_deadline={deadline_s}). The ack deadline must be "
        "between 10 and 600 seconds."
    )
    assert refusal_of(lambda: create(of(ack_deadline_seconds=deadline_s))) == invalid(text)


@spec("SUB-05", "ERR-22", "ERR-93")
@pytest.mark.parametrize(
    ("retention", "spelt"),
    [
        (seconds(0), "0s"),
        (seconds(-600), "-10m"),
        (seconds(599), "9m59s"),
        (seconds(599, 500_000_000), "9m59.5s"),
        (seconds(31 * DAY_S, 1), "744h0.000000001s"),
        (seconds(31 * DAY_S + 1), "744h1s"),
        (seconds(62 * DAY_S), "1488h"),
    ],
)
def test_retention_is_10_minutes_to_31_days(retention: Duration, spelt: str) -> None:
    text = (
        f"The value for message retention duration is out of bounds. You passed {spelt} in the "
        "request, but the value must be between 10m and 744h."
    )
    given = of(message_retention_duration=retention, expiration_policy={})
    assert refusal_of(lambda: create(given)) == invalid(text)


@spec("SUB-07", "ERR-23")
@pytest.mark.parametrize(
    ("ttl", "spelt"),
    [
        (seconds(0), "0s"),
        (seconds(1), "1s"),
        (seconds(DAY_S - 1), "23h59m59s"),
        (seconds(DAY_S - 1, 999_999_999), "23h59m59.999999999s"),
    ],
)
def test_the_time_to_live_is_a_day_at_least(ttl: Duration, spelt: str) -> None:
    text = (
        f"The value for expiration duration is too small. You passed {spelt} in the request, but "
        "the minimum value is 24h."
    )
    given = of(expiration_policy={"ttl": ttl}, message_retention_duration=seconds(600))
    assert refusal_of(lambda: create(given)) == invalid(text)


@spec("SUB-06")
def test_the_time_to_live_is_no_shorter_than_the_retention() -> None:
    def given(ttl: Duration) -> pubsub.Subscription:
        return of(expiration_policy={"ttl": ttl}, message_retention_duration=seconds(31 * DAY_S))

    create(given(seconds(31 * DAY_S)))
    refusal = refusal_of(lambda: create(given(seconds(31 * DAY_S - 1, 999_999_999))))
    assert refusal is not None
    assert refusal.code == "INVALID_ARGUMENT"


PUSH = {"push_endpoint": "https://example.com"}
BIGQUERY = {"table": "p.d.t"}
BIGTABLE = {"table": "projects/p/instances/i/tables/t"}
STORAGE = {"bucket": "b"}
TYPES: dict[str, object] = {
    "push_config": PUSH,
    "bigquery_config": BIGQUERY,
    "bigtable_config": BIGTABLE,
    "cloud_storage_config": STORAGE,
}


@spec("SUB-03")
@pytest.mark.parametrize("first", TYPES)
@pytest.mark.parametrize("second", TYPES)
def test_there_is_one_delivery_type(first: str, second: str) -> None:
    given = of(**{first: TYPES[first], second: TYPES[second]})
    refusal = refusal_of(lambda: create(given))
    assert (refusal and refusal.code) == (None if first == second else "INVALID_ARGUMENT")


@spec("SUB-03", "PUL-04", "ERR-40")
@pytest.mark.parametrize("type", TYPES)
def test_only_a_pull_subscription_can_be_pulled(type: str) -> None:
    story = Story()
    given = of(name=NAME, topic=TOPIC, **{type: TYPES[type]})
    story.engine.subscriptions.create(given, now=0)
    expected = Refusal(
        "FAILED_PRECONDITION", "This method is not supported for this subscription type."
    )
    story.play((0, publish("a")), (0, pull(subscription=NAME), expected), (0, pull(), ["a#1"]))


@spec("SUB-03")
def test_a_push_config_without_endpoint_is_pull() -> None:
    story = Story()
    given = of(name=NAME, topic=TOPIC, push_config={"attributes": {"x-goog-version": "v1"}})
    story.engine.subscriptions.create(given, now=0)
    story.play((0, publish("a")), (0, pull(subscription=NAME), ["a#1"]))


@spec("SUB-04", "GCS-07")
def test_a_cloud_storage_subscription_has_its_own_defaults() -> None:
    created = create(of(cloud_storage_config=STORAGE))
    assert created.ack_deadline_seconds == 300
    assert created.cloud_storage_config.max_duration == seconds(300)
    assert created.cloud_storage_config.WhichOneof("output_format") == "text_config"
    assert (
        create(of(cloud_storage_config=STORAGE, ack_deadline_seconds=60)).ack_deadline_seconds == 60
    )


@spec("SUB-01", "ERR-02")
def test_the_topic_must_exist() -> None:
    Story().play(
        (0, subscribe("new", topic="none"), not_found("none")),
        (0, subscribe("new", topic="projects/q/topics/none"), not_found("none")),
        (0, pull(subscription="new"), not_found("new")),
    )


@spec("SUB-01", "DLV-07")
def test_the_topic_may_be_in_another_project() -> None:
    far = "projects/q/subscriptions/far"
    Story().play(
        (0, subscribe(far)),
        (0, publish("a")),
        (0, pull(subscription=far), ["a#1"]),
        (10, pull(subscription=far), ["a#2"]),
        (10, ack("a#2", subscription=far)),
        (10, pull(), ["a#1"]),
    )


@spec("SUB-02", "ERR-03")
@pytest.mark.parametrize("topic", ["top", "none"])
def test_a_name_can_be_taken_once_whatever_the_rest(topic: str) -> None:
    exists = Refusal("ALREADY_EXISTS", "Resource already exists in the project (resource=sub).")
    Story().play(
        (0, publish("a")),
        (0, subscribe(topic=topic, deadline_s=600), exists),
        (0, pull(), ["a#1"]),
        (10, pull(), ["a#2"]),
    )


@spec("PUB-03", "SUB-02")
def test_a_refused_subscription_leaves_nothing_behind() -> None:
    Story().play(
        (
            0,
            subscribe("new", deadline_s=601),
            invalid(
                "Invalid ack deadline given (ack_deadline=601). The ack deadline must be between "
                "10 and 600 seconds."
            ),
        ),
        (0, attached(), ["sub"]),
        (0, subscribe("new")),
        (0, attached(), ["new", "sub"]),
    )


@spec("SUB-20", "PUL-04", "LST-01")
def test_a_deleted_subscription_is_gone_for_every_operation() -> None:
    gone = not_found("sub")
    story = Story().play(
        (0, publish("a", "b")),
        (0, pull(1), ["a#1"]),
        (0, unsubscribe()),
        (0, unsubscribe(), gone),
        (0, pull(), gone),
        (0, ack("a#1"), gone),
        (0, modack(0, "a#1"), gone),
        (0, modack(60, "a#1"), gone),
        (0, attached(), []),
        (100, publish("c")),
    )
    engine = story.engine
    assert refusal_of(lambda: engine.subscriptions.get(SUBSCRIPTION, now=0)) == gone


@spec("SUB-20")
def test_deletion_and_reset_tell_who_waits() -> None:
    story = Story().play((0, subscribe("two")))
    [ended] = story.engine.subscriptions.delete(SUBSCRIPTION, now=0).effects
    assert isinstance(ended, Ended)
    assert (ended.subscription, ended.error.code.name) == (SUBSCRIPTION, "NOT_FOUND")
    [ended] = story.engine.reset(nonce=b"another", now=0).effects
    assert isinstance(ended, Ended)
    assert ended.subscription == "projects/p/subscriptions/two"


@spec("SUB-20", "DLV-07")
def test_deletion_of_one_subscription_leaves_the_others_alone() -> None:
    Story().play(
        (0, subscribe("two")),
        (0, publish("a", "b")),
        (0, pull(1), ["a#1"]),
        (0, pull(1, subscription="two"), ["a#1"]),
        (0, unsubscribe()),
        (0, publish("c")),
        (0, pull(subscription="two"), ["b#1", "c#1"]),
        (10, pull(subscription="two"), ["a#2", "b#2", "c#2"]),
    )


def test_what_is_returned_is_a_copy() -> None:
    engine = Story().engine
    before = engine.subscriptions.get(SUBSCRIPTION, now=0).value
    engine.subscriptions.get(SUBSCRIPTION, now=0).value.labels["k"] = "v"
    engine.subscriptions.list("projects/p", 0, "", now=0).value[0][0].labels["k"] = "v"
    assert engine.subscriptions.get(SUBSCRIPTION, now=0).value == before


@spec("NAM-03", "QUO-01")
def test_a_topic_and_a_project_have_10000_subscriptions_at_most() -> None:
    story = Story()
    for number in range(9_999):
        story.play((0, subscribe(f"s{number}x")))

    def refusal(type: str) -> Refusal:
        return Refusal(
            "RESOURCE_EXHAUSTED",
            f'Your project has exceeded a limit: (type="{type}", current=10000, maximum=10000).',
        )

    story.engine.topics.create(pubsub.Topic(name="projects/p/topics/other"), now=0)
    story.play(
        (0, subscribe("projects/q/subscriptions/new"), refusal("subscriptions-per-topic")),
        (0, subscribe("new", topic="other"), refusal("subscriptions-per-project")),
        (0, subscribe("projects/q/subscriptions/new", topic="other")),
        (0, unsubscribe("s0x")),
        (0, subscribe("new")),
    )
