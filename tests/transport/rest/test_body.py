"""Request bodies on the wire: lengths, chunks, packings, and their bound."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest

from emulator.engine.values.errors import InvalidArgument
from emulator.testing import Emulator
from emulator.transport.rest.body import BODY_BYTES, Unpacker
from tests.inside import Inside
from tests.spec import spec
from tests.transport.rest.client import RawHttp, Rest
from tests.wire import Names, until

TOO_LARGE = "Request payload size exceeds the limit: 10485760 bytes."


def padded(size: int) -> bytes:
    """The JSON of an empty request in `size` bytes."""
    return b"{" + b" " * (size - 2) + b"}"


@pytest.fixture
def path(rest: Rest, names: Names) -> str:
    """Where a body has no effect but its own: a request that creates what exists is refused."""
    path = f"/v1/{names.topic()}"
    assert rest("PUT", path).status == 200
    return path


def refusal_of(answer: tuple[int, bytes]) -> tuple[int, str]:
    status, body = answer
    return status, json.loads(body)["error"]["message"]


@spec("PUB-22", "ERR-54")
def test_a_body_has_ten_mebibytes_at_most(rest: Rest, path: str) -> None:
    assert rest("PUT", path, padded(BODY_BYTES)).error["status"] == "ALREADY_EXISTS"
    answer = rest("PUT", path, padded(BODY_BYTES + 1))
    assert (answer.status, answer.error["message"]) == (400, TOO_LARGE)
    assert answer.error["status"] == "INVALID_ARGUMENT"


@spec("PUB-22", "PUB-21")
def test_messages_as_large_as_a_body_allows(rest: Rest, names: Names) -> None:
    rest("PUT", f"/v1/{names.topic()}")
    data = "A" * (BODY_BYTES - len('{"messages":[{"data":""}]}'))
    data = data[: len(data) // 4 * 4]
    body = b'{"messages":[{"data":"%b"}]}' % data.encode()
    assert rest("POST", f"/v1/{names.topic()}:publish", body).status == 200


@spec("ERR-54")
def test_a_body_that_is_announced_too_large_is_not_waited_for(raw_http: RawHttp, path: str) -> None:
    answer = raw_http.ask(f"PUT {path}", f"Content-Length: {BODY_BYTES + 1}")
    assert refusal_of(answer) == (400, TOO_LARGE)


@spec("ERR-54")
def test_a_chunked_body_is_refused_when_it_is_too_large(raw_http: RawHttp, path: str) -> None:
    raw_http.send(f"PUT {path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    chunk = b"100000\r\n" + b" " * 2**20 + b"\r\n"
    for _ in range(BODY_BYTES // 2**20):
        raw_http.send(chunk)
    raw_http.send(b"1\r\n \r\n")
    assert refusal_of(raw_http.answer()) == (400, TOO_LARGE)


@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_a_chunked_body(raw_http: RawHttp, names: Names, size: int) -> None:
    body = b'{"labels": {"a": "b"}}'
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    sent = b"".join(b"%x;ext=1\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    status, answer = raw_http.ask(
        f"PUT /v1/{names.topic()}",
        "Transfer-Encoding: chunked",
        body=sent + b"0\r\nTrailer: x\r\n\r\n",
    )
    assert (status, json.loads(answer)["labels"]) == (200, {"a": "b"})
    assert raw_http.ask(f"GET /v1/{names.topic()}")[0] == 200


def test_a_broken_chunk_is_the_clients_fault(
    raw_http: RawHttp, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    status, _ = raw_http.ask(f"PUT {path}", "Transfer-Encoding: chunked", body=b"zz\r\n")
    assert status == 400
    assert [each for each in caplog.records if each.levelname == "ERROR"] == []


@spec("RST-41", "PUB-62")
@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("identity", bytes),
        # Packed in two parts, as `cat a.gz b.gz` is.
        ("gzip", lambda body: gzip.compress(body[:9]) + gzip.compress(body[9:])),
    ],
)
def test_a_packed_body(rest: Rest, names: Names, encoding: str, pack: Any) -> None:
    body = pack(b'{"labels": {"a": "b"}}')
    answer = rest("PUT", f"/v1/{names.topic()}", body, content_encoding=encoding)
    assert (answer.status, answer.json["labels"]) == (200, {"a": "b"})


@pytest.mark.parametrize(
    ("encoding", "body", "text"),
    [
        ("gzip", b"{}", "The request's body is not gzip data."),
        ("gzip", b"", "The request's body is not gzip data."),
        ("gzip", gzip.compress(b"{}")[:-1], "The request's body is not gzip data."),
        ("gzip", gzip.compress(b"{}") + b"x", "The request's body is not gzip data."),
        ("deflate", gzip.compress(b"{}"), "The request's body is not deflate data."),
        ("br", b"{}", "The request's Content-Encoding is not supported: br."),
        ("gzip, gzip", b"{}", "The request's Content-Encoding is not supported: gzip, gzip."),
    ],
)
def test_a_body_that_cannot_be_unpacked(
    rest: Rest, path: str, encoding: str, body: bytes, text: str
) -> None:
    answer = rest("PUT", path, body, content_encoding=encoding)
    assert (answer.status, answer.error["message"]) == (400, text)


@spec("ERR-54")
def test_a_packed_body_is_as_large_as_what_it_unpacks_to(rest: Rest, path: str) -> None:
    fits, more = gzip.compress(padded(BODY_BYTES)), gzip.compress(padded(BODY_BYTES + 1))
    answer = rest("PUT", path, fits, content_encoding="gzip")
    assert answer.error["status"] == "ALREADY_EXISTS"
    answer = rest("PUT", path, more, content_encoding="gzip")
    assert (answer.status, answer.error["message"]) == (400, TOO_LARGE)


def test_a_bomb_is_unpacked_no_further_than_the_limit() -> None:
    once = gzip.compress(bytes(200_000_000), compresslevel=1)
    unpacker = Unpacker("gzip")
    assert len(unpacker.take(once)) == BODY_BYTES + 1
    assert unpacker.take(once) == b""


def test_a_bomb_of_many_parts_is_unpacked_no_further_than_the_limit() -> None:
    part = gzip.compress(bytes(1_000_000))
    assert len(Unpacker("gzip").take(part * 100)) == BODY_BYTES + 1


def test_unpacking_byte_by_byte() -> None:
    unpacker = Unpacker("gzip")
    packed = gzip.compress(b"hello") + gzip.compress(b" world")
    parts = [unpacker.take(packed[at : at + 1]) for at in range(len(packed))]
    assert b"".join((*parts, unpacker.take(b""))) == b"hello world"


def test_a_body_that_ends_early_is_noticed() -> None:
    unpacker = Unpacker("gzip")
    unpacker.take(gzip.compress(b"hello")[:-4])
    with pytest.raises(InvalidArgument):
        unpacker.take(b"")


def test_continue_is_said_before_the_body_is_sent(raw_http: RawHttp, names: Names) -> None:
    body = b'{"labels": {"a": "b"}}'
    raw_http.send(
        f"PUT /v1/{names.topic()} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
        f"Content-Length: {len(body)}\r\n\r\n".encode()
    )
    assert raw_http.head() == (100, {})
    raw_http.send(body)
    status, answer = raw_http.answer()
    assert (status, json.loads(answer)["labels"]) == (200, {"a": "b"})


def test_continue_is_not_said_for_a_body_that_is_too_large(raw_http: RawHttp, path: str) -> None:
    answer = raw_http.ask(
        f"PUT {path}", "Expect: 100-continue", f"Content-Length: {BODY_BYTES + 1}"
    )
    assert refusal_of(answer) == (400, TOO_LARGE)


@pytest.mark.parametrize(
    "headers",
    [
        (),
        ("Content-Type: text/plain",),
        ("Content-Type: application/x-www-form-urlencoded",),
        ("Content-Type: nonsense",),
        ("Content-Type: application/json; charset=latin-1",),
    ],
)
def test_a_body_is_json_whatever_its_type_says(
    raw_http: RawHttp, names: Names, headers: tuple[str, ...]
) -> None:
    body = b'{"labels": {"a": "b"}}'
    status, answer = raw_http.ask(
        f"PUT /v1/{names.topic()}", *headers, f"Content-Length: {len(body)}", body=body
    )
    assert (status, json.loads(answer)["labels"]) == (200, {"a": "b"})


def test_a_body_that_a_method_has_no_use_for(rest: Rest, path: str) -> None:
    assert rest("GET", path, b"not json").status == 200
    assert rest("DELETE", path, b"not json").status == 200


@spec("RST-14")
@pytest.mark.parametrize("body", [None, b"", b"{}", b" "])
def test_no_body_is_an_empty_one(rest: Rest, names: Names, body: bytes | None) -> None:
    assert rest("PUT", f"/v1/{names.topic()}", body).json == {"name": names.topic()}
    answer = rest("POST", f"/v1/{names.topic()}:testIamPermissions", body)
    assert (answer.status, answer.json) == (200, {})


def test_a_client_that_leaves_within_its_body_leaves_nothing(
    own_emulator: Emulator, caplog: pytest.LogCaptureFixture
) -> None:
    inside, gone = Inside(own_emulator), RawHttp(own_emulator.port)
    gone.send(b"PUT /v1/projects/p/topics/t HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{")
    until(lambda: inside.connections() == 1)
    gone.close()
    until(lambda: inside.connections() == 0)
    assert [each for each in caplog.records if each.levelname in ("WARNING", "ERROR")] == []


@pytest.mark.parametrize(
    ("encoding", "member"),
    [
        ("gzip", gzip.compress(b"")),
        ("x-gzip", gzip.compress(b" ")),
        ("deflate", zlib.compress(b"")),
    ],
)
def test_ten_megabytes_of_empty_parts_are_not_gone_through(
    rest: Rest, path: str, encoding: str, member: bytes
) -> None:
    body = member * (10_000_000 // len(member))
    answer = rest("PUT", path, body, content_encoding=encoding)
    text = f"The request's body has more than 100 parts of {encoding} data."
    assert (answer.status, answer.error["message"]) == (400, text)
    unpacker = Unpacker(encoding)
    with pytest.raises(InvalidArgument):
        unpacker.take(body)
    assert unpacker.members == 100


def test_a_body_of_as_many_parts_as_are_allowed(rest: Rest, names: Names) -> None:
    body = gzip.compress(b"") * 99 + gzip.compress(b'{"labels": {"a": "b"}}')
    answer = rest("PUT", f"/v1/{names.topic()}", body, content_encoding="gzip")
    assert (answer.status, answer.json["labels"]) == (200, {"a": "b"})
