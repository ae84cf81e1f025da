"""Pull by REST: it waits, and takes no message along when its client leaves."""

from __future__ import annotations

import base64
import json
import re

from emulator.api import pubsub
from emulator.testing import Emulator
from emulator.transport.rest.call import PATIENCE_S, RestCall
from tests.inside import Inside
from tests.spec import spec
from tests.transport.rest.client import RawHttp, Rest
from tests.wire import Names, Wire, data, until


def pull_request(subscription: str) -> bytes:
    body = b'{"maxMessages": 10}'
    head = (
        f"POST /v1/{subscription}:pull HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@spec("RST-61", "RST-62", "PUL-05", "PUB-08")
def test_publish_pull_acknowledge(rest: Rest, names: Names) -> None:
    topic, subscription = f"/v1/{names.topic()}", f"/v1/{names.subscription()}"
    rest("PUT", topic)
    rest("PUT", subscription, {"topic": names.topic()})
    messages = [{"data": "dHdv", "attributes": {"n": "1"}}, {"attributes": {"only": ""}}]
    published = rest("POST", f"{topic}:publish", {"messages": messages})
    assert published.json.keys() == {"messageIds"}
    pulled = rest("POST", f"{subscription}:pull", {"maxMessages": 10}).json["receivedMessages"]
    for received, message, message_id in zip(
        pulled, messages, published.json["messageIds"], strict=True
    ):
        assert received.keys() == {"ackId", "message"}
        publish_time = received["message"].pop("publishTime")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z", publish_time)
        assert received["message"] == {**message, "messageId": message_id}
    ack_ids = {"ackIds": [each["ackId"] for each in pulled]}
    assert rest("POST", f"{subscription}:acknowledge", ack_ids).text == "{}\n"


@spec("PUL-02", "PUL-03")
def test_an_empty_answer_is_an_empty_object(rest: Rest, wire: Wire, names: Names) -> None:
    wire.create(names.topic(), names.subscription())
    body = {"maxMessages": 1, "returnImmediately": True}
    assert rest("POST", f"/v1/{names.subscription()}:pull", body).text == "{}\n"


@spec("PUL-03")
def test_a_client_says_how_long_it_waits(rest: Rest, wire: Wire, names: Names) -> None:
    wire.create(names.topic(), names.subscription())
    path = f"/v1/{names.subscription()}:pull"
    assert rest("POST", path, {"maxMessages": 1}, x_server_timeout="0.01").text == "{}\n"


@spec("PUL-03")
def test_patience() -> None:
    """Less than the minute after which many HTTP clients give up."""
    assert RestCall(pubsub.PullRequest()).remaining_s() == PATIENCE_S < 60
    assert RestCall(pubsub.PullRequest(), 70.0).remaining_s() == 70.0


@spec("PUL-03")
def test_a_waiting_pull_gets_what_is_published_meanwhile(
    raw_http: RawHttp, wire: Wire, names: Names, inside: Inside
) -> None:
    wire.create(names.topic(), names.subscription())
    raw_http.send(pull_request(names.subscription()))
    until(lambda: inside.waiting(names.subscription()) == 1)
    wire.publish(names.topic(), b"late")
    status, body = raw_http.answer()
    [received] = json.loads(body)["receivedMessages"]
    assert (status, base64.b64decode(received["message"]["data"])) == (200, b"late")
    assert inside.waiting(names.subscription()) == 0


@spec("PUL-06")
def test_a_client_that_leaves_takes_no_message_along(
    emulator: Emulator, wire: Wire, names: Names, inside: Inside
) -> None:
    wire.create(names.topic(), names.subscription())
    for _ in range(5):
        gone = RawHttp(emulator.port)
        gone.send(pull_request(names.subscription()))
        until(lambda: inside.waiting(names.subscription()) == 1)
        gone.close()
        until(lambda: inside.waiting(names.subscription()) == 0)
    wire.publish(names.topic(), b"a")
    assert inside.counts(names.subscription()) == (1, 0)
    assert data(wire.pull(names.subscription())) == [b"a"]


@spec("PUL-06")
def test_an_answer_that_nobody_takes_gives_its_messages_back(
    emulator: Emulator, wire: Wire, names: Names, inside: Inside
) -> None:
    """The answer is larger than what fits between the server and a client that does not read."""
    wire.create(names.topic(), names.subscription())
    wire.publish(names.topic(), bytes(9_000_000))
    gone = RawHttp(emulator.port)
    gone.send(pull_request(names.subscription()))
    until(lambda: inside.counts(names.subscription()) == (0, 1))
    gone.close()
    until(lambda: inside.counts(names.subscription()) == (1, 0))


@spec("SUB-20")
def test_a_waiting_pull_hears_of_the_end(
    raw_http: RawHttp, wire: Wire, names: Names, inside: Inside
) -> None:
    wire.create(names.topic(), names.subscription())
    raw_http.send(pull_request(names.subscription()))
    until(lambda: inside.waiting(names.subscription()) == 1)
    wire("DeleteSubscription", pubsub.DeleteSubscriptionRequest(subscription=names.subscription()))
    status, body = raw_http.answer()
    assert (status, json.loads(body)["error"]["status"]) == (404, "NOT_FOUND")


def test_a_waiting_pull_is_answered_when_the_server_stops(own_emulator: Emulator) -> None:
    names = Names("stopping")
    wire, raw = Wire(own_emulator.host_port), RawHttp(own_emulator.port)
    wire.create(names.topic(), names.subscription())
    wire.close()
    raw.send(pull_request(names.subscription()))
    inside = Inside(own_emulator)
    until(lambda: inside.waiting(names.subscription()) == 1)
    own_emulator.stop()
    assert raw.answer() == (200, b"{}\n")
    raw.close()


@spec("DLV-27")
def test_the_size_of_acks_is_not_limited_here(rest: Rest, wire: Wire, names: Names) -> None:
    wire.create(names.topic(), names.subscription())
    wire.publish(names.topic(), b"a")
    [received] = wire.pull(names.subscription())
    ack_ids = [received.ack_id] * (600_000 // len(received.ack_id))
    answer = rest("POST", f"/v1/{names.subscription()}:acknowledge", {"ackIds": ack_ids})
    assert (answer.status, answer.text) == (200, "{}\n")


def test_an_abandoned_call_tells_once() -> None:
    call, told = RestCall(pubsub.PullRequest()), []
    call.on_abandoned(lambda: told.append(1))
    call.abandon()
    call.abandon()
    assert told == [1]


def test_the_encoded_request_is_what_was_asked() -> None:
    request = pubsub.PullRequest(subscription="s", max_messages=3)
    call = RestCall(request)
    assert pubsub.PullRequest.FromString(call.encoded) == request
    assert call.limited_bytes == 0
