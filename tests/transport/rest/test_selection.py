"""The `fields` parameter: what it selects and what it may not name."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.api import pubsub
from emulator.engine.values.errors import InvalidArgument
from emulator.transport.rest.selection import parse, select
from tests.spec import spec

ANSWER = {
    "topics": [
        {"name": "a", "labels": {"x": "1", "y": "2"}, "schemaSettings": {"encoding": "JSON"}},
        {"name": "b", "kmsKeyName": "k"},
    ],
    "nextPageToken": "t",
}


@spec("RST-30")
@pytest.mark.parametrize(
    ("fields", "selected"),
    [
        ("", ANSWER),
        (" ", ANSWER),
        ("*", ANSWER),
        ("topics,nextPageToken", ANSWER),
        ("nextPageToken", {"nextPageToken": "t"}),
        ("next_page_token", {"nextPageToken": "t"}),
        ("topics/name", {"topics": [{"name": "a"}, {"name": "b"}]}),
        ("topics.name", {"topics": [{"name": "a"}, {"name": "b"}]}),
        ("topics(name,kmsKeyName)", {"topics": [{"name": "a"}, {"name": "b", "kmsKeyName": "k"}]}),
        ("topics/name,topics/kms_key_name",
         {"topics": [{"name": "a"}, {"name": "b", "kmsKeyName": "k"}]}),
        ("topics/name,topics", {"topics": ANSWER["topics"]}),
        ("topics,topics/name", {"topics": ANSWER["topics"]}),
        ("topics/labels/x", {"topics": [{"labels": {"x": "1"}}, {}]}),
        ("topics/schemaSettings/encoding", {"topics": [{"schemaSettings": {"encoding": "JSON"}},
                                                       {}]}),
        ("topics(labels(x),name),nextPageToken",
         {"topics": [{"name": "a", "labels": {"x": "1"}}, {"name": "b"}], "nextPageToken": "t"}),
        ("*/name", {"topics": [{"name": "a"}, {"name": "b"}], "nextPageToken": "t"}),
        ("topics/name/deeper", None),
    ],
)  # fmt: skip
def test_selection(fields: str, selected: Any) -> None:
    selection = parse(fields, pubsub.ListTopicsResponse.DESCRIPTOR)
    if selected is not None:
        assert select(ANSWER, selection) == selected
    else:
        # Below a text there is nothing to select from: it is there as it is.
        assert select(ANSWER, selection) == {"topics": [{"name": "a"}, {"name": "b"}]}


@pytest.mark.parametrize(
    "fields",
    [
        "topic", "topics/nam", "topics(", "topics(name", "topics(name))", "topics)", ",", "a,",
        "topics,", "topics//name", "/topics", "topics()", "topics(name)x", "topics/name,x",
        "*(" * 10_000, "*/" * 10_000 + "*",
    ],
    ids=lambda fields: fields[:20],
)  # fmt: skip
def test_what_does_not_fit_the_answer(fields: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse(fields, pubsub.ListTopicsResponse.DESCRIPTOR)
    assert caught.value.message == (
        f"Error expanding 'fields' parameter. Cannot find matching fields for path '{fields}'."
    )
