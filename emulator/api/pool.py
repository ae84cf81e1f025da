"""The private descriptor pool that holds every interface the emulator speaks.

Ordinary generated modules register in protobuf's one default pool, where the official Python
client registers its own copies of the same files: both cannot be loaded in one process. A
descriptor set in a pool of our own can live beside any client, and beside any protobuf release
from 5.x to 7.x, which generated code cannot.

The classes of this pool are *not* those of `google.protobuf.*_pb2`, not even Timestamp or Any:
take them from `emulator.api.wkt`.
"""

import pkgutil
from typing import TYPE_CHECKING, Any, cast

from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message import Message

if TYPE_CHECKING:
    from emulator.api.http import HttpRule


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


def http_rule(method: MethodDescriptor) -> "HttpRule | None":
    """Return the `google.api.http` option of a method of this pool, or None without one.

    protobuf parses options with the *default* pool's MethodOptions, which knows the option only
    when some client has loaded it; hence its bytes are parsed again with our own class.
    """
    options = _METHOD_OPTIONS.FromString(method.GetOptions().SerializeToString())
    if not options.HasExtension(_HTTP):
        return None
    return cast("HttpRule", options.Extensions[_HTTP])


_METHOD_OPTIONS = message_class("google.protobuf.MethodOptions")
# Any: the type stubs know extensions of generated modules only.
_HTTP: Any = POOL.FindExtensionByName("google.api.http")
