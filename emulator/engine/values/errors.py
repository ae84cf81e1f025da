"""What can go wrong, and in which words (spec: errors.md).

Every refusal is a `PubsubError` with the code, the text and the details that both transports
send. The texts are the service's own where they are known; each function below makes one of them
and cites its rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import ClassVar

from emulator.api.rpc import ErrorInfo
from emulator.api.wkt import Any


class Code(IntEnum):
    """The canonical status codes, by their gRPC numbers."""

    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class PubsubError(Exception):
    """A refusal: `code`, `message`, and `details` (packed google.rpc messages, often none)."""

    code: ClassVar[Code]

    def __init__(self, message: str, details: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.details = tuple(details)

    def __repr__(self) -> str:
        return f"<{self.code.name} {self.message!r}>"


class InvalidArgument(PubsubError):
    code = Code.INVALID_ARGUMENT


class NotFound(PubsubError):
    code = Code.NOT_FOUND


class AlreadyExists(PubsubError):
    code = Code.ALREADY_EXISTS


class FailedPrecondition(PubsubError):
    code = Code.FAILED_PRECONDITION


class ResourceExhausted(PubsubError):
    code = Code.RESOURCE_EXHAUSTED


class Aborted(PubsubError):
    code = Code.ABORTED


class Unimplemented(PubsubError):
    code = Code.UNIMPLEMENTED


class Internal(PubsubError):
    code = Code.INTERNAL


class Unavailable(PubsubError):
    code = Code.UNAVAILABLE


def info(reason: str, metadata: Mapping[str, str]) -> Any:
    """The detail that tells programs what is wrong."""
    detail = Any()
    content = ErrorInfo(reason=reason, domain="pubsub.googleapis.com", metadata=metadata)
    # In one order: the same call has the same outcome, byte for byte.
    detail.Pack(content, deterministic=True)
    return detail


# --- names and existence -------------------------------------------------------------------------


def bad_name(name: str) -> InvalidArgument:
    """ERR-01."""
    return InvalidArgument(
        f"Invalid resource name given (name={name}). Refer to "
        "https://cloud.google.com/pubsub/docs/pubsub-basics#resource_names for more information."
    )


def not_found(name: str) -> NotFound:
    """ERR-02, ERR-04: the text carries the leaf id only, but a schema's full name (LST-01)."""
    return NotFound(f"Resource not found (resource={_shown(name)}).")


def already_exists(name: str) -> AlreadyExists:
    """ERR-03."""
    return AlreadyExists(f"Resource already exists in the project (resource={_shown(name)}).")


def unknown_project(project: str) -> NotFound:
    """ERR-05."""
    return NotFound(
        "Requested project not found or user does not have access to it "
        f"(project={project}). Make sure to specify the unique project identifier and not the "
        "Google Cloud Console display name."
    )


def _shown(name: str) -> str:
    *_, collection, leaf = ("", *name.split("/"))
    return name if collection == "schemas" else leaf


# --- values of resources -------------------------------------------------------------------------


def invalid_argument(what: str) -> InvalidArgument:
    """The service's general words for a value it does not take (as in ERR-15, ERR-20)."""
    return InvalidArgument(f"You have passed an invalid argument to the service (argument={what}).")


def out_of_bounds(what: str, given: object, low: object, high: object) -> InvalidArgument:
    """ERR-22, ERR-28 and their kind."""
    return InvalidArgument(
        f"The value for {what} is out of bounds. You passed {given} in the request, but the value "
        f"must be between {low} and {high}."
    )


def too_small(what: str, given: object, low: object) -> InvalidArgument:
    """ERR-23, ERR-24, ERR-50 and their kind."""
    return InvalidArgument(
        f"The value for {what} is too small. You passed {given} in the request, but the "
        f"minimum value is {low}."
    )


def too_large(what: str, given: object, high: object) -> InvalidArgument:
    """ERR-24, ERR-51, ERR-53, ERR-55 and their kind."""
    return InvalidArgument(
        f"The value for {what} is too large. You passed {given} in the request, but the "
        f"maximum value is {high}."
    )


