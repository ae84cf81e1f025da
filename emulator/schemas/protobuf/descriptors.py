"""From a descriptor set to the class of a schema's messages (PRO-01, SCH-17).

Each schema has a pool of its own, so that two may define the same names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message

from emulator.schemas.failures import BadDefinition


class Root(NamedTuple):
    """The class of a schema's messages, and the pool that it lives in."""

    message: type[Message]
    pool: DescriptorPool


def of_text(compiled: bytes) -> Root:
    """Return the root of the one file that a definition's text was compiled to."""
    [file] = _parse(compiled)
    if file.dependency:
        raise BadDefinition("imports of other files are not allowed")
    if len(file.message_type) != 1:
        raise BadDefinition(
            f"there must be exactly one top-level message type, not {len(file.message_type)}"
        )
    if file.service:
        raise BadDefinition("services are not allowed")
    if file.extension or any(message.extension for message in _messages(file.message_type)):
        raise BadDefinition("extensions are not allowed")
    package = f"{file.package}." if file.package else ""
    return _load([file], package + file.message_type[0].name)


def in_order(descriptor_set: bytes) -> bytes:
    """Return a descriptor set with every file behind those that it imports."""
    files = _parse(descriptor_set)
    by_name = {file.name: file for file in files}
    if len(by_name) < len(files):
        raise BadDefinition("the descriptor set has two files of one name")
    placed: dict[str, Any] = {}
    opened: set[str] = set()
    stack = [file.name for file in reversed(files)]
    while stack:
        name = stack[-1]
        if name not in by_name:
            raise BadDefinition(f'the descriptor set lacks the imported file "{name}"')
        missing = [each for each in by_name[name].dependency if each not in placed]
        if name in placed or not missing:
            placed[name] = by_name[name]
            stack.pop()
        elif name in opened:
            raise BadDefinition(f'the file "{name}" imports itself')
        else:
            opened.add(name)
            stack += missing
    return descriptor_pb2.FileDescriptorSet(file=placed.values()).SerializeToString()


def of_set(descriptor_set: bytes, root: str) -> Root:
    """Return the message `root` of a descriptor set whose files are in order (SCH-17)."""
    return _load(_parse(descriptor_set), root)


def _parse(descriptor_set: bytes) -> list[Any]:
    # Any: the stubs' FileDescriptorProto is not that of a list.
    try:
        return list(descriptor_pb2.FileDescriptorSet.FromString(descriptor_set).file)
    except DecodeError as error:
        raise BadDefinition("it is not a FileDescriptorSet, or nested too deeply") from error


def _load(files: Iterable[Any], root: str) -> Root:
    pool = DescriptorPool()
    try:
        for file in files:
            pool.AddSerializedFile(file.SerializeToString())
        return Root(message_factory.GetMessageClass(pool.FindMessageTypeByName(root)), pool)
    except KeyError as error:
        raise BadDefinition(f'there is no message type "{root}"') from error
    except (TypeError, ValueError) as error:
        raise BadDefinition(str(error)) from error


def _messages(
    messages: Iterable[descriptor_pb2.DescriptorProto],
) -> Iterator[descriptor_pb2.DescriptorProto]:
    for message in messages:
        yield message
        yield from _messages(message.nested_type)


def is_repeated(field: Any) -> bool:
    """Whether a field is a list or a map."""
    # Any: `is_repeated` is new in protobuf, and `label` has gone from it.
    newer = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED if newer is None else newer)


def is_required(field: Any) -> bool:
    """Whether a field must be set."""
    newer = getattr(field, "is_required", None)
    return bool(field.label == field.LABEL_REQUIRED if newer is None else newer)


def is_map(field: Any) -> bool:
    """Whether a field is a map."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry
