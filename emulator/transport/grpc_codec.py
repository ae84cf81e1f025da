"""Requests from bytes and responses to bytes, with our own words for what cannot be read."""

from __future__ import annotations

from typing import Any, TypeVar

from google.protobuf.message import DecodeError, Message

from emulator.engine.values.errors import InvalidArgument
from emulator.service.request_limits import check_encoded

Request = TypeVar("Request", bound=Message)


def decode(request: type[Request], encoded: bytes) -> Request:
    """Raises INVALID_ARGUMENT for bytes that are no such request, or one too large (PUB-11)."""
    check_encoded(request, encoded)
    try:
        return request.FromString(encoded)
    except DecodeError as error:
        text = f"The request is not an encoded {request.DESCRIPTOR.full_name}."
        raise InvalidArgument(text) from error


def encode(response: Any) -> bytes:
    """A message's bytes, or the response itself where it is encoded already."""
    encoded: bytes = response if type(response) is bytes else response.SerializeToString()
    return encoded
