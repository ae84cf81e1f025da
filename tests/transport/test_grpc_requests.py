"""What may come over the wire as a request: broken, strange, large, and with any metadata."""

from __future__ import annotations

import socket
import struct
import time

import grpc
import pytest

from emulator.api import pubsub
from emulator.service.rpcs import RPCS, Rpc
from emulator.testing import Emulator
from tests.spec import spec
from tests.wire import HANG_LIMIT_S, Names, Wire, data, refusal

PUBLISH = "/google.pubsub.v1.Publisher/Publish"
REQUEST_LIMIT_BYTES = 10_000_000
DETAILS = "grpc-status-details-bin"
UNARY = [rpc for rpc in RPCS if not rpc.is_streaming]


def field(number: int, content: bytes) -> bytes:
    """A length-delimited field."""
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def varint(number: int) -> bytes:
    encoded = b""
    while number > 0x7F:
        encoded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return encoded + bytes([number])


def assert_undecodable(error: grpc.RpcError, name: str) -> None:
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert error.details() == f"The request is not an encoded {name}."
    assert DETAILS not in dict(error.trailing_metadata())


@spec("ERR-91")
@pytest.mark.parametrize("rpc", UNARY, ids=lambda rpc: rpc.name)
@pytest.mark.parametrize("encoded", [b"\xff", b"\x0a\x05ab"], ids=["tag", "cut"])
def test_undecodable_requests(wire: Wire, rpc: Rpc, encoded: bytes) -> None:
    error = refusal(lambda: wire.raw(rpc.path, encoded))
    assert_undecodable(error, rpc.request.DESCRIPTOR.full_name)


@spec("PUB-10")
@pytest.mark.parametrize(
    "message",
    [
        field(2, field(1, b"key\xff") + field(2, b"value")),
        field(2, field(1, b"key") + field(2, b"value\xc0\x80")),
        field(1, b"x") + field(5, b"\xed\xa0\x80"),
    ],
    ids=["attribute key", "attribute value", "ordering key"],
)
def test_invalid_utf8_in_messages(wire: Wire, names: Names, message: bytes) -> None:
    wire.create(names.topic(), names.subscription())
    encoded = field(1, names.topic().encode()) + field(2, message)
    error = refusal(lambda: wire.raw(PUBLISH, encoded))
    assert_undecodable(error, "google.pubsub.v1.PublishRequest")
    assert wire.peek(names.subscription()) == []


def test_invalid_utf8_in_names(wire: Wire) -> None:
    error = refusal(lambda: wire.raw(PUBLISH, field(1, b"projects/p/topics/\xff\xff")))
    assert_undecodable(error, "google.pubsub.v1.PublishRequest")


@spec("PUB-10")
def test_data_may_be_any_bytes(wire: Wire, names: Names) -> None:
    wire.create(names.topic(), names.subscription())
    wire.publish(names.topic(), bytes(range(256)))
    assert data(wire.pull(names.subscription())) == [bytes(range(256))]


@spec("PUB-06")
def test_unknown_fields_are_accepted(wire: Wire, names: Names) -> None:
    wire.create(names.topic(), names.subscription())
    unknown = field(15, b"later") + b"\x70\x01"  # fields 15 and 14
    forged = field(3, b"7") + field(4, b"\x08\x01")  # an id and a time of the client's own
    message = field(1, b"x") + unknown + forged
    encoded = field(1, names.topic().encode()) + unknown + field(2, message) + unknown
    answer = pubsub.PublishResponse.FromString(wire.raw(PUBLISH, encoded))
    [received] = wire.pull(names.subscription())
    assert received.message.data == b"x"
    assert [received.message.message_id] == list(answer.message_ids) != ["7"]
    assert received.message.publish_time.seconds > 1


@spec("RST-73", "ERR-81")
@pytest.mark.parametrize(
    "path",
    [
        "/google.pubsub.v1.Publisher/Unpublish",
        "/google.pubsub.v1.Publisher/publish",
        "/google.pubsub.v2.Publisher/Publish",
        "/nothing",
    ],
)
def test_unknown_methods(wire: Wire, path: str) -> None:
    error = refusal(lambda: wire.raw(path, b""))
    assert error.code() is grpc.StatusCode.UNIMPLEMENTED


@spec("PUB-64", "GEN-04")
def test_the_metadata_that_clients_send(wire: Wire, names: Names) -> None:
    wire.create(names.topic(), names.subscription())
    request = pubsub.PublishRequest(
        topic=names.topic(), messages=[pubsub.PubsubMessage(data=b"x")]
    ).SerializeToString()
    routing = f"topic=projects%2F{names.project}%2Ftopics%2Ftopic"
    metadata = [
        ("x-goog-request-params", routing),
        ("x-goog-api-client", "gl-python/3.11.0 grpc/1.70.0 gax/2.0.0 gccl/2.44.0"),
        ("x-goog-pubsub-client-telemetry", "CAESBA=="),
        ("x-goog-pubsub-client-telemetry-bin", b"\x00\xff"),
        ("x-goog-user-project", "somebody-elses"),
        ("authorization", "Bearer no-such-token"),
        ("google-cloud-resource-prefix", f"projects/{names.project}"),
    ]
    wire.raw(PUBLISH, request, metadata=metadata)
    assert data(wire.pull(names.subscription())) == [b"x"]


