"""HTTP itself: routes on the wire, methods, connections, browsers."""

from __future__ import annotations

import json
import socket

import pytest

from tests.spec import spec
from tests.transport.rest.client import RawHttp, Rest
from tests.wire import Names


@spec("RST-10", "RST-31", "RST-40")
def test_success_is_200_in_pretty_json(rest: Rest, names: Names) -> None:
    path = f"/v1/{names.topic()}"
    created = rest("PUT", path, {})
    assert created.status == 200
    assert created.text == f'{{\n  "name": "{names.topic()}"\n}}\n'
    assert created.headers["content-type"] == "application/json; charset=UTF-8"
    deleted = rest("DELETE", path)
    assert (deleted.status, deleted.text) == (200, "{}\n")


@spec("RST-30")
def test_pretty_print_can_be_switched_off(rest: Rest, names: Names) -> None:
    path = f"/v1/{names.topic()}?prettyPrint=false"
    assert rest("PUT", path).text == f'{{"name":"{names.topic()}"}}\n'
    assert rest("PUT", path).text.startswith('{"error":{"code":409,')


@spec("RST-26")
def test_enums_are_numbers_on_request(rest: Rest, names: Names) -> None:
    rest("PUT", f"/v1/{names.topic()}")
    path = f"/v1/{names.subscription()}"
    rest("PUT", path, {"topic": names.topic()})
    assert rest("GET", path).json["state"] == "ACTIVE"
    assert rest("GET", f"{path}?$alt=json;enum-encoding=int").json["state"] == 1
    assert rest("GET", f"{path}?%24alt=json%3Benum-encoding%3Dint").json["state"] == 1


@spec("RST-30")
def test_fields_of_the_answer(rest: Rest, names: Names) -> None:
    rest("PUT", f"/v1/{names.topic()}", {"labels": {"a": "b"}})
    path = f"/v1/projects/{names.project}/topics"
    assert rest("GET", f"{path}?fields=topics/name").json == {"topics": [{"name": names.topic()}]}
    answer = rest("GET", f"{path}?fields=topics/nam")
    assert (answer.status, answer.error["status"]) == (400, "INVALID_ARGUMENT")


@spec("RST-12", "NAM-14")
@pytest.mark.parametrize(
    ("in_path", "leaf"),
    [
        ("a%2Bb", "a+b"),
        ("a+b", "a+b"),
        ("a%25b", "a%b"),
        ("a%252Bb", "a%2Bb"),
        ("mi-t%25C3%25B3pico", "mi-t%C3%B3pico"),
        ("a%7Eb", "a~b"),
        ("a.b-c_d~e", "a.b-c_d~e"),
        ("%61%62%63", "abc"),
    ],
)
def test_names_are_decoded_once(rest: Rest, names: Names, in_path: str, leaf: str) -> None:
    path = f"/v1/projects/{names.project}/topics/{in_path}"
    assert rest("PUT", path).json == {"name": names.topic(leaf)}
    assert rest("GET", path).json == {"name": names.topic(leaf)}
    answer = rest("POST", f"{path}%3Apublish", {"messages": [{"data": "YQ=="}]})
    assert answer.status == 200


@spec("RST-12", "NAM-15", "ERR-01")
@pytest.mark.parametrize(
    ("in_path", "leaf"),
    [
        ("ab", "ab"),
        ("mi-t%C3%B3pico", "mi-tópico"),
        ("a%20b", "a b"),
        ("abc%00", "abc\0"),
        ("abc%ff", "abc\ufffd"),
        ("goog-x", "goog-x"),
    ],
)
def test_bad_names_are_refused_as_they_were_meant(
    rest: Rest, names: Names, in_path: str, leaf: str
) -> None:
    for method in ("PUT", "GET", "DELETE"):
        answer = rest(method, f"/v1/projects/{names.project}/topics/{in_path}")
        assert (answer.status, answer.error["status"]) == (400, "INVALID_ARGUMENT")
        assert answer.error["message"].startswith(
            f"Invalid resource name given (name={names.topic(leaf)})."
        )


@spec("RST-11")
@pytest.mark.parametrize(
    "line",
    ["GET /v1/projects/p/nothing/x", "POST /v1/projects/p/topics/t", "GET /v1/", "GET /v1/x",
     "POST /v1/projects/p/topics/t:unknown", "PUT /v1beta2/projects/p/topics/t", "TRACE /v1/x"],
)  # fmt: skip
def test_unknown_paths_and_methods(rest: Rest, line: str) -> None:
    method, path = line.split()
    answer = rest(method, path)
    error = {"code": 404, "message": f"No such path: {line}", "status": "NOT_FOUND"}
    assert (answer.status, answer.json) == (404, {"error": error})


