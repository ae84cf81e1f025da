"""Random masks over random resources, against a model that knows nothing of protobuf."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from emulator.api import pubsub
from emulator.engine.engine import Engine
from tests.engine.story import SUBSCRIPTION, TOPIC, Story
from tests.spec import spec

LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("123"), max_size=3)
#: Longer than any retention, so that the values do not depend on each other.
TTLS = st.sampled_from([None, 2_678_400, 3_000_000])
#: Field -> its values, None for absent.
SUBSCRIPTION_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "ack_deadline_seconds": st.integers(10, 600) | st.none(),
    "message_retention_duration": st.sampled_from([None, 600, 604_800, 2_678_400]),
    "expiration_policy": TTLS,
    "labels": LABELS | st.none(),
    "bigquery_config": st.sampled_from([None, "p.d.one", "p.d.two"]),
}
TOPIC_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "labels": LABELS | st.none(),
    "kms_key_name": st.sampled_from(
        [None, *(f"projects/p/locations/l/keyRings/r/cryptoKeys/{key}" for key in "ab")]
    ),
    "message_storage_policy": st.sampled_from([None, "europe-west1", "us-east1"]),
}
#: What an absent field reads as afterwards (UPD-02).
DEFAULTS = {
    "ack_deadline_seconds": 10,
    "message_retention_duration": 604_800,
    "expiration_policy": 2_678_400,
    "labels": {},
    "kms_key_name": "",
}
Values = dict[str, Any]


def encoded(values: Values) -> Values:
    """The values as protobuf's constructors take them."""
    shapes = {
        "message_retention_duration": lambda seconds: {"seconds": seconds},
        "expiration_policy": lambda seconds: {"ttl": {"seconds": seconds}},
        "bigquery_config": lambda table: {"table": table},
        "message_storage_policy": lambda region: {"allowed_persistence_regions": [region]},
    }
    given = {field: value for field, value in values.items() if value is not None}
    return {f: shapes.get(f, lambda value: value)(value) for f, value in given.items()}


def read(resource: Any, fields: Values) -> Values:
    """The values that a resource shows."""
    found: Values = {}
    for field in fields:
        value = getattr(resource, field)
        if field == "message_retention_duration":
            value = value.seconds
        elif field == "expiration_policy":
            value = value.ttl.seconds
        elif field == "labels":
            value = dict(value)
        elif field == "bigquery_config":
            value = value.table if resource.HasField(field) else None
        elif field == "message_storage_policy":
            regions = value.allowed_persistence_regions
            value = regions[0] if resource.HasField(field) else None
        found[field] = value
    return found


def model(current: Values, given: Values, mask: list[str]) -> Values:
    changed = {field: given[field] for field in mask}
    return {
        field: DEFAULTS.get(field) if value is None else value
        for field, value in (current | changed).items()
    }


def updates(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Lists of values with the masks to send them under."""
    masks = st.lists(st.sampled_from(sorted(fields)), min_size=1, max_size=6)
    return st.lists(st.tuples(st.fixed_dictionaries(fields), masks), min_size=1, max_size=6)


def update_topic(engine: Engine, values: Values, mask: list[str]) -> Any:
    return engine.topics.update(pubsub.Topic(name=TOPIC, **encoded(values)), mask, now=0).value


def update_subscription(engine: Engine, values: Values, mask: list[str]) -> Any:
    given = pubsub.Subscription(name=SUBSCRIPTION, **encoded(values))
    return engine.subscriptions.update(given, mask, now=0).value


@spec("UPD-01", "UPD-02", "UPD-05", "UPD-08", "UPD-11")
@given(updates(TOPIC_FIELDS))
def test_a_topic_has_what_its_masks_said(steps: list[tuple[Values, list[str]]]) -> None:
    engine = Story(expiration_policy=None).engine
    expected: Values = model(dict.fromkeys(TOPIC_FIELDS), {}, [])
    for values, mask in steps:
        expected = model(expected, values, mask)
        assert read(update_topic(engine, values, mask), expected) == expected
    assert read(engine.topics.get(TOPIC, now=0).value, expected) == expected


@spec("UPD-01", "UPD-02", "UPD-06", "UPD-08")
@given(updates(SUBSCRIPTION_FIELDS))
def test_a_subscription_has_what_its_masks_said(steps: list[tuple[Values, list[str]]]) -> None:
    engine = Story(expiration_policy=None).engine
    expected: Values = model(dict.fromkeys(SUBSCRIPTION_FIELDS), {}, [])
    for values, mask in steps:
        expected = model(expected, values, mask)
        assert read(update_subscription(engine, values, mask), expected) == expected
    assert read(engine.subscriptions.get(SUBSCRIPTION, now=0).value, expected) == expected