@spec("RST-71")
@pytest.mark.parametrize("size", [8 * 1024, 64 * 1024, 512 * 1024])
def test_large_metadata(wire: Wire, names: Names, size: int) -> None:
    wire.create(names.topic())
    request = pubsub.GetTopicRequest(topic=names.topic()).SerializeToString()
    path = "/google.pubsub.v1.Publisher/GetTopic"
    answer = wire.raw(path, request, metadata=[("x-large", "x" * size)])
    assert pubsub.Topic.FromString(answer).name == names.topic()


@spec("ERR-91")
def test_refusals_without_details_carry_none(wire: Wire, names: Names) -> None:
    request = pubsub.GetTopicRequest(topic=names.topic())
    error = refusal(lambda: wire("GetTopic", request))
    assert error.code() is grpc.StatusCode.NOT_FOUND
    assert DETAILS not in dict(error.trailing_metadata())


@spec("ERR-91")
def test_texts_beyond_ascii(wire: Wire) -> None:
    name = "projects/p/topics/mi-tópico-100%-✓"
    error = refusal(lambda: wire("GetTopic", pubsub.GetTopicRequest(topic=name)))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert f"(name={name})" in error.details()


def publish_request(topic: str, size: int) -> bytes:
    """A request with one message and of exactly `size` bytes."""
    request = pubsub.PublishRequest(topic=topic, messages=[pubsub.PubsubMessage(data=b"x")])
    # The lengths of the message and of its data are written in as many bytes for all these sizes.
    request.messages[0].data = b"x" * (size - 100)
    missing = size - request.ByteSize()
    request.messages[0].data += b"x" * missing
    encoded: bytes = request.SerializeToString()
    assert len(encoded) == size
    return encoded


@spec("PUB-21")
def test_ten_million_bytes_pass(wire: Wire, names: Names) -> None:
    wire.create(names.topic(), names.subscription())
    wire.raw(PUBLISH, publish_request(names.topic(), REQUEST_LIMIT_BYTES))
    [received] = wire.pull(names.subscription())
    assert REQUEST_LIMIT_BYTES - 200 < len(received.message.data) < REQUEST_LIMIT_BYTES


@spec("PUB-21", "PUB-23", "PUB-61", "ERR-53")
@pytest.mark.parametrize("size", [REQUEST_LIMIT_BYTES + 1, 20_000_000, 100_000_000])
def test_larger_requests_are_refused_for_good(wire: Wire, names: Names, size: int) -> None:
    """Clients repeat what gRPC itself would say of such a request, RESOURCE_EXHAUSTED."""
    wire.create(names.topic(), names.subscription())
    error = refusal(lambda: wire.raw(PUBLISH, publish_request(names.topic(), size)))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert error.details() == (
        f"The value for request_size is too large. You passed {size} in the request, but the "
        f"maximum value is {REQUEST_LIMIT_BYTES}."
    )
    assert wire.peek(names.subscription()) == []


@spec("PUB-62")
@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_compressed_requests(
    emulator: Emulator, names: Names, compression: grpc.Compression
) -> None:
    wire = Wire(emulator.host_port, compression=compression)
    wire.create(names.topic(), names.subscription())
    content = b"compressible " * 10_000
    wire.publish(names.topic(), content)
    assert data(wire.pull(names.subscription())) == [content]
    wire.close()


class Http2:
    """Just enough of HTTP/2 to send pings and read what comes back."""

    PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    SETTINGS, PING, GOAWAY = 4, 6, 7
    ACK = 1

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=HANG_LIMIT_S)
        self._stream = self._socket.makefile("rb")
        self._socket.sendall(self.PREFACE + self._frame(self.SETTINGS, 0, b""))

    @staticmethod
    def _frame(kind: int, flags: int, payload: bytes) -> bytes:
        return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + bytes(4) + payload

    def ping(self, count: int) -> None:
        payloads = [struct.pack(">Q", number) for number in range(count)]
        self._socket.sendall(b"".join(self._frame(self.PING, 0, each) for each in payloads))

    def read(self) -> tuple[int, int]:
        """Return the next frame's kind and flags."""
        head = self._stream.read(9)
        assert head, "the connection was closed"
        self._stream.read(int.from_bytes(head[:3], "big"))
        return head[3], head[4]

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


@spec("RST-72")
def test_any_number_of_pings_is_answered(emulator: Emulator) -> None:
    connection = Http2(emulator.port)
    connection.ping(500)
    answered = 0
    while answered < 500:
        kind, flags = connection.read()
        assert kind != Http2.GOAWAY
        answered += kind == Http2.PING and flags == Http2.ACK
    connection.close()


@spec("RST-72")
def test_a_client_may_ping_an_idle_connection_every_second_for_four_seconds(
    emulator: Emulator, names: Names
) -> None:
    wire = Wire(
        emulator.host_port,
        ("grpc.keepalive_time_ms", 1_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
    )
    wire.create(names.topic(), names.subscription())
    states: list[grpc.ChannelConnectivity] = []
    wire.channel.subscribe(states.append)
    time.sleep(4)
    wire.publish(names.topic(), b"x")
    assert data(wire.pull(names.subscription())) == [b"x"]
    assert grpc.ChannelConnectivity.TRANSIENT_FAILURE not in states
    assert states.count(grpc.ChannelConnectivity.READY) == 1
    wire.close()