def bad_ack_deadline(given_s: int, low_s: int, high_s: int) -> InvalidArgument:
    """ERR-10 (a subscription's) and ERR-11 (a lease's)."""
    return InvalidArgument(
        f"Invalid ack deadline given (ack_deadline={given_s}). The ack deadline must be between "
        f"{low_s} and {high_s} seconds."
    )


def bad_label_key_start(key: str) -> InvalidArgument:
    """ERR-20."""
    return invalid_argument(
        f'Invalid labels: Invalid field "labels"; key "{key}" does not conform to regular '
        "expression "
        r'"[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]{0,62}"; first character '
        f'"{key[:1]}" is not a non-uppercased letter (Unicode character class Ll or Lo)'
    )


def bad_label_key(key: str) -> InvalidArgument:
    """ERR-20 for a later character or the length: the text is unsettled (LBL-02)."""
    return invalid_argument(
        f'Invalid labels: Invalid field "labels"; key "{key}" does not conform to regular '
        "expression "
        r'"[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]{0,62}"'
    )


def bad_label_value(key: str, value: str) -> InvalidArgument:
    """A label value with a character that is not allowed: the text is unsettled (LBL-02)."""
    return invalid_argument(
        f'Invalid labels: Invalid field "labels.{key}"; value "{value}" does not conform to '
        r'regular expression "[\p{Ll}\p{Lo}\p{N}_-]{0,63}"'
    )


def long_label_value(key: str, value: str, limit: int) -> InvalidArgument:
    """ERR-21."""
    return invalid_argument(
        f'Invalid labels: Invalid field "labels.{key}"; value "{value}" exceeds maximum value '
        f"length {limit} with a length of {len(value)}"
    )


def bad_page_token(token: str) -> InvalidArgument:
    """ERR-29."""
    return InvalidArgument(f"Invalid page token given (token={token}).")


def bad_filter(line: int, column: int, token: str) -> InvalidArgument:
    """ERR-18: where the offending token begins, counted from 1 (FLT-03)."""
    where = {"line": str(line), "column": str(column), "token": token}
    return InvalidArgument(
        f"Invalid filter expression: failed to parse (syntax error at line {line}, column "
        f"{column}, token '{token}').",
        [info("FILTER_EXPRESSION_FAILED_TO_PARSE", where | {"message": "syntax error"})],
    )


def long_filter(given_bytes: int, limit_bytes: int) -> InvalidArgument:
    """ERR-19: the text is unsettled."""
    return too_large("filter_size", given_bytes, limit_bytes)


# --- updates and policies ---------------------------------------------------------------------


def empty_mask(kind: str) -> InvalidArgument:
    """ERR-25; `kind` is Topic, Subscription or Snapshot, here and below."""
    return InvalidArgument(
        f"The update_mask in the Update{kind}Request must be set, and must contain a non-empty "
        "paths list."
    )


def unknown_mask_path(kind: str, path: str, hint: str) -> InvalidArgument:
    """ERR-26; `hint` is a path in snake_case to learn from."""
    first, *others = hint.split("_")
    camel = first + "".join(map(str.capitalize, others))
    return InvalidArgument(
        f"Invalid update_mask provided in the Update{kind}Request: '{path}' is not a known {kind} "
        f"field. Note that field paths must be of the form '{hint}' rather than '{camel}'."
    )


def immutable_mask_path(kind: str, path: str) -> InvalidArgument:
    """ERR-27."""
    return InvalidArgument(
        f"Invalid update_mask provided in the Update{kind}Request: the '{path}' field in the "
        f"{kind} is not mutable."
    )


def policy_too_large(what: str, given: object, limit: object) -> InvalidArgument:
    """IAM-04: the words are those for "number of members in"; for the size they are ours."""
    given, limit = (f"{each:,}" if isinstance(each, int) else each for each in (given, limit))
    return InvalidArgument(
        f"The {what} the policy ({given}) is larger than the maximum allowed size {limit}."
    )


def stale_etag() -> Aborted:
    """ERR-83: the text is unsettled."""
    return Aborted(
        "There were concurrent policy changes. Please retry the whole read-modify-write with "
        "exponential backoff."
    )


# --- publish -------------------------------------------------------------------------------------


