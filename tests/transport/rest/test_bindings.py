"""Every route of rest.md, and nothing that has none."""

from __future__ import annotations

import pytest

from emulator.engine.values.errors import NotFound
from emulator.service.features import Feature
from emulator.service.rpcs import RPCS
from emulator.transport.rest.bindings import all_bindings
from emulator.transport.rest.routes import Routes
from tests.spec import spec

ROUTES = Routes(all_bindings())

P = "/v1/projects/p"
ROUTED = [
    # method, path, RPC, body, field that the path fills
    pytest.param("PUT", f"{P}/topics/t", "CreateTopic", "*", "name", marks=spec("RST-T1")),
    pytest.param("PATCH", f"{P}/topics/t", "UpdateTopic", "*", "topic.name", marks=spec("RST-T2")),
    pytest.param("POST", f"{P}/topics/t:publish", "Publish", "*", "topic", marks=spec("RST-T3")),
    pytest.param("GET", f"{P}/topics/t", "GetTopic", "", "topic", marks=spec("RST-T4")),
    pytest.param("GET", f"{P}/topics", "ListTopics", "", "project", marks=spec("RST-T5")),
    pytest.param("GET", f"{P}/topics/t/subscriptions", "ListTopicSubscriptions", "", "topic",
                 marks=spec("RST-T6")),
    pytest.param("GET", f"{P}/topics/t/snapshots", "ListTopicSnapshots", "", "topic",
                 marks=spec("RST-T7")),
    pytest.param("DELETE", f"{P}/topics/t", "DeleteTopic", "", "topic", marks=spec("RST-T8")),
    pytest.param("POST", f"{P}/subscriptions/s:detach", "DetachSubscription", "", "subscription",
                 marks=spec("RST-T9")),
    pytest.param("PUT", f"{P}/subscriptions/s", "CreateSubscription", "*", "name",
                 marks=spec("RST-S1")),
    pytest.param("GET", f"{P}/subscriptions/s", "GetSubscription", "", "subscription",
                 marks=spec("RST-S2")),
    pytest.param("PATCH", f"{P}/subscriptions/s", "UpdateSubscription", "*", "subscription.name",
                 marks=spec("RST-S3")),
    pytest.param("GET", f"{P}/subscriptions", "ListSubscriptions", "", "project",
                 marks=spec("RST-S4")),
    pytest.param("DELETE", f"{P}/subscriptions/s", "DeleteSubscription", "", "subscription",
                 marks=spec("RST-S5")),
    pytest.param("POST", f"{P}/subscriptions/s:modifyAckDeadline", "ModifyAckDeadline", "*",
                 "subscription", marks=spec("RST-S6")),
    pytest.param("POST", f"{P}/subscriptions/s:acknowledge", "Acknowledge", "*", "subscription",
                 marks=spec("RST-S7")),
    pytest.param("POST", f"{P}/subscriptions/s:pull", "Pull", "*", "subscription",
                 marks=spec("RST-S8")),
    pytest.param("POST", f"{P}/subscriptions/s:modifyPushConfig", "ModifyPushConfig", "*",
                 "subscription", marks=spec("RST-S9")),
    pytest.param("POST", f"{P}/subscriptions/s:seek", "Seek", "*", "subscription",
                 marks=spec("RST-S10")),
    pytest.param("PUT", f"{P}/snapshots/s", "CreateSnapshot", "*", "name", marks=spec("RST-N1")),
    pytest.param("GET", f"{P}/snapshots/s", "GetSnapshot", "", "snapshot", marks=spec("RST-N2")),
    pytest.param("GET", f"{P}/snapshots", "ListSnapshots", "", "project", marks=spec("RST-N3")),
    pytest.param("PATCH", f"{P}/snapshots/s", "UpdateSnapshot", "*", "snapshot.name",
                 marks=spec("RST-N4")),
    pytest.param("DELETE", f"{P}/snapshots/s", "DeleteSnapshot", "", "snapshot",
                 marks=spec("RST-N5")),
    pytest.param("POST", f"{P}/schemas", "CreateSchema", "schema", "parent",
                 marks=spec("RST-C1")),
    pytest.param("GET", f"{P}/schemas/s@1", "GetSchema", "", "name", marks=spec("RST-C2")),
    pytest.param("GET", f"{P}/schemas", "ListSchemas", "", "parent", marks=spec("RST-C3")),
    pytest.param("GET", f"{P}/schemas/s:listRevisions", "ListSchemaRevisions", "", "name",
                 marks=spec("RST-C4")),
    pytest.param("POST", f"{P}/schemas/s:commit", "CommitSchema", "*", "name",
                 marks=spec("RST-C5")),
    pytest.param("POST", f"{P}/schemas/s:rollback", "RollbackSchema", "*", "name",
                 marks=spec("RST-C6")),
    pytest.param("DELETE", f"{P}/schemas/s@1:deleteRevision", "DeleteSchemaRevision", "", "name",
                 marks=spec("RST-C7")),
    pytest.param("DELETE", f"{P}/schemas/s", "DeleteSchema", "", "name", marks=spec("RST-C8")),
    pytest.param("POST", f"{P}/schemas:validate", "ValidateSchema", "*", "parent",
                 marks=spec("RST-C9")),
    pytest.param("POST", f"{P}/schemas:validateMessage", "ValidateMessage", "*", "parent",
                 marks=spec("RST-C10")),
]  # fmt: skip

