"""JSON bodies of very many parts: refused before they are parsed or converted, with little work."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.api import iam, pubsub
from emulator.engine.values.errors import InvalidArgument
from emulator.transport.rest import json_count, json_input
from emulator.transport.rest.json_count import JsonCount
from tests.service.test_request_limits import largest_publish, too_large
from tests.spec import spec
from tests.transport.rest.client import Rest
from tests.wire import Names, Wire

MILLION = 1_000_000


def many(item: str, count: int) -> str:
    return ",".join([item] * count)


MEMBERS = "The number of members in the policy ({}) is larger than the maximum allowed size 1,500."
HEAVY: list[tuple[str, Any, str, str]] = [
    (
        "messages",
        pubsub.PublishRequest,
        '{"messages": [' + many("{}", 3_400_000) + "]}",
        too_large("message_count", "more than 1000", 1_000),
    ),
    (
        "numbers for messages",
        pubsub.PublishRequest,
        '{ "messages"\n:[' + many("1", 5_000_000),
        too_large("message_count", "more than 1000", 1_000),
    ),
    (
        "attributes",
        pubsub.PublishRequest,
        '{"messages":[{},{"data":"","attributes":{' + many('"":""', MILLION) + "}}]}",
        too_large("attribute_count", "more than 100", 100),
    ),
    (
        "ids",
        pubsub.AcknowledgeRequest,
        '{"ackIds": [' + many('""', 3_400_000) + "]}",
        too_large("ack_ids", "more than 30000", 30_000),
    ),
    (
        "labels",
        pubsub.Topic,
        '{"labels":{' + many('"a":"b"', 700_000) + "}}",
        too_large("labels", "more than 64", 64),
    ),
    (
        "bindings",
        iam.SetIamPolicyRequest,
        '{"policy":{"bindings":[' + many('{"role":"r"}', 700_000) + "]}}",
        too_large("bindings", "more than 1500", 1_500),
    ),
    (
        "members",
        iam.SetIamPolicyRequest,
        '{"policy":{"bindings":[{"role":"r","members":[' + many('"a"', 2_000_000) + "]}]}}",
        MEMBERS.format("more than 1500"),
    ),
    (
        "permissions",
        iam.TestIamPermissionsRequest,
        '{"permissions":[' + many('"a"', 2_000_000) + "]}",
        too_large("permissions", "more than 1000", 1_000),
    ),
    (
        "what nobody knows",
        pubsub.Topic,
        '{"nobody":[' + many("[]", 3_000_000) + "]}",
        too_large("element_count", "more than 20000", 20_000),
    ),
    (
        "depth",
        pubsub.PublishRequest,
        "[" * 10_000_000,
        "Invalid JSON payload received. Nested too deeply.",
    ),
    (
        "depth and heights",
        pubsub.Topic,
        '{"a":' * 1_500_000,
        "Invalid JSON payload received. Nested too deeply.",
    ),
]


@spec("PUB-20", "PUB-24", "LBL-01", "ERR-51", "ERR-55")
@pytest.mark.parametrize(
    ("request_class", "text", "refusal"), [case[1:] for case in HEAVY], ids=[c[0] for c in HEAVY]
)
def test_what_has_too_many_parts_is_refused_early(
    request_class: Any, text: str, refusal: str
) -> None:
    counting = JsonCount(text.encode(), request_class.DESCRIPTOR)
    with pytest.raises(InvalidArgument) as caught:
        counting.check()
    assert caught.value.message == refusal
    assert counting.marks <= 120_000  # of millions


FULL = ",[]{}" * 30_000
VALID: list[tuple[str, Any, str]] = [
    ("texts full of marks", pubsub.PublishRequest, json.dumps({"messages": [{"data": FULL}]})),
    (
        "texts that end in an escaped backslash",
        pubsub.PublishRequest,
        json.dumps({"messages": [{"data": FULL + "\\"}, {"data": '"' + FULL + '\\"'}]}),
    ),
    ("escapes", pubsub.PublishRequest, json.dumps({"messages": [{"data": '\\",[' * 90_000}]})),
    ("a text that does not end", pubsub.PublishRequest, '{"a": "' + FULL),
    ("a text that ends in an escape", pubsub.PublishRequest, '{"a": "' + FULL + "\\"),
    ("what was never opened", pubsub.PublishRequest, "]" + "," * 100_000),
    ("nothing around commas", pubsub.PublishRequest, '"' + FULL + '"'),
]


@pytest.mark.parametrize(
    ("request_class", "text"), [case[1:] for case in VALID], ids=[c[0] for c in VALID]
)
def test_what_is_in_texts_does_not_count(request_class: Any, text: str) -> None:
    JsonCount(text.encode(), request_class.DESCRIPTOR).check()


def test_the_largest_request_passes() -> None:
    message = {"data": "eA==", "attributes": {f"{number:02}": "" for number in range(100)}}
    body = json.dumps({"messages": [{**message, "orderingKey": "k"}] * 1_000}).encode()
    counting = JsonCount(body, pubsub.PublishRequest.DESCRIPTOR)
    counting.check()
    assert counting.marks > 100_000
    assert len(largest_publish().messages) == 1_000


DOCUMENTS = st.recursive(
    st.none() | st.integers() | st.text(alphabet='a",[]{}\\:é', max_size=6),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=30,
)


def marks_of(value: Any) -> int:
    """How many commas, brackets and braces a value's JSON has outside of its texts."""
    if not isinstance(value, list | dict):
        return 0
    inner = list(value.values() if isinstance(value, dict) else value)
    return 2 + max(len(inner) - 1, 0) + sum(map(marks_of, inner))


