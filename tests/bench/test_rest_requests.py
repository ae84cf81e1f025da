"""The benchmark's JSON says what the real messages say."""

from google.protobuf import json_format

from emulator.api import pubsub
from scripts.bench import requests, rest_requests

ACK_IDS = ["projects/bench/subscriptions/worker:1", "x" * 300]


def test_a_rest_publish_has_the_messages_of_the_grpc_one() -> None:
    parsed = json_format.Parse(rest_requests.publish(3), pubsub.PublishRequest())
    assert parsed.messages == pubsub.PublishRequest.FromString(requests.publish(3)).messages


def test_rest_requests_of_a_subscriber_are_those_asked_for() -> None:
    pulled = json_format.Parse(rest_requests.pull(100), pubsub.PullRequest())
    acknowledged = json_format.Parse(
        rest_requests.acknowledge(ACK_IDS), pubsub.AcknowledgeRequest()
    )
    assert pulled == pubsub.PullRequest(max_messages=100)
    assert acknowledged == pubsub.AcknowledgeRequest(ack_ids=ACK_IDS)


def test_ack_ids_are_found_in_the_answer_to_a_rest_pull() -> None:
    received = [pubsub.ReceivedMessage(ack_id=ack_id) for ack_id in ACK_IDS]
    answer = json_format.MessageToJson(pubsub.PullResponse(received_messages=received))
    assert rest_requests.ack_ids(answer.encode()) == ACK_IDS
    assert rest_requests.ack_ids(b"{}") == []
