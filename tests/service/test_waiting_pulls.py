"""Pulls that find nothing and wait: what ends the wait, and who gets what comes."""

from __future__ import annotations

import http.client

import grpc
import pytest

from emulator.api import pubsub
from emulator.testing import Emulator
from tests.inside import Inside
from tests.spec import spec
from tests.wire import HANG_LIMIT_S, Names, Wire, data, refusal, until


@pytest.fixture
def subscription(wire: Wire, names: Names) -> str:
    wire.create(names.topic(), names.subscription())
    return names.subscription()


@spec("PUL-02", "PUL-03")
@pytest.mark.parametrize("timeout_s", [0.05, 0.5, 2.0])
def test_an_empty_answer_comes_before_the_callers_time_is_up(
    wire: Wire, subscription: str, inside: Inside, timeout_s: float
) -> None:
    def is_answered() -> bool:
        call = wire.start_pull(subscription, timeout_s=timeout_s)
        if call.code() is grpc.StatusCode.OK:
            assert call.result().received_messages == []
            return True
        assert call.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        return False

    # A machine that stalls for longer than the margin makes a call miss; so there are several.
    assert any(is_answered() for _ in range(50))
    until(lambda: inside.waiting(subscription) == 0)


@spec("PUL-03")
def test_without_a_deadline_it_waits_until_it_is_cancelled(
    wire: Wire, subscription: str, inside: Inside
) -> None:
    call = wire.start_pull(subscription)
    until(lambda: inside.waiting(subscription) == 1)
    assert not call.done()
    call.cancel()
    until(lambda: inside.waiting(subscription) == 0)


@spec("PUL-03")
def test_return_immediately_answers_without_waiting(
    wire: Wire, subscription: str, inside: Inside
) -> None:
    assert wire.peek(subscription) == []
    assert inside.waiting(subscription) == 0


@spec("PUL-03", "PUL-05")
def test_a_message_completes_a_waiting_pull(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    call = wire.start_pull(subscription)
    until(lambda: inside.waiting(subscription) == 1)
    [message_id] = wire.publish(names.topic(), b"x")
    [received] = call.result(HANG_LIMIT_S).received_messages  # the server itself would wait 90 s
    assert (received.message.data, received.message.message_id) == (b"x", message_id)
    assert received.delivery_attempt == 0


@spec("DLV-03")
def test_a_nack_completes_a_waiting_pull(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    wire.publish(names.topic(), b"x")
    taken = wire.pull(subscription)
    call = wire.start_pull(subscription)
    until(lambda: inside.waiting(subscription) == 1)
    wire.modify(subscription, taken, 0)
    assert data(call.result(HANG_LIMIT_S).received_messages) == [b"x"]


@spec("PUL-04", "ERR-02")
def test_deletion_wakes_waiting_pulls(wire: Wire, subscription: str, inside: Inside) -> None:
    calls = [wire.start_pull(subscription) for _ in range(3)]
    until(lambda: inside.waiting(subscription) == 3)
    wire("DeleteSubscription", pubsub.DeleteSubscriptionRequest(subscription=subscription))
    for call in calls:
        assert call.exception(HANG_LIMIT_S).code() is grpc.StatusCode.NOT_FOUND
        assert call.details() == "Resource not found (resource=subscription)."


@spec("PUL-04", "ERR-02")
def test_reset_wakes_waiting_pulls(own_emulator: Emulator, names: Names) -> None:
    wire, inside = Wire(own_emulator.host_port), Inside(own_emulator)
    wire.create(names.topic(), names.subscription())
    calls = [wire.start_pull(names.subscription()) for _ in range(3)]
    until(lambda: inside.waiting(names.subscription()) == 3)
    connection = http.client.HTTPConnection(own_emulator.host_port, timeout=HANG_LIMIT_S)
    connection.request("POST", "/reset")
    assert connection.getresponse().status == 200
    connection.close()
    for call in calls:
        assert call.exception(HANG_LIMIT_S).code() is grpc.StatusCode.NOT_FOUND
    request = pubsub.GetTopicRequest(topic=names.topic())
    assert refusal(lambda: wire("GetTopic", request)).code() is grpc.StatusCode.NOT_FOUND
    wire.close()


def test_a_stopping_server_answers_waiting_pulls(own_emulator: Emulator, names: Names) -> None:
    wire, inside = Wire(own_emulator.host_port), Inside(own_emulator)
    wire.create(names.topic(), names.subscription())
    call = wire.start_pull(names.subscription())
    until(lambda: inside.waiting(names.subscription()) == 1)
    own_emulator.stop()
    assert call.result(HANG_LIMIT_S).received_messages == []
    wire.close()


@spec("DLV-02", "DLV-09")
def test_one_message_wakes_one_of_several(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    calls = [wire.start_pull(subscription, 1) for _ in range(5)]
    until(lambda: inside.waiting(subscription) == 5)
    wire.publish(names.topic(), b"0")
    until(lambda: any(call.done() for call in calls))
    assert inside.waiting(subscription) == 4
    for number in range(1, 5):
        wire.publish(names.topic(), b"%d" % number)
    received = [data(call.result(HANG_LIMIT_S).received_messages) for call in calls]
    assert sorted(received) == [[b"0"], [b"1"], [b"2"], [b"3"], [b"4"]]


@spec("DLV-06", "DLV-09", "PUL-02")
def test_messages_of_one_publish_are_shared_and_none_is_lost(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    calls = [wire.start_pull(subscription, 10) for _ in range(5)]
    until(lambda: inside.waiting(subscription) == 5)
    sent = [b"%03d" % number for number in range(25)]
    wire.publish(names.topic(), *sent)

    def received() -> list[bytes]:
        answers = [call.result().received_messages for call in calls if call.done()]
        return [message for answer in answers for message in data(answer)]

    until(lambda: len(received()) >= len(sent))
    assert sorted(received()) == sent
    assert inside.counts(subscription).leased == len(sent)
    for call in calls:
        call.cancel()


@spec("PUL-03", "DLV-09")
def test_a_thousand_pulls_wait_on_one_connection(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    calls = [wire.start_pull(subscription, 1) for _ in range(1_000)]
    until(lambda: inside.waiting(subscription) == 1_000)
    sent = [b"%04d" % number for number in range(1_000)]
    wire.publish(names.topic(), *sent)
    received = [call.result(HANG_LIMIT_S).received_messages for call in calls]
    assert all(len(each) == 1 for each in received)
    assert sorted(data([message for [message] in received])) == sent
    assert inside.counts(subscription) == (0, 1_000)
    wire.acknowledge(subscription, [message for [message] in received])
    assert inside.counts(subscription) == (0, 0)
