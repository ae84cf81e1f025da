"""A second view of publish requests, in which the messages stay encoded.

protobuf offers no way to get at the bytes of a repeated message that it has parsed but to encode
it again, which costs more than all else that a publish does. On the wire a message and a `bytes`
field look the same, so a request can also be read as this shape: its messages come out as they
were sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

if TYPE_CHECKING:
    from collections.abc import Sequence

_BYTES = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
_REPEATED = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
_MESSAGES_FIELD = 2  # PublishRequest.messages


class _RawPublishRequest(Protocol):
    messages: Sequence[bytes]

    @staticmethod
    def FromString(encoded: bytes) -> _RawPublishRequest: ...


def _raw_publish_request() -> type[_RawPublishRequest]:
    file = descriptor_pb2.FileDescriptorProto(
        name="emulator/raw.proto", package="emulator.raw", syntax="proto3"
    )
    shape = file.message_type.add(name="PublishRequest")
    shape.field.add(name="messages", number=_MESSAGES_FIELD, type=_BYTES, label=_REPEATED)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName("emulator.raw.PublishRequest")
    return cast("type[_RawPublishRequest]", message_factory.GetMessageClass(descriptor))


RawPublishRequest = _raw_publish_request()
