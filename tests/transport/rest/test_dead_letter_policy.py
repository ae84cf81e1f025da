"""What PATCH makes of a dead-letter policy: absent, null, empty."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spec import spec
from tests.transport.rest.client import Rest
from tests.wire import Names

NAMELESS = (
    "Invalid resource name given (name=). Refer to "
    "https://cloud.google.com/pubsub/docs/pubsub-basics#resource_names for more information."
)


@pytest.fixture
def path(rest: Rest, names: Names) -> str:
    """A subscription with a dead-letter policy."""
    rest("PUT", f"/v1/{names.topic()}")
    path = f"/v1/{names.subscription()}"
    policy = {"deadLetterTopic": names.topic(), "maxDeliveryAttempts": 7}
    body = {"topic": names.topic(), "deadLetterPolicy": policy}
    assert rest("PUT", path, body).json["deadLetterPolicy"] == policy
    return path


@spec("UPD-02", "RST-27")
@pytest.mark.parametrize("given", [{}, {"deadLetterPolicy": None}])
def test_absent_or_null_removes_it(rest: Rest, path: str, given: dict[str, Any]) -> None:
    body = {"subscription": given, "updateMask": "deadLetterPolicy"}
    answer = rest("PATCH", path, body)
    assert answer.status == 200
    assert "deadLetterPolicy" not in rest("GET", path).json


@spec("SUB-09", "UPD-09", "ERR-01")
@pytest.mark.parametrize("policy", [{}, {"maxDeliveryAttempts": 5}, {"deadLetterTopic": ""}])
def test_a_policy_without_a_topic_is_refused_and_changes_nothing(
    rest: Rest, path: str, policy: dict[str, Any]
) -> None:
    before = rest("GET", path).json
    body = {"subscription": {"deadLetterPolicy": policy}, "updateMask": "deadLetterPolicy"}
    answer = rest("PATCH", path, body)
    assert (answer.status, answer.error["message"]) == (400, NAMELESS)
    assert rest("GET", path).json == before
