"""IAM policies: kept, shown, compared, and never enforced."""

from __future__ import annotations

import base64
from functools import partial
from typing import Any

import pytest

from emulator.api import iam, pubsub
from emulator.engine.engine import Engine
from tests.engine.story import SUBSCRIPTION, TOPIC, Refusal, Story, invalid, not_found, refusal_of
from tests.spec import spec

RESOURCES = pytest.mark.parametrize("resource", [TOPIC, SUBSCRIPTION])
#: Of kinds that may have policies, and missing.
MISSING = [
    "projects/p/topics/nothing",
    "projects/p/subscriptions/nothing",
    "projects/p/snapshots/nothing",
    "projects/p/schemas/nothing",
]
NAMELESS = ["", "top", "projects/p", "projects/p/things/thing", "projects/p/topics/x"]
VIEWER = {"role": "roles/pubsub.viewer", "members": ["user:a@example.com", "allUsers"]}
EDITOR = {"role": "roles/pubsub.editor", "members": ["user:b@example.com"]}


def get(engine: Engine, resource: str) -> iam.Policy:
    return engine.policies.get(resource, now=0).value


def put(engine: Engine, resource: str, **fields: Any) -> iam.Policy:
    return engine.policies.set(resource, iam.Policy(**fields), now=0).value


def test(engine: Engine, resource: str, *permissions: str) -> list[str]:
    return engine.policies.test(resource, list(permissions), now=0).value


test.__test__ = False  # type: ignore[attr-defined]


@spec("IAM-01", "IAM-02")
@RESOURCES
def test_without_a_policy_there_is_an_empty_one(resource: str) -> None:
    policy = get(Story().engine, resource)
    assert base64.b64encode(policy.etag) == b"ACAB"
    assert policy == iam.Policy(etag=policy.etag)


@spec("IAM-01", "IAM-03", "IAM-04")
@RESOURCES
def test_a_policy_is_kept_and_replaced(resource: str) -> None:
    engine = Story().engine
    first = put(engine, resource, bindings=[VIEWER, EDITOR])
    assert first == get(engine, resource)
    assert (first.version, list(first.bindings)) == (
        1,
        [iam.Binding(**VIEWER), iam.Binding(**EDITOR)],
    )
    second = put(engine, resource, bindings=[EDITOR])
    assert second == get(engine, resource)
    assert list(second.bindings) == [iam.Binding(**EDITOR)]
    assert len({b"\x00\x20\x01", first.etag, second.etag}) == 3
    other = SUBSCRIPTION if resource == TOPIC else TOPIC
    assert list(get(engine, other).bindings) == []


@spec("IAM-03")
def test_a_policy_with_a_condition_has_version_3() -> None:
    binding = {**VIEWER, "condition": {"title": "t", "expression": "true"}}
    policy = put(Story().engine, TOPIC, bindings=[binding], version=3)
    assert policy.version == 3
    assert policy.bindings[0].condition.expression == "true"


@spec("IAM-04", "ERR-83")
@RESOURCES
def test_an_etag_must_be_the_present_one(resource: str) -> None:
    engine = Story().engine
    empty = get(engine, resource)
    first = put(engine, resource, bindings=[VIEWER], etag=empty.etag)
    for stale in (empty.etag, b"nonsense"):
        refusal = refusal_of(lambda etag=stale: put(engine, resource, etag=etag))
        assert isinstance(refusal, Refusal)
        assert refusal.code == "ABORTED"
    assert get(engine, resource) == first
    second = put(engine, resource, bindings=[EDITOR], etag=first.etag)
    put(engine, resource, bindings=[])  # without one it is not compared
    refusal = refusal_of(lambda: put(engine, resource, etag=second.etag))
    assert refusal is not None
    assert refusal.code == "ABORTED"


@spec("IAM-04")
@pytest.mark.parametrize("version", [-1, 2, 4])
def test_an_unknown_version_is_refused(version: int) -> None:
    engine = Story().engine
    refusal = refusal_of(lambda: put(engine, TOPIC, version=version))
    assert isinstance(refusal, Refusal)
    assert refusal.code == "INVALID_ARGUMENT"
    assert get(engine, TOPIC).bindings == []


@spec("IAM-05")
@RESOURCES
def test_everybody_may_do_everything(resource: str) -> None:
    engine = Story().engine
    permissions = ["pubsub.topics.publish", "pubsub.subscriptions.consume", "made.up"]
    assert test(engine, resource, *permissions) == permissions
    put(engine, resource, bindings=[VIEWER])
    assert test(engine, resource, *permissions) == permissions
    assert test(engine, resource) == []


