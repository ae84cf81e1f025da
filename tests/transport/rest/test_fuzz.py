"""Random requests to random bindings: whatever is sent, the answer is the platform's.

Paths, parameters and bodies are made from the descriptors, so that most of them are nearly right.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import quote

import pytest
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.service.features import Feature
from emulator.testing import Emulator
from emulator.transport.rest.bindings import Binding, all_bindings
from emulator.transport.rest.json_fields import fields_of
from tests.inside import Inside
from tests.spec import spec
from tests.transport.rest.client import RawHttp, Rest
from tests.wire import until

BINDINGS = all_bindings()
#: A pull that waits would make the examples slow.
IMPATIENT = "0.001"

SEGMENTS = st.sampled_from(
    ["fuzz", "fuzz", "topic", "topic", "sub", "a%2Bb", "a", "%00", "%C3%B3"]
) | (st.text(min_size=1, max_size=5).map(lambda text: quote(text.encode("utf-8", "replace"))))
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**64), 2**64), st.floats(), st.text(max_size=8),
    st.sampled_from(["10s", "600s", "1e99s", "2026-01-01T00:00:00Z", "ACTIVE", "AVRO", "YQ==", "5",
                     "projects/fuzz/topics/topic", "projects/fuzz/subscriptions/sub", "labels",
                     "name,pushConfig.x"]),
)  # fmt: skip
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)
TYPICAL = {
    FieldDescriptor.TYPE_STRING: st.sampled_from(
        ["projects/fuzz/topics/topic", "projects/fuzz/subscriptions/sub", "", "x", "\x00ó"]
    ),
    FieldDescriptor.TYPE_BYTES: st.sampled_from(["", "YQ", "YQ==", "-_8="]),
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_ENUM: st.integers(0, 3),
}
KNOWN = {
    "google.protobuf.Duration": st.sampled_from(["0s", "10s", "600.5s", "-1s", "315576000000s"]),
    "google.protobuf.Timestamp": st.sampled_from(["2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z"]),
    "google.protobuf.FieldMask": st.sampled_from(["labels", "pushConfig", "", "a.b,c", "name"]),
    "google.protobuf.Struct": st.dictionaries(st.text(max_size=3), JUNK, max_size=2),
}


def values(field: Any, depth: int) -> st.SearchStrategy[Any]:
    """What a field mostly takes, and now and then anything."""
    one = KNOWN.get(field.message_type.full_name) if field.message_type else None
    if one is None and field.message_type is not None:
        one = objects(field.message_type, depth - 1) if depth else st.just({})
    if one is None:
        one = TYPICAL.get(field.type, st.integers(-1, 1_000))
    return st.one_of(one, one, one, JUNK)


@cache
def objects(descriptor: Any, depth: int = 3) -> st.SearchStrategy[dict[str, Any]]:
    """JSON objects for a message; deferred, as messages are many and deep."""

    def build() -> st.SearchStrategy[dict[str, Any]]:
        entries = []
        for name, field in fields_of(descriptor).items():
            if field.is_map:
                entry = values(field.message.fields_by_name["value"], 1)
                value: st.SearchStrategy[Any] = st.dictionaries(st.text(max_size=4), entry)
            else:
                value = values(field.descriptor, depth)
                value = st.lists(value, max_size=3) if field.is_repeated else value
            entries.append(st.tuples(st.just(name), value))
        entries.append(st.tuples(st.text(max_size=4), JUNK))
        return st.lists(st.one_of(entries), max_size=4).map(dict)

    return st.deferred(build)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, bytes]:
    """HTTP method, target and body."""
    binding: Binding = draw(st.sampled_from(BINDINGS))
    segments = [
        draw(SEGMENTS) if segment is None else segment for segment in binding.template.segments
    ]
    path = "/" + "/".join(segments)
    if binding.template.verb:
        path += draw(st.sampled_from([":", "%3A"])) + binding.template.verb
    if isinstance(binding.target, Feature):
        return binding.method, path, b"{}"
    descriptor = binding.target.request.DESCRIPTOR
    names = st.sampled_from(sorted(fields_of(descriptor))) | st.sampled_from(
        ["fields", "prettyPrint", "$alt", "updateMask", "pageSize"]
    )
    query = draw(st.lists(st.tuples(names, st.text(max_size=6)), max_size=2))
    if query:
        path += "?" + "&".join(f"{name}={quote(value)}" for name, value in query)
    if binding.body not in ("", "*"):
        descriptor = descriptor.fields_by_name[binding.body].message_type
    body = json.dumps(draw(objects(descriptor))).encode()
    return binding.method, path, draw(st.just(body) | st.just(body) | st.binary(max_size=20))


class ErrorLog(logging.Handler):
    """Keeps what is logged as an error, from whichever thread."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))


@pytest.fixture
def error_log() -> Iterator[ErrorLog]:
    log = ErrorLog()
    logging.getLogger().addHandler(log)
    yield log
    logging.getLogger().removeHandler(log)


FEW = settings(max_examples=150, suppress_health_check=list(HealthCheck))


@spec("RST-50", "RST-28")
def test_every_answer_is_the_platforms(own_emulator: Emulator, error_log: ErrorLog) -> None:
    rest = Rest(own_emulator.host_port)
    rest("PUT", "/v1/projects/fuzz/topics/topic")
    rest("PUT", "/v1/projects/fuzz/subscriptions/sub", {"topic": "projects/fuzz/topics/topic"})

    @FEW
    @given(requests())
    def ask(request: tuple[str, str, bytes]) -> None:
        method, path, body = request
        answer = rest(method, path, body, x_server_timeout=IMPATIENT)
        assert error_log.texts == []
        assert answer.headers["content-type"] == "application/json; charset=UTF-8"
        if answer.status != 200:
            assert answer.status in (400, 404, 409, 429, 501), answer
            assert answer.error["code"] == answer.status
            assert answer.error["message"]

    ask()
    rest.close()
    until(lambda: Inside(own_emulator).connections() == 0)


def test_random_bytes_leave_nothing_behind(own_emulator: Emulator, error_log: ErrorLog) -> None:
    inside = Inside(own_emulator)
    lines = st.sampled_from(
        [
            b"POST /v1/projects/p/topics/t:publish HTTP/1.1\r\n", b"GET /v1/", b"Host: a\r\n",
            b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"5\r\n{}   \r\n",
            b"0\r\n\r\n", b"\r\n", b" HTTP/1.1\r\n", b"Expect: 100-continue\r\n", b"{}",
            b"Content-Encoding: gzip\r\n", b"Connection: close\r\n", b"\x00\xff",
        ]
    )  # fmt: skip

    @FEW
    @given(st.lists(lines | st.binary(max_size=8), max_size=12))
    def send(parts: list[bytes]) -> None:
        raw = RawHttp(own_emulator.port)
        raw.send(b"P" + b"".join(parts))
        raw.close()

    send()
    until(lambda: inside.connections() == 0)
    assert error_log.texts == []