POLICIES = [
    pytest.param("GET", "getIamPolicy", "GetIamPolicy", "", marks=spec("RST-I1")),
    ("POST", "getIamPolicy", "GetIamPolicy", "*"),
    pytest.param("POST", "setIamPolicy", "SetIamPolicy", "*", marks=spec("RST-I2")),
    pytest.param("POST", "testIamPermissions", "TestIamPermissions", "*", marks=spec("RST-I3")),
]


@pytest.mark.parametrize(("method", "path", "name", "body", "field"), ROUTED)
def test_route(method: str, path: str, name: str, body: str, field: str) -> None:
    binding, values = ROUTES.find(method, path)
    assert not isinstance(binding.target, Feature)
    assert (binding.target.name, binding.body) == (name, body)
    [(bound, value)] = values.items()
    assert ".".join(bound) == field
    assert path.removeprefix("/v1/").startswith(value)


@pytest.mark.parametrize("kind", ["topics", "subscriptions", "snapshots", "schemas"])
@pytest.mark.parametrize(("method", "verb", "name", "body"), POLICIES)
def test_route_of_a_policy(method: str, verb: str, name: str, body: str, kind: str) -> None:
    binding, values = ROUTES.find(method, f"{P}/{kind}/x:{verb}")
    assert not isinstance(binding.target, Feature)
    assert (binding.target.name, binding.body) == (name, body)
    assert values == {("resource",): f"projects/p/{kind}/x"}


@spec("RST-S11")
def test_every_rpc_but_the_stream_has_a_route() -> None:
    bound = {each.target.name for each in all_bindings() if not isinstance(each.target, Feature)}
    assert {rpc.name for rpc in RPCS} - bound == {"StreamingPull"}


def test_no_two_bindings_are_alike() -> None:
    """Such as would answer the same request: the first would hide the second."""
    keys = [(each.method, each.template.segments, each.template.verb) for each in all_bindings()]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("verb", ["validateMessageTransform", "testMessageTransforms"])
def test_a_method_outside_the_interface_is_bound_to_its_refusal(verb: str) -> None:
    target = ROUTES.find("POST", f"{P}:{verb}").binding.target
    assert isinstance(target, Feature)
    assert target.name == "message transforms"


def test_head_goes_where_get_does() -> None:
    assert ROUTES.find("HEAD", f"{P}/topics").binding is ROUTES.find("GET", f"{P}/topics").binding


@spec("RST-11")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{P}/topics/t"),
        ("DELETE", f"{P}/topics"),
        ("GET", f"{P}/topics/t:publish"),
        ("HEAD", f"{P}/topics/t:publish"),
        ("POST", f"{P}/topics/t:unknown"),
        ("GET", f"{P}/topics/t/"),
        ("GET", f"{P}/topics/"),
        ("GET", "/v1/projects//topics"),
        ("GET", f"{P}/unknown/t"),
        ("GET", "/v2/projects/p/topics"),
        ("GET", "/v1beta2/projects/p/topics"),
        ("GET", f"{P}/topics/a/b"),
        ("GET", "/"),
        ("TRACE", f"{P}/topics"),
    ],
)
def test_unknown_path_or_method(method: str, path: str) -> None:
    with pytest.raises(NotFound) as caught:
        ROUTES.find(method, path)
    assert caught.value.message == f"No such path: {method} {path}"


def test_methods_of_a_path() -> None:
    assert ROUTES.methods(f"{P}/topics/t") == ["DELETE", "GET", "HEAD", "PATCH", "PUT"]
    assert ROUTES.methods(f"{P}/topics/t:getIamPolicy") == ["GET", "HEAD", "POST"]
    assert ROUTES.methods(f"{P}/topics/t:publish") == ["POST"]
    assert ROUTES.methods(f"{P}/nothing/t") == []
