"""A client with nothing between the test and the wire but gRPC itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import grpc

from emulator.api import pubsub
from emulator.service.rpcs import RPCS

#: Nothing here takes this long; it only keeps a broken server from hanging the tests. Leases that
#: must not end by themselves meanwhile are longer (`LONG_LEASE_S`).
HANG_LIMIT_S = 30.0
LONG_LEASE_S = 600

_RPCS = {rpc.name: rpc for rpc in RPCS}
#: A channel of one's own: gRPC lets channels to one address share their connection otherwise.
_OWN_CONNECTION = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
)


class Wire:
    """One connection. `wire("Pull", request)` calls and returns the decoded response."""

    def __init__(self, host_port: str, *options: tuple[str, Any], **more: Any) -> None:
        self.channel = grpc.insecure_channel(host_port, (*_OWN_CONNECTION, *options), **more)

    def __call__(
        self, method: str, request: Any, *, timeout_s: float | None = HANG_LIMIT_S, **more: Any
    ) -> Any:
        return self._method(method)(request, timeout=timeout_s, **more)

    def start(self, method: str, request: Any, *, timeout_s: float | None = None) -> Any:
        """Begin a call; return gRPC's future of it, which has no time limit unless told."""
        return self._method(method).future(request, timeout=timeout_s)

    def _method(self, method: str) -> grpc.UnaryUnaryMultiCallable[Any, Any]:
        rpc = _RPCS[method]
        return self.channel.unary_unary(
            rpc.path,
            request_serializer=rpc.request.SerializeToString,
            response_deserializer=rpc.response.FromString,
        )

    def raw(self, path: str, encoded: bytes, *, metadata: Sequence[Any] = ()) -> bytes:
        """Send bytes as they are to a path as it is."""
        method: Any = self.channel.unary_unary(path)
        answer: bytes = method(encoded, timeout=HANG_LIMIT_S, metadata=metadata)
        return answer

    def close(self) -> None:
        self.channel.close()

    # --- the calls that most tests make ---

    def create(self, topic: str, *subscriptions: str, ack_deadline_s: int = LONG_LEASE_S) -> None:
        """Create a topic and pull subscriptions to it."""
        self("CreateTopic", pubsub.Topic(name=topic))
        for name in subscriptions:
            self(
                "CreateSubscription",
                pubsub.Subscription(name=name, topic=topic, ack_deadline_seconds=ack_deadline_s),
            )

    def publish(self, topic: str, *data: bytes) -> list[str]:
        """Publish in one request; return the ids."""
        messages = [pubsub.PubsubMessage(data=each) for each in data]
        request = pubsub.PublishRequest(topic=topic, messages=messages)
        return list(self("Publish", request).message_ids)

    def pull(self, subscription: str, limit: int = 1_000) -> list[pubsub.ReceivedMessage]:
        """Return what comes first, waiting for it; none only after the hang limit."""
        request = pubsub.PullRequest(subscription=subscription, max_messages=limit)
        return list(self("Pull", request).received_messages)

    def peek(self, subscription: str, limit: int = 1_000) -> list[pubsub.ReceivedMessage]:
        """Return what is available now, leasing it."""
        request = pubsub.PullRequest(
            subscription=subscription, max_messages=limit, return_immediately=True
        )
        return list(self("Pull", request).received_messages)

    def start_pull(
        self, subscription: str, limit: int = 1_000, *, timeout_s: float | None = None
    ) -> Any:
        """Begin a Pull that waits; return the future of its response."""
        request = pubsub.PullRequest(subscription=subscription, max_messages=limit)
        return self.start("Pull", request, timeout_s=timeout_s)

    def acknowledge(self, subscription: str, received: Sequence[pubsub.ReceivedMessage]) -> None:
        ack_ids = [each.ack_id for each in received]
        self("Acknowledge", pubsub.AcknowledgeRequest(subscription=subscription, ack_ids=ack_ids))

    def modify(
        self, subscription: str, received: Sequence[pubsub.ReceivedMessage], seconds: int
    ) -> None:
        request = pubsub.ModifyAckDeadlineRequest(
            subscription=subscription,
            ack_ids=[each.ack_id for each in received],
            ack_deadline_seconds=seconds,
        )
        self("ModifyAckDeadline", request)


class Names:
    """Names in a project of the test's own."""

    def __init__(self, project: str) -> None:
        self.project = project

    def topic(self, leaf: str = "topic") -> str:
        return f"projects/{self.project}/topics/{leaf}"

    def subscription(self, leaf: str = "subscription") -> str:
        return f"projects/{self.project}/subscriptions/{leaf}"


def refusal(call: Callable[[], object]) -> grpc.RpcError:
    """Return what `call` was refused with."""
    try:
        answer = call()
    except grpc.RpcError as error:
        return error
    raise AssertionError(f"not refused: {answer!r}")


def data(received: Sequence[pubsub.ReceivedMessage]) -> list[bytes]:
    return [each.message.data for each in received]


def until(is_so: Callable[[], bool]) -> None:
    """Return once `is_so`, which another thread or process brings about and does not announce."""
    limit = time.monotonic() + HANG_LIMIT_S
    while not is_so():
        assert time.monotonic() < limit, "it never came about"
        time.sleep(0.002)