@given(DOCUMENTS, st.sampled_from([None, 1]))
def test_every_mark_outside_of_texts_is_counted_once(document: Any, indent: int | None) -> None:
    body = json.dumps(document, ensure_ascii=False, indent=indent).encode()
    counting = JsonCount(body, pubsub.Topic.DESCRIPTOR)
    counting._count()
    assert counting.marks == marks_of(document)


def test_what_is_refused_early_is_not_parsed(
    rest: Rest, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[int] = []
    monkeypatch.setattr(json_input, "parse", lambda body: parsed.append(len(body)) or {})
    for _, request_class, text, refusal in HEAVY[:2]:
        assert request_class is pubsub.PublishRequest
        answer = rest("POST", f"/v1/{names.topic()}:publish", text.encode()[:10_400_000])
        assert (answer.status, answer.error["message"]) == (400, refusal)
    assert parsed == []


@pytest.mark.parametrize(
    ("method", "path", "body", "refusal"),
    [
        (
            "POST",
            "{topic}:publish",
            {"messages": [{}] * 5_000},
            too_large("message_count", 5_000, 1_000),
        ),
        (
            "POST",
            "{topic}:publish",
            {"messages": [{"attributes": {str(number): 1 for number in range(101)}}]},
            too_large("attribute_count", 101, 100),
        ),
        (
            "PUT",
            "{topic}x",
            {"labels": {f"k{number}": 1 for number in range(65)}},
            too_large("labels", 65, 64),
        ),
        (
            "POST",
            "{topic}:testIamPermissions",
            {"permissions": ["a"] * 1_001},
            too_large("permissions", 1_001, 1_000),
        ),
        (
            "POST",
            "{topic}:setIamPolicy",
            {"policy": {"bindings": [{"role": "r", "members": ["user:a@b.example"] * 1_501}]}},
            MEMBERS.format("1,501"),
        ),
        (
            "PATCH",
            "{topic}",
            {"topic": {}, "updateMask": ",".join(["labels"] * 1_000_000)},
            too_large("update_mask", 6_999_999, 10_000),
        ),
    ],
)
def test_a_little_too_many_are_counted_and_not_converted(
    rest: Rest,
    names: Names,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    body: Any,
    refusal: str,
) -> None:
    rest("PUT", f"/v1/{names.topic()}")
    filled: list[Any] = []
    monkeypatch.setattr(json_input, "fill", lambda request, value: filled.append(value))
    answer = rest(method, f"/v1/{path.format(topic=names.topic())}", body)
    assert (answer.status, answer.error["message"]) == (400, refusal)
    assert filled == []


def test_violations_are_looked_for_until_there_are_enough(
    rest: Rest, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids that are numbers: the fiftieth is the last that is looked at."""
    body = {"ackIds": [1] * 29_000}
    answer = rest("POST", f"/v1/{names.subscription()}:acknowledge", body)
    assert (answer.status, answer.error["message"].count("\n")) == (400, 49)


@spec("PUB-20")
def test_nothing_is_published_of_what_is_refused(rest: Rest, wire: Wire, names: Names) -> None:
    wire.create(names.topic(), names.subscription())
    body = b'{"messages": [' + many('{"data":"eA=="}', 400_000).encode() + b"]}"
    assert rest("POST", f"/v1/{names.topic()}:publish", body).status == 400
    assert wire.peek(names.subscription()) == []


def test_the_round_is_what_small_bodies_stay_below() -> None:
    body = json.dumps({"messages": [{"data": "eA=="}] * 6_000}).encode()
    counting = JsonCount(body, pubsub.PublishRequest.DESCRIPTOR)
    counting.check()
    assert (counting.marks, json_count._ROUND) == (0, 20_000)
