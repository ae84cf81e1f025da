"""Scalars in JSON: what each type takes (RST-22, RST-23, RST-26).

A check returns the value for protobuf's own converter, which is more generous in places and less
in others, or raises ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor

_INTEGER = re.compile(r"-?[0-9]{1,20}")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"


class BadBase64(ValueError):
    """Raised for text that is not base64."""


def text(value: Any) -> Any:
    if type(value) is not str:
        raise ValueError
    return value


def base64(value: Any) -> Any:
    """Either alphabet, padded or not (RST-23)."""
    text(value)
    unpadded = value.rstrip("=")
    padding = len(value) - len(unpadded)
    if (
        not unpadded.isascii()
        or unpadded.encode().translate(None, _BASE64)
        or len(unpadded) % 4 == 1
        or (padding and (padding > 2 or len(value) % 4))
    ):
        raise BadBase64
    return value


def integer(low: int, high: int) -> Callable[[Any], Any]:
    """A number without a fraction, or the text of an integer (RST-22)."""

    def check(value: Any) -> Any:
        number = _whole(value)
        if not low <= number <= high:
            raise ValueError
        return number

    return check


def _whole(value: Any) -> int:
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    if type(value) is str and _INTEGER.fullmatch(value):
        return int(value)
    raise ValueError


def boolean(value: Any) -> Any:
    """The texts are what query parameters consist of."""
    if type(value) is bool:
        return value
    return {"true": True, "false": False}[text(value)]


def number(value: Any) -> Any:
    if type(value) in (int, float) or value in _NOT_FINITE:
        return value
    if not _NUMBER.fullmatch(text(value)):
        raise ValueError
    return float(value)


def enum(descriptor: EnumDescriptor) -> Callable[[Any], Any]:
    """A name, or any number (RST-26)."""
    whole = integer(-(2**31), 2**31 - 1)

    def check(value: Any) -> Any:
        return value if value in descriptor.values_by_name else whole(value)

    return check


_INT32 = integer(-(2**31), 2**31 - 1)
_INT64 = integer(-(2**63), 2**63 - 1)
_UINT32 = integer(0, 2**32 - 1)
_UINT64 = integer(0, 2**64 - 1)
_FD = FieldDescriptor

#: The name of each type in texts, and its check.
SCALARS: dict[int, tuple[str, Callable[[Any], Any]]] = {
    _FD.TYPE_STRING: ("TYPE_STRING", text),
    _FD.TYPE_BYTES: ("TYPE_BYTES", base64),
    _FD.TYPE_BOOL: ("TYPE_BOOL", boolean),
    _FD.TYPE_INT32: ("TYPE_INT32", _INT32),
    _FD.TYPE_SINT32: ("TYPE_SINT32", _INT32),
    _FD.TYPE_SFIXED32: ("TYPE_SFIXED32", _INT32),
    _FD.TYPE_INT64: ("TYPE_INT64", _INT64),
    _FD.TYPE_SINT64: ("TYPE_SINT64", _INT64),
    _FD.TYPE_SFIXED64: ("TYPE_SFIXED64", _INT64),
    _FD.TYPE_UINT32: ("TYPE_UINT32", _UINT32),
    _FD.TYPE_FIXED32: ("TYPE_FIXED32", _UINT32),
    _FD.TYPE_UINT64: ("TYPE_UINT64", _UINT64),
    _FD.TYPE_FIXED64: ("TYPE_FIXED64", _UINT64),
    _FD.TYPE_DOUBLE: ("TYPE_DOUBLE", number),
    _FD.TYPE_FLOAT: ("TYPE_FLOAT", number),
}
