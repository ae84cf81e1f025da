"""Updates by field mask (UPD-01..04, UPD-09, UPD-10)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from emulator.engine.values import errors, limits
from emulator.engine.values.copying import Resource, copied


class Maskable(NamedTuple):
    """What a mask may name: `kind` is the resource's name in texts, `hint` an example of a path."""

    kind: str
    hint: str
    mutable: Collection[str]


def updated(
    current: Resource, given: Resource, paths: Iterable[str], maskable: Maskable
) -> Resource:
    """Return a copy of `current` with the fields that `paths` name as `given` has them.

    A field that `given` does not set is reset (UPD-02). Raises ERR-25, ERR-26 and ERR-27.
    """
    result = copied(current)
    paths = list(paths)
    if not paths:
        raise errors.empty_mask(maskable.kind)
    for path in paths:
        if len(path) > limits.MASK_CHARACTERS:
            raise errors.too_large("update_mask", len(path), limits.MASK_CHARACTERS)
        segments = path.split(".")
        if not _is_known(current.DESCRIPTOR, segments):
            raise errors.unknown_mask_path(maskable.kind, path, maskable.hint)
        if segments[0] not in maskable.mutable:
            raise errors.immutable_mask_path(maskable.kind, path)
        _copy(given, result, segments)
    return result


def _is_known(descriptor: Any, segments: list[str]) -> bool:
    field = descriptor.fields_by_name.get(segments[0])
    if field is None:
        return False
    if len(segments) == 1:
        return True
    return _is_single_message(field) and _is_known(field.message_type, segments[1:])


def _is_single_message(field: Any) -> bool:
    return field.message_type is not None and not _is_repeated(field)


def _is_repeated(field: Any) -> bool:
    # Any, here and above: `is_repeated` is new, and `label` on its way out of protobuf.
    newer = getattr(field, "is_repeated", None)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED if newer is None else newer)


def _copy(source: Message, target: Message, segments: list[str]) -> None:
    name, rest = segments[0], segments[1:]
    field = source.DESCRIPTOR.fields_by_name[name]
    if rest:
        if source.HasField(name) or target.HasField(name):
            _copy(getattr(source, name), getattr(target, name), rest)
        return
    target.ClearField(name)
    if _is_repeated(field):
        getattr(target, name).MergeFrom(getattr(source, name))
    elif field.message_type is not None:
        if source.HasField(name):
            getattr(target, name).CopyFrom(getattr(source, name))
    elif not field.has_presence or source.HasField(name):
        setattr(target, name, getattr(source, name))
