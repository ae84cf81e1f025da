"""The private descriptor pool that holds every interface the emulator speaks.

Ordinary generated modules register in protobuf's one default pool, where the official Python
client registers its own copies of the same files: both cannot be loaded in one process. A
descriptor set in a pool of our own can live beside any client, and beside any protobuf release
from 5.x to 7.x, which generated code cannot.

The classes of this pool are *not* those of `google.protobuf.*_pb2`, not even Timestamp or Any:
take them from `emulator.api.wkt`.
"""

import pkgutil

from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message import Message


def _load() -> DescriptorPool:
    """Build the pool; the set lists every file after the files that it imports."""
    data = pkgutil.get_data("emulator.api", "descriptors.binpb")
    if data is None:
        raise ImportError("emulator.api: descriptors.binpb is missing from the installation")
    pool = DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


POOL = _load()


def message_class(full_name: str) -> type[Message]:
    """Return the class of a message; KeyError when the pool has none of that name."""
    return message_factory.GetMessageClass(POOL.FindMessageTypeByName(full_name))


def enum(full_name: str) -> EnumTypeWrapper:
    """Return the wrapper of an enum; KeyError when the pool has none of that name."""
    return EnumTypeWrapper(POOL.FindEnumTypeByName(full_name))


def service(full_name: str) -> ServiceDescriptor:
    """Return the descriptor of a service; KeyError when the pool has none of that name."""
    return POOL.FindServiceByName(full_name)
