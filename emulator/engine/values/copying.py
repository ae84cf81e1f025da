"""Resources are copied at the border: what a caller holds is never what the engine holds."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import Message

Resource = TypeVar("Resource", bound=Message)


def copied(resource: Resource) -> Resource:
    """A resource of its own with the same content."""
    copy = type(resource)()
    copy.CopyFrom(resource)
    return copy
