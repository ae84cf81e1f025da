"""A gRPC client that passes bytes through: it neither builds nor reads messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc.aio

from scripts.bench import requests

if TYPE_CHECKING:
    BytesCall = grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
    BytesStreamStart = grpc.aio.StreamStreamMultiCallable[bytes, bytes]
    BytesStream = grpc.aio.StreamStreamCall[bytes, bytes]

_PREFIX = "/google.pubsub.v1."
_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    # Without it all clients of one address share one connection.
    ("grpc.use_local_subchannel_pool", 1),
)


class StreamEndedError(Exception):
    """The server has closed a stream that should stay open."""


class Stream:
    """One open StreamingPull."""

    def __init__(self, call: BytesStream) -> None:
        self._call = call

    async def read(self) -> bytes:
        """Return the next response; raise `StreamEndedError` or the stream's error."""
        reply = await self._call.read()
        if isinstance(reply, bytes):
            return reply
        raise StreamEndedError(f"the stream was closed with {await self._call.code()}")

    async def write(self, request: bytes) -> None:
        """Send one request."""
        await self._call.write(request)

    def has_ended(self) -> bool:
        """Tell whether the server has closed the stream; `read` raises the reason."""
        return self._call.done()


class Client:
    """Calls of one connection to one server."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.aio.insecure_channel(address, options=_OPTIONS)
        self.create_topic = self._call("Publisher/CreateTopic")
        self.publish = self._call("Publisher/Publish")
        self.create_schema = self._call("SchemaService/CreateSchema")
        self.create_subscription = self._call("Subscriber/CreateSubscription")
        self.pull = self._call("Subscriber/Pull")
        self.acknowledge = self._call("Subscriber/Acknowledge")
        self.modify_ack_deadline = self._call("Subscriber/ModifyAckDeadline")

    async def open_stream(self, request: bytes) -> Stream:
        """Start a StreamingPull with its first request, which the server may not have seen yet."""
        start: BytesStreamStart = self._channel.stream_stream(_PREFIX + "Subscriber/StreamingPull")
        stream = Stream(start())
        await stream.write(request)
        return stream

    async def set_up(self, property_field: bytes = b"") -> None:
        """Create the topic and its one subscription, which may have a property besides."""
        await self.create_topic(requests.topic())
        await self.create_subscription(requests.subscription(property_field=property_field))

    async def close(self) -> None:
        """Close the connection and with it all calls."""
        await self._channel.close()

    def _call(self, method: str) -> BytesCall:
        return self._channel.unary_unary(_PREFIX + method)
