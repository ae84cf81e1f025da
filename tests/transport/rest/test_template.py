"""Path templates: what they read, what they match."""

from __future__ import annotations

import pytest

from emulator.transport.rest.template import Path, Variable, parse_path, parse_template
from tests.spec import spec


@spec("RST-12")
@pytest.mark.parametrize(
    ("raw", "segments", "verb"),
    [
        ("/v1/projects/p/topics/t", ("v1", "projects", "p", "topics", "t"), ""),
        ("/v1/projects/p/topics/t:publish", ("v1", "projects", "p", "topics", "t"), "publish"),
        ("/v1/projects/p/topics/t%3Apublish", ("v1", "projects", "p", "topics", "t"), "publish"),
        ("/v1/projects/p/topics/t%3apublish", ("v1", "projects", "p", "topics", "t"), "publish"),
        ("/a%2Bb", ("a+b",), ""),
        ("/a+b", ("a+b",), ""),
        ("/a%252Bb", ("a%2Bb",), ""),
        ("/a%25", ("a%",), ""),
        ("/a%7Eb", ("a~b",), ""),
        ("/mi-t%25C3%25B3pico", ("mi-t%C3%B3pico",), ""),
        ("/mi-t%C3%B3pico", ("mi-tópico",), ""),
        # An escaped slash stays what it was: part of a segment.
        ("/a%2Fb/c%2fd", ("a%2Fb", "c%2fd"), ""),
        # Bytes that no text has, and signs that begin no escape.
        ("/a%ff", ("a\ufffd",), ""),
        ("/a%zz%", ("a%zz%",), ""),
        ("/a\udcc3\udcb3", ("aó",), ""),
        # Only the last segment has a verb.
        ("/projects/example.com:p/topics", ("projects", "example.com:p", "topics"), ""),
        ("/projects/example.com:p:test", ("projects", "example.com:p"), "test"),
        ("/", ("",), ""),
        ("/a/", ("a", ""), ""),
        ("//", ("", ""), ""),
    ],
)
def test_path(raw: str, segments: tuple[str, ...], verb: str) -> None:
    assert parse_path(raw) == Path(segments, verb)


@pytest.mark.parametrize(
    ("text", "segments", "variables", "verb"),
    [
        (
            "/v1/{topic=projects/*/topics/*}:publish",
            ("v1", "projects", None, "topics", None),
            (Variable(("topic",), 1, 5),),
            "publish",
        ),
        (
            "/v1/{project=projects/*}/topics",
            ("v1", "projects", None, "topics"),
            (Variable(("project",), 1, 3),),
            "",
        ),
        (
            "/v1/{topic.name=projects/*/topics/*}",
            ("v1", "projects", None, "topics", None),
            (Variable(("topic", "name"), 1, 5),),
            "",
        ),
        ("/v1/{a}/x/{b=y/*}", ("v1", None, "x", "y", None),
         (Variable(("a",), 1, 2), Variable(("b",), 3, 5)), ""),
    ],
)  # fmt: skip
def test_template(
    text: str, segments: tuple[str | None, ...], variables: tuple[Variable, ...], verb: str
) -> None:
    template = parse_template(text)
    assert template == (segments, variables, verb)
    assert template.shape == (len(segments), verb)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("v1/projects/p/topics/t", "projects/p/topics/t"),
        ("v1/projects/p/topics/a%2Fb", "projects/p/topics/a%2Fb"),
        ("v1/projects//topics/t", None),
        ("v1/projects/p/topics/", None),
        ("v1/projects/p/subscriptions/t", None),
        ("v2/projects/p/topics/t", None),
    ],
)
def test_match(path: str, value: str | None) -> None:
    template = parse_template("/v1/{topic.name=projects/*/topics/*}")
    found = template.match(path.split("/"))
    assert found == (None if value is None else {("topic", "name"): value})
