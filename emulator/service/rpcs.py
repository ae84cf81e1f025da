"""The registry of RPCs, read from the interface files.

gRPC's method table, the check that nothing is left out, and whatever else goes over all RPCs take
them from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from emulator.api import pool

if TYPE_CHECKING:
    from google.protobuf.descriptor import MethodDescriptor
    from google.protobuf.message import Message

#: The services on the port (RST-70).
SERVICES = (
    "google.pubsub.v1.Publisher",
    "google.pubsub.v1.Subscriber",
    "google.pubsub.v1.SchemaService",
    "google.iam.v1.IAMPolicy",
)


@dataclass(frozen=True, slots=True)
class Rpc:
    """One method: `path` is `/{service}/{name}`, as gRPC spells it."""

    service: str
    name: str
    request: type[Message]
    response: type[Message]
    is_streaming: bool
    descriptor: MethodDescriptor

    @property
    def path(self) -> str:
        return f"/{self.service}/{self.name}"


def _read(service: str) -> list[Rpc]:
    return [
        Rpc(
            service=service,
            name=method.name,
            request=pool.message_class(method.input_type.full_name),
            response=pool.message_class(method.output_type.full_name),
            is_streaming=method.name == "StreamingPull",
            descriptor=method,
        )
        for method in pool.service(service).methods
    ]


RPCS: tuple[Rpc, ...] = tuple(rpc for service in SERVICES for rpc in _read(service))
