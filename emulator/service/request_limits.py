"""How many elements a request may have: told before they are converted, whatever they are in.

A body of ten megabytes can hold millions of elements. To make objects of them, only to say that a
thousand are allowed, would keep the event loop from everybody else for seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from emulator.engine.values import errors, limits
from emulator.engine.values.errors import PubsubError

#: Elements that are counted one by one although it is known that there are too many.
_COUNTED = 20_000

_PUBLISH = "google.pubsub.v1.PublishRequest"
_ACKNOWLEDGE = "google.pubsub.v1.AcknowledgeRequest"
_MODIFY = "google.pubsub.v1.ModifyAckDeadlineRequest"
_STREAM = "google.pubsub.v1.StreamingPullRequest"
#: A request of this size, or of this kind and size, has too few elements to be looked at first.
#: Publishers and subscribers send large ones all the time; theirs are cheaper to decode than to
#: look at.
_SMALL_BYTES = 16_384
_SMALL_BYTES_OF = {_PUBLISH: 1_048_576, _ACKNOWLEDGE: 262_144, _MODIFY: 262_144, _STREAM: 262_144}
#: What the largest valid requests come to, and all others stay far below `_ELEMENTS`.
_ELEMENTS_OF = {_PUBLISH: 120_000, _ACKNOWLEDGE: 60_000, _MODIFY: 60_000, _STREAM: 130_000}
_ELEMENTS = 20_000


class Limit(NamedTuple):
    """The most elements that one repeated field may have."""

    name: str
    most: int
    error: Callable[[str, object, object], PubsubError] = errors.too_large

    def check(self, count: int) -> None:
        """Raise INVALID_ARGUMENT if `count` are too many."""
        if count > self.most:
            raise self.refusal(count)

    def refusal(self, count: int | None) -> PubsubError:
        """Return the refusal of `count` elements, or of more than could be counted."""
        return self.error(
            self.name, f"more than {self.most}" if count is None else count, self.most
        )


def _too_many_principals(name: str, given: object, most: object) -> PubsubError:
    return errors.policy_too_large("number of members in", given, most)


_DEFAULT = limits.REPEATED_ELEMENTS
_LIMITS = {
    f"{_PUBLISH}.messages": Limit("message_count", limits.MESSAGES_PER_PUBLISH),
    "google.pubsub.v1.PubsubMessage.attributes": Limit(
        "attribute_count", limits.ATTRIBUTES_PER_MESSAGE
    ),
    "google.iam.v1.Policy.bindings": Limit("bindings", limits.POLICY_PRINCIPALS),
    "google.iam.v1.Binding.members": Limit(
        "members", limits.POLICY_PRINCIPALS, _too_many_principals
    ),
}
_ACK_LISTS = ("ack_ids", "modify_deadline_ack_ids", "modify_deadline_seconds")


@cache
def limit_of(field: Any) -> Limit:
    """Return the limit of a repeated field or a map, given by its descriptor."""
    if field.full_name in _LIMITS:
        return _LIMITS[field.full_name]
    if field.name == "labels":
        return Limit("labels", limits.LABELS)
    if field.containing_type.full_name in _SMALL_BYTES_OF and field.name in _ACK_LISTS:
        return Limit(field.name, limits.ACK_IDS)
    return Limit(field.name, _DEFAULT)


def most_elements(descriptor: Any) -> int:
    """Return how many elements of all kinds together a request may have."""
    return _ELEMENTS_OF.get(descriptor.full_name, _ELEMENTS)


def too_many_elements(descriptor: Any) -> PubsubError:
    """Return the refusal of a request that has more than that."""
    most = most_elements(descriptor)
    return errors.too_large("element_count", f"more than {most}", most)


def check_encoded(request: type[Message], encoded: bytes) -> None:
    """Raise INVALID_ARGUMENT for an encoded request that would take long to decode and refuse.

    Bytes that are no such request are left for the decoder to refuse.
    """
    size = len(encoded)
    if size <= _SMALL_BYTES:
        return
    descriptor = request.DESCRIPTOR
    name = descriptor.full_name
    if name == _PUBLISH and size > limits.PUBLISH_REQUEST_BYTES:
        raise errors.too_large("request_size", size, limits.PUBLISH_REQUEST_BYTES)
    if name in (_ACKNOWLEDGE, _MODIFY) and size > limits.ACK_REQUEST_BYTES:
        raise errors.payload_too_large(limits.ACK_REQUEST_BYTES)
    if size > _SMALL_BYTES_OF.get(name, 0) and not _is_sparse(name, encoded):
        EncodedCount(encoded, descriptor).check()


def _is_sparse(name: str, encoded: bytes) -> bool:
    """Whether a publish is mostly payload: a look at every byte, but a fast one.

    Messages and attributes are fields of number 2 both, so that each begins with one of two bytes.
    """
    if name != _PUBLISH:
        return False
    return encoded.count(b"\x12") + encoded.count(b"\x92") <= _ELEMENTS_OF[_PUBLISH]


class EncodedCount:
    """Counts the elements of an encoded request; `steps` is the number of those it looked at."""

    def __init__(self, encoded: bytes, descriptor: Any) -> None:
        self._encoded = encoded
        self._descriptor = descriptor
        self._budget = most_elements(descriptor)
        self.steps = 0
        self._over: Limit | None = None
        self._over_number = 0

    def check(self) -> None:
        """Raise INVALID_ARGUMENT if any field, or the whole, has too many."""
        try:
            self._walk(0, len(self._encoded), self._descriptor)
        except IndexError:
            return  # cut short; the decoder stops here as well

    def _walk(self, at: int, end: int, descriptor: Any) -> None:
        """Go over the fields of the message in `encoded[at:end]`."""
        encoded, plan = self._encoded, _plan_of(descriptor)
        counts: dict[int, int] = {}
        # What is left may be too short to hold too many elements.
        while end - at > 2 * plan.least or (counts and at < end):
            self._step()
            tag, at = _varint(encoded, at)
            number, kind = tag >> 3, tag & 7
            if kind == 2:
                size, at = _varint(encoded, at)
                field = plan.fields.get(number)
                if field is not None:
                    if field.limit is not None:
                        self._count(counts, number, field.limit)
                    if field.message is not None and self._over is None:
                        self._walk(at, min(at + size, end), field.message)
                at += size
            elif kind == 0:
                _, at = _varint(encoded, at)
            else:
                at += _FIXED.get(kind, 0)
        if self._over is not None:
            raise self._over.refusal(counts[self._over_number])

    def _step(self) -> None:
        self.steps += 1
        if self.steps > self._budget:
            raise (
                too_many_elements(self._descriptor)
                if self._over is None
                else self._over.refusal(None)
            )

    def _count(self, counts: dict[int, int], number: int, limit: Limit) -> None:
        count = counts[number] = counts.get(number, 0) + 1
        if count > limit.most and self._over is None:
            self._over, self._over_number = limit, number
            self._budget = min(self._budget, max(self.steps, _COUNTED))


_FIXED = {1: 8, 5: 4}


class _Field(NamedTuple):
    """`limit` is None for single fields; `message` describes what is to be looked into."""

    limit: Limit | None
    message: Any


class _Plan(NamedTuple):
    """The fields of a message by number; fewer than `least` elements are never too many."""

    fields: dict[int, _Field]
    least: int


@cache
def _plan_of(descriptor: Any) -> _Plan:
    fields = {field.number: _field(field) for field in descriptor.fields if _has_elements(field)}
    own = [field.limit.most for field in fields.values() if field.limit is not None]
    inner = [limits.LABELS for field in fields.values() if field.message is not None]
    return _Plan(fields, min([*own, *inner], default=1 << 62))


def _has_elements(field: Any) -> bool:
    return field.message_type is not None or _is_repeated(field)


def _field(field: Any) -> _Field:
    message = field.message_type
    if message is not None and message.GetOptions().map_entry:
        message = None
    return _Field(limit_of(field) if _is_repeated(field) else None, message)


def _is_repeated(field: Any) -> bool:
    # Any: `is_repeated` is new, and `label` on its way out of protobuf.
    newer = getattr(field, "is_repeated", None)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED if newer is None else newer)


def _varint(encoded: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at `at`, and where the next thing begins."""
    byte = encoded[at]
    at += 1
    if byte < 0x80:
        return byte, at
    number, shift = byte & 0x7F, 7
    while True:
        byte = encoded[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
        if shift > 63:
            raise IndexError  # no number is that long