@spec("RST-32")
def test_unknown_parameters_are_refused(rest: Rest, names: Names) -> None:
    answer = rest("GET", f"/v1/projects/{names.project}/topics?nope=1&pageSize=x&key=ignored")
    unknown = (
        'Invalid JSON payload received. Unknown name "nope": Cannot bind query parameter. Field '
        "'nope' could not be found in request message."
    )
    wrong = "Invalid value at 'page_size' (TYPE_INT32), \"x\""
    assert (answer.status, answer.error["message"]) == (400, f"{unknown}\n{wrong}")
    assert answer.error["details"] == [
        {
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": [
                {"description": unknown},
                {"field": "page_size", "description": wrong},
            ],
        }
    ]


@spec("TOP-03", "RST-13")
def test_put_obeys_the_path(rest: Rest, names: Names) -> None:
    rest("PUT", f"/v1/{names.topic()}", {"name": names.topic("other")})
    assert rest("GET", f"/v1/{names.topic('other')}").status == 404
    body = {"name": "nonsense", "topic": names.topic()}
    created = rest("PUT", f"/v1/{names.subscription()}", body)
    assert created.json["name"] == names.subscription()
    answer = rest("PUT", f"/v1/{names.topic('third')}", {"name": 1})
    assert answer.error["message"] == "Invalid value at 'name' (TYPE_STRING), 1"


@spec("UPD-13", "RST-13")
def test_patch_refuses_another_name_in_the_body(rest: Rest, names: Names) -> None:
    path = f"/v1/{names.topic()}"
    rest("PUT", path)

    def patch(**topic: object) -> int:
        body = {"topic": {"labels": {"a": "b"}, **topic}, "updateMask": "labels"}
        return rest("PATCH", path, body).status

    assert patch() == 200
    assert patch(name=names.topic()) == 200
    assert patch(name="") == 200
    assert patch(name=None) == 200
    assert patch(name=names.topic("other")) == 400
    answer = rest("POST", f"{path}:publish", {"topic": names.topic("x"), "messages": []})
    assert answer.error["message"] == (
        f"Invalid value at 'topic' (TYPE_STRING), \"{names.topic('x')}\" is not what the path says"
    )


@spec("RST-20")
@pytest.mark.parametrize("mask", ["messageStoragePolicy,labels", "message_storage_policy,labels"])
@pytest.mark.parametrize("name", ["updateMask", "update_mask"])
def test_a_mask_in_the_query_or_in_the_body(rest: Rest, names: Names, mask: str, name: str) -> None:
    path = f"/v1/{names.topic()}"
    rest("PUT", path)
    for number, (query, body) in enumerate([(f"?{name}={mask}", {}), ("", {name: mask})]):
        labels = {"number": str(number)}
        answer = rest("PATCH", f"{path}{query}", {"topic": {"labels": labels}, **body})
        assert answer.json == {"name": names.topic(), "labels": labels}


@spec("RST-33")
def test_the_method_can_be_overridden(rest: Rest, names: Names) -> None:
    path = f"/v1/{names.topic()}"
    assert rest("POST", path, {}, x_http_method_override="PUT").status == 200
    assert rest("POST", path, x_http_method_override="get").json == {"name": names.topic()}
    assert rest("POST", path, {}, x_http_method_override="NONSENSE").status == 404
    assert rest("GET", path, x_http_method_override="DELETE").json == {"name": names.topic()}
    assert rest("POST", path, x_http_method_override="DELETE").json == {}
    assert rest("GET", path).status == 404


@pytest.mark.parametrize("verb", ["validateMessageTransform", "testMessageTransforms"])
def test_what_is_not_supported_says_so(rest: Rest, names: Names, verb: str) -> None:
    answer = rest("POST", f"/v1/projects/{names.project}:{verb}", {"messageTransform": {}})
    assert (answer.status, answer.error["status"]) == (501, "UNIMPLEMENTED")
    assert "message transforms" in answer.error["message"]


@spec("IAM-02")
def test_no_policy_is_an_empty_one(rest: Rest, names: Names) -> None:
    path = f"/v1/{names.topic()}"
    rest("PUT", path)
    for method in ("GET", "POST"):
        assert rest(method, f"{path}:getIamPolicy").json == {"etag": "ACAB"}
    query = "?options.requestedPolicyVersion=3"
    assert rest("GET", f"{path}:getIamPolicy{query}").json == {"etag": "ACAB"}


@spec("LST-05")
def test_empty_lists_are_left_out(rest: Rest, names: Names) -> None:
    assert rest("GET", f"/v1/projects/{names.project}/topics").text == "{}\n"
    assert rest("GET", f"/v1/projects/{names.project}/subscriptions").text == "{}\n"


