"""Health checks and reflection, asked as their clients ask."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from emulator.api import health
from emulator.service.rpcs import RPCS, SERVICES
from emulator.testing import Emulator
from tests.spec import spec
from tests.wire import HANG_LIMIT_S, Wire, refusal

LISTED = sorted((*SERVICES, "grpc.health.v1.Health"))
SERVING = health.HealthCheckResponse.ServingStatus.SERVING


def check(wire: Wire, service: str) -> int:
    request = health.HealthCheckRequest(service=service).SerializeToString()
    answer = wire.raw("/grpc.health.v1.Health/Check", request)
    return health.HealthCheckResponse.FromString(answer).status


@spec("RST-70")
@pytest.mark.parametrize("service", ["", *LISTED])
def test_every_service_is_healthy(wire: Wire, service: str) -> None:
    assert check(wire, service) == SERVING


@spec("RST-70")
def test_an_unknown_service_has_no_health(wire: Wire) -> None:
    error = refusal(lambda: check(wire, "google.pubsub.v1.Nothing"))
    assert error.code() is grpc.StatusCode.NOT_FOUND


@spec("RST-70")
@pytest.mark.parametrize("service", ["", "google.pubsub.v1.Publisher"])
def test_health_can_be_watched_and_the_server_still_stops(
    own_emulator: Emulator, service: str
) -> None:
    wire = Wire(own_emulator.host_port)
    watch = wire.channel.unary_stream(
        "/grpc.health.v1.Health/Watch",
        request_serializer=health.HealthCheckRequest.SerializeToString,
        response_deserializer=health.HealthCheckResponse.FromString,
    )
    statuses = watch(health.HealthCheckRequest(service=service), timeout=HANG_LIMIT_S)
    assert next(statuses).status == SERVING
    own_emulator.stop()
    assert refusal(lambda: list(statuses)).code() is grpc.StatusCode.UNAVAILABLE
    wire.close()


# --- reflection ---

VERSIONS = ["v1", "v1alpha"]


def reflect(wire: Wire, version: str, *requests: bytes) -> list[dict[int, bytes]]:
    """Ask in one stream, with bytes as a client's own copy of the interface would make them.

    Return the fields of each answer by their numbers, all of which have lengths.
    """
    path = f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
    method = wire.channel.stream_stream(path)
    return [dict(fields(answer)) for answer in method(iter(requests), timeout=HANG_LIMIT_S)]


def fields(encoded: bytes) -> Iterable[tuple[int, bytes]]:
    """Yield number and content of every length-delimited field."""
    position = 0
    while position < len(encoded):
        key, position = varint(encoded, position)
        size, position = varint(encoded, position)
        if key & 7 == 2:
            yield key >> 3, encoded[position : position + size]
            position += size


def varint(encoded: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = encoded[position]
        number |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return number, position


def asked(field: int, text: str, *, host: str = "") -> bytes:
    """A ServerReflectionRequest with `host` and the text of one of its questions."""
    parts = [(1, host), (field, text)] if host else [(field, text)]
    return b"".join(bytes([n << 3 | 2, len(t)]) + t.encode() for n, t in parts)


FILE_BY_NAME, FILE_OF_SYMBOL, LIST = 3, 4, 7
FILES, SERVICE_LIST, ERROR = 4, 6, 7


@spec("RST-70")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("host", ["", "127.0.0.1:8085"], ids=["plain", "as Go asks"])
def test_services_are_listed(wire: Wire, version: str, host: str) -> None:
    [answer] = reflect(wire, version, asked(LIST, "*", host=host))
    services = [name for _, entry in fields(answer[SERVICE_LIST]) for _, name in fields(entry)]
    assert [name.decode() for name in services] == LISTED


def pool_of(answer: dict[int, bytes]) -> descriptor_pool.DescriptorPool:
    """What a client builds from the files of an answer, in whatever order they come."""
    found = [descriptor_pb2.FileDescriptorProto.FromString(f) for _, f in fields(answer[FILES])]
    by_name = {file.name: file for file in found}
    pool = descriptor_pool.DescriptorPool()

    def add(name: str) -> None:
        file = by_name.pop(name, None)
        if file is not None:
            for dependency in file.dependency:
                add(dependency)
            pool.Add(file)

    for file in found:
        add(file.name)
    return pool


@spec("RST-70")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("service", LISTED)
def test_every_listed_service_can_be_described(wire: Wire, version: str, service: str) -> None:
    [answer] = reflect(wire, version, asked(FILE_OF_SYMBOL, service))
    described = pool_of(answer).FindServiceByName(service)
    ours = [rpc.name for rpc in RPCS if rpc.service == service]
    names = [method.name for method in described.methods]
    assert names == ours or service == "grpc.health.v1.Health"
    for method in described.methods:
        assert message_factory.GetMessageClass(method.input_type)().ByteSize() == 0


@spec("RST-70")
@pytest.mark.parametrize("version", VERSIONS)
def test_one_stream_answers_several_questions(wire: Wire, version: str) -> None:
    answers = reflect(
        wire,
        version,
        asked(LIST, ""),
        asked(FILE_BY_NAME, "google/pubsub/v1/pubsub.proto"),
        asked(FILE_OF_SYMBOL, "google.pubsub.v1.Publisher.Publish"),
        asked(FILE_OF_SYMBOL, "google.pubsub.v1.Nothing"),
    )
    assert SERVICE_LIST in answers[0]
    assert pool_of(answers[1]).FindMessageTypeByName("google.pubsub.v1.Topic")
    assert pool_of(answers[2]).FindServiceByName("google.pubsub.v1.Publisher")
    assert ERROR in answers[3]


@spec("RST-70")
def test_a_client_can_call_with_what_it_was_told(wire: Wire) -> None:
    [answer] = reflect(wire, "v1", asked(FILE_OF_SYMBOL, "google.pubsub.v1.Publisher"))
    method = pool_of(answer).FindServiceByName("google.pubsub.v1.Publisher").methods_by_name
    create = method["CreateTopic"]
    request = message_factory.GetMessageClass(create.input_type)(
        name="projects/reflected/topics/topic", labels={"from": "reflection"}
    )
    created = wire.raw("/google.pubsub.v1.Publisher/CreateTopic", request.SerializeToString())
    assert message_factory.GetMessageClass(create.output_type).FromString(created) == request


_LIGHT = """
import sys
import grpc
from emulator import Emulator

def loaded():
    return [m for m in sys.modules if m.startswith(("grpc_health.", "grpc_reflection."))]

with Emulator() as emulator:
    assert loaded() == [], loaded()
    check = grpc.insecure_channel(emulator.host_port).unary_unary("/grpc.health.v1.Health/Check")
    assert check(b"", timeout=30) == bytes([8, 1])
    assert any(m.startswith("grpc_health.") for m in loaded())
    assert not any(m.startswith("grpc_reflection.") for m in loaded())
"""


def test_the_packages_are_loaded_on_first_use() -> None:
    subprocess.run([sys.executable, "-c", _LIGHT], check=True, timeout=120)
