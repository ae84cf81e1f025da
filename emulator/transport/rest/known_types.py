"""Messages that JSON writes as one text or as free JSON (RST-20, RST-24, RST-25).

A check returns the value for protobuf's own converter, or raises ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from emulator.api import wkt
from emulator.engine.values import errors, limits

_DURATION = re.compile(r"[+-]?[0-9]{1,12}(\.[0-9]{1,9})?s")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?"
    r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
)
_UNDERSCORE = re.compile(r"_([a-z])")


def _spelled(value: Any, form: re.Pattern[str], message: wkt.Duration | wkt.Timestamp) -> Any:
    if type(value) is not str or not form.fullmatch(value):
        raise ValueError
    message.FromJsonString(value)  # ValueError where there is no such day, or it is out of range
    return message.ToJsonString()


def duration(value: Any) -> Any:
    return _spelled(value, _DURATION, wkt.Duration())


def timestamp(value: Any) -> Any:
    return _spelled(value, _TIMESTAMP, wkt.Timestamp())


def field_mask(value: Any) -> Any:
    """Paths in either spelling; protobuf's converter takes camelCase only (RST-20)."""
    if type(value) is not str:
        raise ValueError
    if len(value) > limits.MASK_CHARACTERS:
        raise errors.too_large("update_mask", len(value), limits.MASK_CHARACTERS)
    camel = _UNDERSCORE.sub(lambda found: found[1].upper(), value.replace(" ", ""))
    if "_" in camel:
        raise ValueError
    return camel


def struct(value: Any) -> Any:
    if type(value) is not dict:
        raise ValueError
    return value


def array(value: Any) -> Any:
    if type(value) is not list:
        raise ValueError
    return value


def anything(value: Any) -> Any:
    return value


KNOWN_TYPES: dict[str, Callable[[Any], Any]] = {
    "google.protobuf.Duration": duration,
    "google.protobuf.Timestamp": timestamp,
    "google.protobuf.FieldMask": field_mask,
    "google.protobuf.Struct": struct,
    "google.protobuf.Any": struct,
    "google.protobuf.ListValue": array,
    "google.protobuf.Value": anything,
}
#: Those that are one text, which a query parameter can be.
TEXTS = ("google.protobuf.Duration", "google.protobuf.Timestamp", "google.protobuf.FieldMask")