def test_head_is_get_without_the_body(raw_http: RawHttp, names: Names) -> None:
    path = f"/v1/{names.topic()}"
    _, created = raw_http.ask(f"PUT {path}")
    raw_http.send(f"HEAD {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    status, headers = raw_http.head()
    assert (status, headers["content-length"]) == (200, str(len(created)))
    assert raw_http.ask(f"HEAD {path}:publish")[0] == 404
    assert raw_http.ask(f"GET {path}") == (200, created)


def test_pipelined_requests_are_answered_in_order(raw_http: RawHttp, names: Names) -> None:
    lines = [f"PUT /v1/{names.topic(f'topic{n}')}" for n in range(50)]
    lines.insert(25, "GET /v1/nothing")
    raw_http.send(
        b"".join(
            f"{line} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n".encode() for line in lines
        )
    )
    answers = [json.loads(raw_http.answer()[1]) for _ in lines]
    assert answers.pop(25)["error"]["code"] == 404
    assert answers == [{"name": names.topic(f"topic{n}")} for n in range(50)]


def test_a_connection_is_kept(raw_http: RawHttp, names: Names) -> None:
    for _ in range(3):
        assert raw_http.ask(f"GET /v1/projects/{names.project}/topics") == (200, b"{}\n")
    assert raw_http.ask("GET /v1/nothing")[0] == 404
    raw_http.send(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert raw_http.answer() == (200, b"Ok\n")
    assert raw_http.reader.read() == b""


def test_http_1_0_is_answered_and_closed(raw_http: RawHttp, names: Names) -> None:
    raw_http.send(f"GET /v1/projects/{names.project}/topics HTTP/1.0\r\n\r\n".encode())
    assert raw_http.answer() == (200, b"{}\n")
    assert raw_http.reader.read() == b""


def test_the_absolute_form_of_a_target(raw_http: RawHttp, names: Names) -> None:
    status, body = raw_http.ask(f"PUT http://localhost:1/v1/{names.topic()}?prettyPrint=false")
    assert (status, body) == (200, f'{{"name":"{names.topic()}"}}\n'.encode())


def test_long_headers_are_taken(rest: Rest, names: Names) -> None:
    path = f"/v1/projects/{names.project}/topics"
    assert rest("GET", path, authorization=f"Bearer {'x' * 30_000}").status == 200


ORIGIN = "http://localhost:3000"


@spec("RST-42")
def test_a_page_may_read_answers_and_errors(rest: Rest, names: Names) -> None:
    for path, status in ((f"/v1/projects/{names.project}/topics", 200), ("/v1/nothing", 404)):
        answer = rest("GET", path, origin=ORIGIN)
        assert answer.status == status
        assert answer.headers["access-control-allow-origin"] == ORIGIN
        assert answer.headers["vary"] == "Origin"
        assert "access-control-allow-origin" not in rest("GET", path).headers


@spec("RST-42")
def test_a_page_may_ask_first(rest: Rest, names: Names) -> None:
    answer = rest(
        "OPTIONS",
        f"/v1/{names.topic()}",
        origin=ORIGIN,
        access_control_request_method="PUT",
        access_control_request_headers="authorization,content-type",
    )
    assert (answer.status, answer.text) == (200, "")
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert answer.headers["access-control-allow-methods"] == "DELETE,GET,HEAD,OPTIONS,PATCH,PUT"
    assert answer.headers["access-control-allow-headers"] == "authorization,content-type"
    assert rest("OPTIONS", "/v1/nothing", origin=ORIGIN).status == 404


def test_options_tells_methods(rest: Rest, names: Names) -> None:
    answer = rest("OPTIONS", f"/v1/{names.topic()}:publish")
    assert (answer.status, answer.headers["allow"]) == (200, "OPTIONS,POST")
    assert "access-control-allow-methods" not in answer.headers


def test_both_families_of_http_share_the_port(raw_http: RawHttp, names: Names) -> None:
    """JSON by HTTP/2 is taken for gRPC, which refuses it without harm to others."""
    with socket.create_connection(raw_http._socket.getpeername()) as http2:
        http2.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert raw_http.ask(f"GET /v1/projects/{names.project}/topics") == (200, b"{}\n")


@pytest.mark.parametrize("leaf", [b"t\xc3\xb3pico", b"\xff\xfe"])
def test_a_path_that_was_not_escaped_is_not_http(raw_http: RawHttp, leaf: bytes) -> None:
    raw_http.send(b"GET /v1/projects/p/topics/" + leaf + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    assert raw_http.answer()[0] == 400
    assert raw_http.reader.read() == b""


@spec("RST-60", "SUB-13", "RST-21")
def test_the_json_of_a_subscription(rest: Rest, names: Names) -> None:
    rest("PUT", f"/v1/{names.topic()}")
    created = rest("PUT", f"/v1/{names.subscription()}", {"topic": names.topic()})
    assert created.json == {
        "name": names.subscription(),
        "topic": names.topic(),
        "pushConfig": {},
        "ackDeadlineSeconds": 10,
        "messageRetentionDuration": "604800s",
        "expirationPolicy": {"ttl": "2678400s"},
        "state": "ACTIVE",
    }
    assert list(created.json) == [
        "name", "topic", "pushConfig", "ackDeadlineSeconds", "messageRetentionDuration",
        "expirationPolicy", "state",
    ]  # fmt: skip
