"""Which requests the guard lets pass: a table, and what becomes of those that it does not."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from emulator.server import Options
from emulator.testing import Emulator
from emulator.transport.web_guard import WebGuard
from tests.transport.rest.client import RawHttp, Rest
from tests.wire import Names, Wire

EVIL = "https://evil.example"


def refusal(
    host: str = "localhost:8085",
    origin: str | None = None,
    site: str | None = None,
    guard: WebGuard | None = None,
) -> str | None:
    origins, sites = [origin] if origin else [], [site] if site else []
    return (guard or WebGuard()).refusal(hosts=[host], origins=origins, sites=sites)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LocalHost:8085",
        "localhost.:8085",
        "pubsub.localhost:8085",
        "127.0.0.1:8085",
        "127.1:8085",
        "0.0.0.0:8085",
        "10.1.2.3",
        "[::1]:8085",
        "[fe80::1%25eth0]:8085",
        "::1",
        "pubsub:8085",  # a service of a compose file
        "pub_sub-1",
        "",
        "host.docker.internal:8085",
        "gateway.docker.internal",
        "host.containers.internal:8085",
    ],
)
def test_hosts_that_programs_use_are_answered(host: str) -> None:
    assert refusal(host) is None


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("evil.example", "evil.example"),
        ("Evil.Example:8085", "evil.example"),
        ("localhost.evil.example:8085", "localhost.evil.example"),
        ("notlocalhost.example", "notlocalhost.example"),
        ("127.0.0.1.evil.example:8085", "127.0.0.1.evil.example"),
        ("127.0.0.1.nip.io", "127.0.0.1.nip.io"),
        ("evil.example.:8085", "evil.example."),
        ("evil.", "evil."),
        ("docker.internal", "docker.internal"),
        ("evil.example:port", "evil.example:port"),
    ],
)
def test_a_host_that_a_page_may_have_made_up_is_refused(host: str, name: str) -> None:
    assert refusal(host) == (
        f'This emulator does not answer to the host name "{name}": '
        f"start it with --allow-host {name} if it should."
    )


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8085", "http://localhost:3000"),
        ("localhost:8085", "https://localhost"),
        ("localhost:8085", "http://app.localhost:3000"),
        ("localhost:8085", "http://127.0.0.1:3000"),
        ("localhost:8085", "http://127.8.8.8"),
        ("pubsub:8085", "http://[::1]:3000"),
        # Pages that came from the emulator itself.
        ("10.1.2.3:8085", "http://10.1.2.3:8085"),
        ("[fd00::7]:8085", "http://[fd00::7]:8085"),
        ("host.docker.internal:8085", "http://host.docker.internal:8085"),
    ],
)
@pytest.mark.parametrize("site", [None, "cross-site", "same-site", "same-origin"])
def test_the_machines_own_pages_are_answered(host: str, origin: str, site: str | None) -> None:
    assert refusal(host, origin, site) is None


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8085", EVIL),
        ("127.0.0.1:8085", "http://evil.example:8085"),
        ("localhost:8085", "null"),
        ("localhost:8085", "http://localhost.evil.example"),
        ("localhost:8085", "http://127.0.0.1.evil.example"),
        ("localhost:8085", "http://127.evil.example"),
        ("localhost:8085", "http://10.1.2.3:8085"),
        ("10.1.2.3:8085", "http://10.1.2.3:3000"),
        ("localhost:8085", "chrome-extension://localhost"),
        ("localhost:8085", "localhost"),
        ("localhost:8085", "http://[::1"[:-1]),
        ("pubsub:8085", "http://app:3000"),
        # A network says where such a name leads, so the page may be its owner's.
        ("pubsub:8085", "http://pubsub:8085"),
    ],
)
def test_a_page_of_others_is_refused(host: str, origin: str) -> None:
    assert refusal(host, origin) == (
        f"Web pages of {origin} may not use this emulator: "
        f"start it with --allow-origin {origin} if they should."
    )


@pytest.mark.parametrize(
    ("site", "is_answered"),
    [
        (None, True),
        ("none", True),  # typed into the address bar
        ("same-origin", True),
        ("same-site", True),
        ("cross-site", False),
        ("Cross-Site", False),
    ],
)
def test_an_image_or_link_of_another_site_is_refused(site: str | None, is_answered: bool) -> None:
    assert (refusal(site=site) is None) == is_answered


def test_every_value_of_a_header_counts() -> None:
    guard = WebGuard()
    assert guard.refusal(hosts=["localhost", "evil.example"], origins=[], sites=[])
    assert guard.refusal(hosts=[], origins=["http://localhost", EVIL], sites=[])
    assert guard.refusal(hosts=[], origins=[], sites=["same-origin", "cross-site"])
    assert guard.refusal(hosts=[], origins=[], sites=[]) is None  # HTTP/1.0


@pytest.mark.parametrize(
    ("allowed", "origin", "is_answered"),
    [
        ("https://app.example", "https://app.example", True),
        ("https://App.example:443", "https://app.example", True),
        ("http://app.example", "http://app.example:80", True),
        ("https://app.example", "http://app.example", False),
        ("https://app.example", "https://app.example:8443", False),
        ("https://app.example", "https://www.app.example", False),
        ("https://app.example", "null", False),
        ("null", "null", True),
        ("chrome-extension://abc", "chrome-extension://abc", True),
        ("*", EVIL, True),
        ("*", "null", True),
    ],
)
def test_origins_can_be_allowed(allowed: str, origin: str, is_answered: bool) -> None:
    guard = WebGuard(origins=["https://other.example", allowed])
    assert (refusal(origin=origin, site="cross-site", guard=guard) is None) == is_answered


def test_without_an_origin_only_all_pages_can_be_allowed() -> None:
    assert refusal(site="cross-site", guard=WebGuard(origins=[EVIL])) is not None
    assert refusal(site="cross-site", guard=WebGuard(origins=["*"])) is None


@pytest.mark.parametrize(
    ("allowed", "host", "is_answered"),
    [
        ("pubsub.example", "Pubsub.example:8085", True),
        ("Pubsub.Example", "pubsub.example", True),
        ("pubsub.example", "a.pubsub.example", False),
        ("pubsub.example", "evil.example", False),
        ("*.example", "a.b.example:8085", True),
        ("*.example", "aexample.com", False),
        ("*.b.example", "b.example", False),
        ("*", "evil.example", True),
    ],
)
def test_hosts_can_be_allowed(allowed: str, host: str, is_answered: bool) -> None:
    guard = WebGuard(hosts=["other.example", allowed])
    assert (refusal(host, guard=guard) is None) == is_answered


def test_a_page_that_came_from_an_allowed_host_is_answered() -> None:
    guard = WebGuard(hosts=["pubsub.example"])
    assert refusal("pubsub.example:8085", "http://pubsub.example:8085", guard=guard) is None
    assert refusal("pubsub.example:8085", "http://pubsub.example:80", guard=guard) is not None


def test_a_sentence_shows_no_more_than_a_line_of_what_was_sent() -> None:
    assert len(refusal(f"{'a.' * 10_000}example") or "") < 600


# --- on the wire ---

HEADERS = [
    "Host: evil.example:8085",
    f"Host: localhost\r\nOrigin: {EVIL}",
    "Host: localhost\r\nOrigin: null",
    "Host: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors",
    f"Host: localhost\r\nOrigin: http://localhost\r\nOrigin: {EVIL}",
    "Host: localhost\r\nHost: evil.example",
]


def send(raw: RawHttp, line: str, headers: str, body: bytes = b"") -> bytes:
    """Send one request on a connection that ends with it; return all that comes back."""
    head = f"{line} HTTP/1.1\r\n{headers}\r\nConnection: close\r\nContent-Length: {len(body)}"
    raw.send(head.encode() + b"\r\n\r\n" + body)
    return raw.reader.read()


@pytest.mark.parametrize("headers", HEADERS)
@pytest.mark.parametrize(
    "line",
    [
        "GET /",
        "GET /v1/{topic}",
        "DELETE /v1/{topic}",
        "OPTIONS /v1/{topic}",
        "POST /v1/{topic}:publish",
        "POST /reset",
        "POST /shutdown",
        "OPTIONS /reset",
        "GET /nothing",
    ],
)
def test_what_is_refused_is_not_executed(
    rest: Rest, raw_http: RawHttp, names: Names, headers: str, line: str
) -> None:
    rest("PUT", f"/v1/{names.topic()}")
    answer = send(raw_http, line.format(topic=names.topic()), headers, b'{"messages": 1}')
    head, _, body = answer.partition(b"\r\n\r\n")
    # Two names for one host are no HTTP, as aiohttp has it; older ones leave that to the guard.
    assert head.split(b" ")[1] in ({b"400", b"403"} if headers.count("Host") > 1 else {b"403"})
    assert b"access-control-" not in head.lower()
    if b" 403 " in head:
        error = json.loads(body)["error"]
        assert (error["code"], error["status"]) == (403, "PERMISSION_DENIED")
        assert error["message"].count(".") >= 1
    assert rest("GET", f"/v1/{names.topic()}").status == 200


def test_a_refused_pull_takes_no_message(rest: Rest, wire: Wire, names: Names) -> None:
    wire.create(names.topic(), names.subscription())
    wire.publish(names.topic(), b"kept")
    path, body = f"/v1/{names.subscription()}:pull", {"maxMessages": 1, "returnImmediately": True}
    assert rest("POST", path, body, origin=EVIL).status == 403
    assert rest("POST", path, body).json["receivedMessages"]


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "text/plain", ""])
def test_curl_goes_on_working(rest: Rest, names: Names, content_type: str) -> None:
    """`curl -d` says that JSON is a form."""
    body = {"labels": {"a": "b"}}
    answer = rest("PUT", f"/v1/{names.topic()}", body, content_type=content_type)
    assert (answer.status, answer.json["labels"]) == (200, {"a": "b"})


def test_a_page_of_the_machine_may_reset_and_read_that_it_did(own_emulator: Emulator) -> None:
    rest = Rest(own_emulator.host_port)
    origin = "http://localhost:3000"
    asked = rest("OPTIONS", "/reset", origin=origin, access_control_request_method="POST")
    assert asked.headers["access-control-allow-methods"] == "OPTIONS,POST"
    for answer in (asked, rest_text(own_emulator, origin)):
        headers = answer if isinstance(answer, dict) else answer.headers
        assert headers["access-control-allow-origin"] == origin
        assert "access-control-allow-credentials" not in headers
    rest.close()


def rest_text(emulator: Emulator, origin: str) -> dict[str, str]:
    raw = RawHttp(emulator.port)
    raw.send(f"POST /reset HTTP/1.1\r\nHost: a\r\nOrigin: {origin}\r\n\r\n".encode())
    status, headers = raw.head()
    raw.close()
    assert status == 200
    return headers


@pytest.fixture
def open_emulator() -> Iterator[Emulator]:
    options = Options(
        hosts=("127.0.0.1",), port=0, allow_origins=(EVIL,), allow_hosts=("pubsub.example",)
    )
    with Emulator(options) as running:
        yield running


def test_what_is_allowed_is_answered(open_emulator: Emulator, names: Names) -> None:
    rest = Rest(open_emulator.host_port)
    path = f"/v1/{names.topic()}"
    answer = rest("PUT", path, origin=EVIL, sec_fetch_site="cross-site", host="pubsub.example")
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == EVIL
    assert answer.headers["vary"] == "Origin"
    assert "access-control-allow-credentials" not in answer.headers
    assert rest("GET", path, origin="https://other.example").status == 403
    assert rest("GET", path, host="other.example").status == 403
    rest.close()


def test_a_name_that_it_listens_on_is_its_own(names: Names) -> None:
    guard = WebGuard(hosts=Options(hosts=("pubsub.example",)).hosts)
    assert refusal("pubsub.example:8085", guard=guard) is None