def empty_message() -> InvalidArgument:
    """ERR-52."""
    return InvalidArgument(
        "One or more messages in the publish request is empty. Each message must contain either "
        "non-empty data, or at least one attribute."
    )


def mixed_ordering_keys() -> FailedPrecondition:
    """ERR-56."""
    return FailedPrecondition(
        "In a single publish request, all messages must have no ordering key or they must all have "
        "the same ordering key. [code=539b]"
    )


def bad_attribute_key(key: str) -> InvalidArgument:
    """ERR-57."""
    return InvalidArgument(
        f"The request contains an attribute key that is not valid (key={key}). Attribute keys "
        "must be non-empty and must not begin with 'goog' (case-insensitive)."
    )


def long_attribute(key: str, part: str, length: int, limit: int) -> InvalidArgument:
    """ERR-58; `part` is "key" or "value". The length is in bytes though the text says characters
    (PUB-26)."""
    return InvalidArgument(
        f'The attribute "{key}" in the request has a {part} that is too long. The length is '
        f"{length} characters, but the maximum allowed is {limit}. Refer to "
        "https://cloud.google.com/pubsub/quotas for more information."
    )


# --- leases --------------------------------------------------------------------------------------


def bad_ack_id(ack_id: str) -> InvalidArgument:
    """ERR-12."""
    return InvalidArgument(f"You have passed an invalid ack ID to the service (ack_id={ack_id}).")


def no_ack_ids() -> InvalidArgument:
    """ERR-13."""
    return InvalidArgument("You have not specified an ack ID in the request.")


def payload_too_large(limit_bytes: int) -> InvalidArgument:
    """ERR-14, ERR-54."""
    return InvalidArgument(f"Request payload size exceeds the limit: {limit_bytes} bytes.")


def detached_subscription() -> FailedPrecondition:
    """ERR-41: the text is unsettled."""
    return FailedPrecondition("Subscription is detached.")


def unequal_modify_lists() -> InvalidArgument:
    """ERR-16."""
    return InvalidArgument(
        "Invalid arguments provided: the number of ack ids to modify must be equal to the number "
        "of ack deadlines."
    )


def stream_closed() -> Unavailable:
    """ERR-45."""
    return Unavailable(
        "The StreamingPull stream closed for an expected reason and should be recreated, which is "
        "done automatically if using Cloud Pub/Sub client libraries."
    )


def unsupported_subscription_type() -> FailedPrecondition:
    """ERR-40."""
    return FailedPrecondition("This method is not supported for this subscription type.")


def no_seek_target() -> InvalidArgument:
    """ERR-42."""
    return InvalidArgument(
        "No target was specified in the SeekRequest. Must specify either a time or a snapshot."
    )


def snapshot_of_another_topic(topic: str, snapshots_topic: str) -> FailedPrecondition:
    """ERR-43."""
    return FailedPrecondition(
        f"The subscription's topic ({topic}) is different from that of the snapshot "
        f"({snapshots_topic}); they must match in order for Seek work. Note that if a topic is "
        "deleted and then re-created with the same name, it is considered a distinct topic for "
        "these purposes."
    )


def short_lived_snapshot() -> FailedPrecondition:
    """ERR-44: the text is unsettled."""
    return FailedPrecondition(
        "The snapshot would expire within an hour, because the oldest unacknowledged message of "
        "the subscription is almost seven days old."
    )


def exactly_once_failure(codes: Mapping[str, str]) -> InvalidArgument:
    """ERR-17: `codes` says of each failing ack id what is wrong with it (EOD-02, EOD-03)."""
    return InvalidArgument(
        "Some acknowledgement ids in the request were invalid. This could be because the "
        "acknowledgement ids have expired or the acknowledgement ids were malformed.",
        [info("EXACTLY_ONCE_ACKID_FAILURE", codes)],
    )


# --- quotas --------------------------------------------------------------------------------------


def check_quota(limit_type: str, current: int, maximum: int) -> None:
    """Raise RESOURCE_EXHAUSTED when `maximum` of something exist already (QUO-01)."""
    if current >= maximum:
        raise ResourceExhausted(
            f'Your project has exceeded a limit: (type="{limit_type}", current={current}, '
            f"maximum={maximum})."
        )
