"""What a StreamingPull may ask for, in its first request and later."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from emulator.api import pubsub
from tests.inside import Inside
from tests.service.streams import RawStream, ids, lease_ends_in_s
from tests.spec import spec
from tests.wire import Names, Wire, data, until

INVALID = grpc.StatusCode.INVALID_ARGUMENT
OUT_OF_BOUNDS = (
    "Invalid ack deadline given (ack_deadline={}). The ack deadline must be between {} and 600 "
    "seconds."
)
UNEQUAL = (
    "Invalid arguments provided: the number of ack ids to modify must be equal to the number of "
    "ack deadlines."
)


@pytest.fixture
def subscription(wire: Wire, names: Names) -> str:
    wire.create(names.topic(), names.subscription())
    return names.subscription()


# --- the first request ---


@spec("STR-01", "STR-06")
@pytest.mark.parametrize("deadline_s", [10, 600])
def test_a_subscription_and_a_deadline_open_a_stream(
    wire: Wire, names: Names, subscription: str, deadline_s: int
) -> None:
    with RawStream(wire, subscription, stream_ack_deadline_seconds=deadline_s) as stream:
        wire.publish(names.topic(), b"x")
        response = stream.response()
        assert data(response.received_messages) == [b"x"]
        assert response.HasField("subscription_properties")


@spec("STR-01", "DLV-20")
def test_the_streams_deadline_counts_and_not_the_subscriptions(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    with RawStream(wire, subscription, stream_ack_deadline_seconds=10) as stream:
        wire.publish(names.topic(), b"x")
        [received] = stream.receive(1)
        assert lease_ends_in_s(inside, subscription, received.ack_id) <= 10


@spec("STR-03")
@pytest.mark.parametrize("deadline_s", [0, -1, 1, 9, 601, 2**31 - 1])
def test_a_first_request_needs_a_deadline(wire: Wire, subscription: str, deadline_s: int) -> None:
    stream = RawStream(wire, subscription, stream_ack_deadline_seconds=deadline_s)
    assert stream.end() == (INVALID, OUT_OF_BOUNDS.format(deadline_s, 10))


@spec("STR-03")
@pytest.mark.parametrize("first", [{}, {"stream_ack_deadline_seconds": 10}])
def test_a_first_request_needs_a_subscription(wire: Wire, first: dict[str, Any]) -> None:
    stream = RawStream(wire)
    stream.send(**first)
    code, text = stream.end()
    assert code is INVALID
    assert "subscription" in text


@spec("STR-03", "ERR-01")
def test_the_subscriptions_name_must_be_one(wire: Wire) -> None:
    code, text = RawStream(wire, "projects/p/topics/t").end()
    assert code is INVALID
    assert text.startswith("Invalid resource name given (name=projects/p/topics/t).")


@spec("STR-03", "ERR-02")
def test_the_subscription_must_exist(wire: Wire, names: Names) -> None:
    end = RawStream(wire, names.subscription("nothing")).end()
    assert end == (grpc.StatusCode.NOT_FOUND, "Resource not found (resource=nothing).")


@spec("STR-03", "ERR-40")
@pytest.mark.parametrize(
    "export",
    [
        {"bigquery_config": {"table": "p.d.t"}},
        {"bigtable_config": {"table": "projects/p/instances/i/tables/t"}},
        {"cloud_storage_config": {"bucket": "bucket"}},
    ],
    ids=lambda export: next(iter(export)),
)
def test_an_export_cannot_be_streamed(wire: Wire, names: Names, export: dict[str, Any]) -> None:
    wire.create(names.topic())
    given = pubsub.Subscription(name=names.subscription(), topic=names.topic(), **export)
    wire("CreateSubscription", given)
    code, text = RawStream(wire, names.subscription()).end()
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert text == "This method is not supported for this subscription type."


@spec("STR-03", "ERR-41", "SUB-21")
def test_a_detached_subscription_cannot_be_streamed(wire: Wire, subscription: str) -> None:
    wire("DetachSubscription", pubsub.DetachSubscriptionRequest(subscription=subscription))
    code, _ = RawStream(wire, subscription).end()
    assert code is grpc.StatusCode.FAILED_PRECONDITION


@spec("STR-03")
def test_a_first_request_that_cannot_be_read(wire: Wire) -> None:
    stream = RawStream(wire)
    stream.send_bytes(b"\xff\xff\xff")
    code, text = stream.end()
    assert code is INVALID
    assert "google.pubsub.v1.StreamingPullRequest" in text


@spec("STR-01", "STR-04")
def test_the_first_request_may_settle_leases(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    wire.publish(names.topic(), b"acked", b"nacked", b"extended")
    taken = dict(zip(["acked", "nacked", "extended"], ids(wire.pull(subscription)), strict=True))
    first: dict[str, Any] = {
        "ack_ids": [taken["acked"]],
        "modify_deadline_ack_ids": [taken["nacked"], taken["extended"]],
        "modify_deadline_seconds": [0, 20],
    }
    with RawStream(wire, subscription, **first) as stream:
        assert data(stream.receive(1)) == [b"nacked"]
        assert inside.counts(subscription) == (0, 2)
        assert lease_ends_in_s(inside, subscription, taken["extended"]) <= 20


@spec("STR-04", "STR-03")
def test_a_first_request_is_refused_for_its_leases_as_a_later_one_is(
    wire: Wire, subscription: str
) -> None:
    stream = RawStream(wire, subscription, modify_deadline_seconds=[10])
    assert stream.end() == (INVALID, UNEQUAL)


# --- later requests ---


@spec("STR-02")
@pytest.mark.parametrize(
    "field", ["max_outstanding_messages", "max_outstanding_bytes", "protocol_version"]
)
@pytest.mark.parametrize("value", [1, -1])
def test_later_requests_may_not_set_what_the_first_sets(
    wire: Wire, subscription: str, field: str, value: int
) -> None:
    with RawStream(wire, subscription) as stream:
        stream.send(**{field: value})
        code, text = stream.end()
        assert code is INVALID
        assert field in text


@spec("STR-02")
def test_later_requests_may_not_name_a_subscription(wire: Wire, subscription: str) -> None:
    with RawStream(wire, subscription) as stream:
        stream.send(subscription=subscription)
        code, text = stream.end()
        assert code is INVALID
        assert "subscription" in text


@spec("STR-02")
@pytest.mark.parametrize("deadline_s", [-1, 1, 9, 601])
def test_a_later_deadline_must_be_in_bounds(wire: Wire, subscription: str, deadline_s: int) -> None:
    with RawStream(wire, subscription) as stream:
        stream.send(stream_ack_deadline_seconds=deadline_s)
        assert stream.end() == (INVALID, OUT_OF_BOUNDS.format(deadline_s, 10))


@spec("STR-02", "STR-15")
def test_a_repeated_client_id_is_ignored(wire: Wire, names: Names, subscription: str) -> None:
    with RawStream(wire, subscription, client_id="me") as stream:
        stream.send(client_id="me")
        stream.send(client_id="somebody else")
        wire.publish(names.topic(), b"x")
        assert data(stream.receive(1)) == [b"x"]


@spec("STR-02", "DLV-20")
def test_a_later_deadline_holds_for_later_messages(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    with RawStream(wire, subscription, protocol_version=1) as stream:
        assert stream.response().received_messages == []
        wire.publish(names.topic(), b"before")
        [before] = stream.receive(1)
        stream.send(stream_ack_deadline_seconds=10)
        assert stream.response().received_messages == []  # so it has been taken
        wire.publish(names.topic(), b"after")
        [after] = stream.receive(1)
        assert lease_ends_in_s(inside, subscription, before.ack_id) > 10
        assert lease_ends_in_s(inside, subscription, after.ack_id) <= 10


@spec("STR-04", "DLV-29")
def test_later_requests_settle_leases(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    with RawStream(wire, subscription) as stream:
        wire.publish(names.topic(), b"0", b"1", b"2")
        acked, nacked, extended = ids(stream.receive(3))
        stream.send(
            ack_ids=[acked],
            modify_deadline_ack_ids=[nacked, extended],
            modify_deadline_seconds=[0, 20],
        )
        [again] = stream.receive(1)
        assert again.message.data == b"1"
        assert inside.counts(subscription) == (0, 2)
        assert lease_ends_in_s(inside, subscription, extended) <= 20
        wire.acknowledge(subscription, [again])
        stream.send(ack_ids=[extended])
        until(lambda: inside.counts(subscription) == (0, 0))


@spec("STR-04", "DLV-24", "DLV-23")
def test_ids_of_ended_leases_do_no_harm(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    with RawStream(wire, subscription) as stream:
        wire.publish(names.topic(), b"x")
        [first] = ids(stream.receive(1))
        stream.send(modify_deadline_ack_ids=[first], modify_deadline_seconds=[0])
        [second] = ids(stream.receive(1))
        stream.send(ack_ids=[first, first])
        stream.send(modify_deadline_ack_ids=[first], modify_deadline_seconds=[0])
        wire.publish(names.topic(), b"y")
        assert data(stream.receive(1)) == [b"y"]  # and not x again
        assert inside.counts(subscription) == (0, 2)
        stream.send(ack_ids=[second, second])
        until(lambda: inside.counts(subscription) == (0, 1))


BAD_ID = "You have passed an invalid ack ID to the service (ack_id=nonsense)."
ABORTS: dict[str, tuple[dict[str, Any], str]] = {
    "more ids": ({"modify_deadline_ack_ids": ["LIVE"]}, UNEQUAL),
    "more deadlines": ({"modify_deadline_seconds": [10]}, UNEQUAL),
    "below": (
        {"modify_deadline_ack_ids": ["LIVE"], "modify_deadline_seconds": [-1]},
        OUT_OF_BOUNDS.format(-1, 0),
    ),
    "above": (
        {"modify_deadline_ack_ids": ["LIVE"], "modify_deadline_seconds": [601]},
        OUT_OF_BOUNDS.format(601, 0),
    ),
    "bad ack id": ({"ack_ids": ["nonsense"]}, BAD_ID),
    "bad modack id": (
        {"modify_deadline_ack_ids": ["nonsense"], "modify_deadline_seconds": [10]},
        BAD_ID,
    ),
}


@spec("STR-04", "STR-05", "ERR-11", "ERR-12", "ERR-16")
@pytest.mark.parametrize("case", ABORTS)
def test_an_abort_changes_nothing_and_loses_nothing(
    wire: Wire, names: Names, subscription: str, inside: Inside, case: str
) -> None:
    fields, text = ABORTS[case]
    with RawStream(wire, subscription) as stream:
        wire.publish(names.topic(), b"0", b"1")
        received = stream.receive(2)
        live = ids(received)
        request = pubsub.StreamingPullRequest(**fields)
        if request.modify_deadline_ack_ids == ["LIVE"]:
            request.modify_deadline_ack_ids[:] = live[:1]
        request.ack_ids.append(live[1])
        stream.send_bytes(request.SerializeToString())
        assert stream.end() == (INVALID, text)
    assert inside.counts(subscription) == (0, 2)
    wire.acknowledge(subscription, received)
    assert inside.counts(subscription) == (0, 0)


@spec("STR-02")
def test_a_later_request_that_cannot_be_read(wire: Wire, subscription: str) -> None:
    with RawStream(wire, subscription) as stream:
        stream.send_bytes(b"\xff\xff\xff")
        assert stream.end()[0] is INVALID


# --- pings ---


@spec("STR-11", "STR-06")
def test_empty_requests_are_answered_where_the_client_expects_it(
    wire: Wire, names: Names, subscription: str
) -> None:
    with RawStream(wire, subscription, protocol_version=1, max_outstanding_messages=1) as stream:
        pong = stream.response()
        assert pong == pubsub.StreamingPullResponse(subscription_properties={})
        for _ in range(10):
            stream.send()
            assert stream.response() == pong
        wire.publish(names.topic(), b"0", b"1")
        assert data(stream.receive(1)) == [b"0"]
        stream.send()  # the window is full now
        assert stream.response() == pong


@spec("STR-12", "STR-10")
def test_empty_requests_are_not_answered_otherwise(
    wire: Wire, names: Names, subscription: str
) -> None:
    with RawStream(wire, subscription) as stream:
        for _ in range(10):
            stream.send()
        wire.publish(names.topic(), b"x")
        assert data(stream.response().received_messages) == [b"x"]
        stream.half_close()
        assert list(stream.rest()) == []


@spec("STR-06")
def test_every_response_says_what_the_subscription_is(
    wire: Wire, names: Names, subscription: str
) -> None:
    messages = pongs = 0
    with RawStream(wire, subscription, protocol_version=1) as stream:
        for number in range(5):
            wire.publish(names.topic(), b"%d" % number)
            stream.send()
        while (messages, pongs) != (5, 6):
            response = stream.response()
            assert response.HasField("subscription_properties")
            messages += len(response.received_messages)
            pongs += not response.received_messages
