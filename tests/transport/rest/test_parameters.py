"""Query parameters, those of the platform and those of the request."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.api import iam, pubsub, schema
from emulator.engine.values.errors import InvalidArgument
from emulator.transport.rest.parameters import as_json, parse
from emulator.transport.rest.violations import Violations
from tests.spec import spec


def bound(query: str, message: Any) -> dict[str, Any]:
    violations = Violations()
    tree = as_json(parse(query).of_request, message.DESCRIPTOR, violations)
    violations.check()
    return tree


@spec("RST-30")
def test_parameters_of_the_platform_are_not_the_requests() -> None:
    given = parse(
        "alt=json&$alt=json&prettyPrint=true&key=k&access_token=a&oauth_token=o&quotaUser=q"
        "&callback=c&upload_protocol=u&uploadType=t&$.xgafv=2&%24anything=x&fields=&userProject=p"
    )
    assert given == (True, False, "", {})


@spec("RST-30", "RST-26")
@pytest.mark.parametrize(
    ("query", "is_pretty", "has_enum_numbers"),
    [
        ("", True, False),
        ("prettyPrint=false", False, False),
        ("$prettyPrint=0", False, False),
        ("prettyPrint=", True, False),
        ("$alt=json;enum-encoding=int", True, True),
        ("%24alt=json%3Benum-encoding%3Dint", True, True),
        ("alt=proto", True, False),
    ],
)
def test_form_of_the_answer(query: str, is_pretty: bool, has_enum_numbers: bool) -> None:
    assert parse(query)[:2] == (is_pretty, has_enum_numbers)


@spec("RST-32", "RST-20")
@pytest.mark.parametrize(
    ("query", "message", "tree"),
    [
        ("", pubsub.ListTopicsRequest, {}),
        ("pageSize=5&pageToken=a%2Bb+c", pubsub.ListTopicsRequest,
         {"page_size": "5", "page_token": "a+b c"}),
        ("page_size=5", pubsub.ListTopicsRequest, {"page_size": "5"}),
        ("pageToken=", pubsub.ListTopicsRequest, {"page_token": ""}),
        ("options.requestedPolicyVersion=3", iam.GetIamPolicyRequest,
         {"options": {"requested_policy_version": "3"}}),
        ("options.requested_policy_version=3", iam.GetIamPolicyRequest,
         {"options": {"requested_policy_version": "3"}}),
        ("permissions=a&permissions=b", iam.TestIamPermissionsRequest,
         {"permissions": ["a", "b"]}),
        ("updateMask=labels,kmsKeyName", pubsub.UpdateTopicRequest,
         {"update_mask": "labels,kmsKeyName"}),
        ("schemaId=x", schema.CreateSchemaRequest, {"schema_id": "x"}),
        ("time=2026-01-01T00:00:00Z", pubsub.SeekRequest, {"time": "2026-01-01T00:00:00Z"}),
    ],
)  # fmt: skip
def test_parameters_are_fields(query: str, message: Any, tree: dict[str, Any]) -> None:
    assert bound(query, message) == tree


UNKNOWN = 'Invalid JSON payload received. Unknown name "{0}": Cannot bind query parameter. '


@spec("RST-32")
@pytest.mark.parametrize(
    ("query", "message", "text"),
    [
        ("x=1", pubsub.ListTopicsRequest,
         UNKNOWN.format("x") + "Field 'x' could not be found in request message."),
        ("options.x=1", iam.GetIamPolicyRequest,
         UNKNOWN.format("options.x") + "Field 'x' could not be found in request message."),
        ("project.x=1", pubsub.ListTopicsRequest,
         UNKNOWN.format("project.x") + "Field 'x' could not be found in request message."),
        ("options=1", iam.GetIamPolicyRequest,
         UNKNOWN.format("options") + "'options' is a message type. Parameters can only be bound "
         "to primitive types."),
        ("labels=1", pubsub.Topic,
         UNKNOWN.format("labels") + "'labels' is a message type. Parameters can only be bound to "
         "primitive types."),
        ("labels.a=1", pubsub.Topic,
         UNKNOWN.format("labels.a") + "Field 'a' could not be found in request message."),
        ("pageSize=1&pageSize=2", pubsub.ListTopicsRequest,
         'Invalid JSON payload received. Unknown name "pageSize": Proto field is not repeating, '
         "cannot start list."),
        ("pageSize=1&page_size=2", pubsub.ListTopicsRequest,
         'Invalid JSON payload received. Unknown name "page_size": Proto field is not repeating, '
         "cannot start list."),
        ("=1", pubsub.ListTopicsRequest,
         UNKNOWN.format("") + "Field '' could not be found in request message."),
    ],
)  # fmt: skip
def test_a_parameter_that_is_no_field(query: str, message: Any, text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        bound(query, message)
    assert caught.value.message == text