@spec("IAM-05")
@pytest.mark.parametrize("resource", MISSING)
def test_nobody_may_do_anything_with_nothing(resource: str) -> None:
    assert test(Story().engine, resource, "pubsub.topics.publish") == []


@spec("IAM-05")
def test_permissions_have_no_wildcards() -> None:
    refusal = refusal_of(lambda: test(Story().engine, TOPIC, "pubsub.*"))
    assert isinstance(refusal, Refusal)
    assert refusal.code == "INVALID_ARGUMENT"


@spec("IAM-01", "IAM-04", "ERR-02")
@pytest.mark.parametrize("resource", MISSING)
def test_a_policy_needs_a_resource(resource: str) -> None:
    engine = Story().engine
    for call in (lambda: get(engine, resource), lambda: put(engine, resource)):
        refusal = refusal_of(call)
        assert isinstance(refusal, Refusal)
        assert refusal.code == "NOT_FOUND"


@spec("IAM-01", "ERR-01")
@pytest.mark.parametrize("resource", NAMELESS)
def test_a_policy_needs_a_name(resource: str) -> None:
    engine = Story().engine
    for call in (
        lambda: get(engine, resource),
        lambda: put(engine, resource),
        lambda: test(engine, resource, "a.b.c"),
    ):
        refusal = refusal_of(call)
        assert isinstance(refusal, Refusal)
        assert refusal.code == "INVALID_ARGUMENT"
        assert refusal.text.startswith(f"Invalid resource name given (name={resource}).")


@spec("IAM-02", "TOP-12", "SUB-20")
def test_a_policy_goes_with_its_resource() -> None:
    story = Story()
    put(story.engine, TOPIC, bindings=[VIEWER])
    put(story.engine, SUBSCRIPTION, bindings=[VIEWER])
    story.engine.subscriptions.delete(SUBSCRIPTION, now=0)
    story.engine.topics.delete(TOPIC, now=0)
    assert refusal_of(lambda: get(story.engine, TOPIC)) == not_found("top")
    story.engine.topics.create(pubsub.Topic(name=TOPIC), now=0)
    given = pubsub.Subscription(name=SUBSCRIPTION, topic=TOPIC)
    story.engine.subscriptions.create(given, now=0)
    for resource in (TOPIC, SUBSCRIPTION):
        assert get(story.engine, resource).bindings == []


@spec("IAM-02")
def test_a_policy_outlives_a_detachment_and_no_reset() -> None:
    engine = Story().engine
    policy = put(engine, SUBSCRIPTION, bindings=[VIEWER])
    engine.subscriptions.detach(SUBSCRIPTION, now=0)
    assert get(engine, SUBSCRIPTION) == policy
    engine.reset(nonce=b"another", now=0)
    engine.topics.create(pubsub.Topic(name=TOPIC), now=0)
    assert get(engine, TOPIC).bindings == []


def test_what_is_taken_and_returned_is_a_copy() -> None:
    engine = Story().engine
    given = iam.Policy(bindings=[VIEWER])
    stored = engine.policies.set(TOPIC, given, now=0).value
    given.bindings[0].role = "changed"
    stored.bindings[0].role = "changed"
    get(engine, TOPIC).bindings[0].role = "changed"
    assert get(engine, TOPIC).bindings[0].role == VIEWER["role"]


@spec("IAM-04")
def test_a_policy_has_1500_principals_at_most() -> None:
    engine = Story().engine
    half = {"role": "r", "members": ["user:a@b.example"] * 750}
    assert len(put(engine, TOPIC, bindings=[half, half]).bindings) == 2
    more = {"role": "s", "members": ["allUsers"]}
    text = (
        "The number of members in the policy (1,501) is larger than the maximum allowed size 1,500."
    )
    for fields in (
        {"bindings": [half, half, more]},
        {
            "bindings": [half, half],
            "audit_configs": [{"audit_log_configs": [{"exempted_members": ["user:c@d.example"]}]}],
        },
    ):
        assert refusal_of(partial(put, engine, TOPIC, **fields)) == invalid(text)
    assert len(get(engine, TOPIC).bindings) == 2


@spec("IAM-04")
def test_a_policy_has_64_kilobytes_at_most() -> None:
    engine = Story().engine
    policy = iam.Policy(bindings=[{"role": "x" * 65_000}])
    policy.bindings[0].role += "x" * (65_536 - policy.ByteSize())
    assert policy.ByteSize() == 65_536
    engine.policies.set(TOPIC, policy, now=0)
    policy.bindings[0].role += "x"
    assert refusal_of(lambda: engine.policies.set(TOPIC, policy, now=0)) == invalid(
        "The size in bytes of the policy (65,537) is larger than the maximum allowed size 65,536."
    )
