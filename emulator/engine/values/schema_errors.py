"""What can go wrong with schemas, and in which words; all else is in `errors`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from emulator.engine.values.errors import (
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    Unavailable,
    info,
)

#: Clients take some 8 KB of text and details.
_TEXT_CHARACTERS = 2_000
_DETAIL_CHARACTERS = 500


def bad_schema(reason: str) -> InvalidArgument:
    """ERR-62."""
    return InvalidArgument(f"Invalid schema definition: Could not parse schema. {reason}")


def interrupted() -> Unavailable:
    """ERR-46: the server stops; clients repeat the call, and meet the next one."""
    return Unavailable("The service was unable to fulfill your request. Please try again.")


def incompatible_revision(problems: Mapping[str, Sequence[str]]) -> InvalidArgument:
    """ERR-61: `problems` are what does not fit, by the id of each earlier revision (SCH-33)."""
    texts = [
        f"Revision is incompatible with previous revision: {revision}. {'; '.join(found)}."
        for revision, found in problems.items()
        if found
    ]
    text = " ".join(["Compatibility checking failed to commit a schema revision.", *texts])
    return InvalidArgument(text[:_TEXT_CHARACTERS])


def last_revision() -> FailedPrecondition:
    """SCH-08: the text is unsettled."""
    return FailedPrecondition("The only revision of a schema cannot be deleted; delete the schema.")


def deleted_schema() -> NotFound:
    """SCH-09."""
    return NotFound("Schema associated with topic deleted.")


def unfitting_message(
    reason: str, schema: str, revision: str, detail: str, index: int | None = None
) -> InvalidArgument:
    """ERR-60: `revision` was the last that was tried; the others are "" where there is none.

    `messageIndex`, the message's place in its request, is an addition of ours (SCH-21).
    """
    failure = "Message failed schema validation"
    where = f"any schema revision for schema: {schema}" if schema else "the given schema"
    last = f", last checked revision: revision_id={revision}" if revision else ""
    detail = detail[:_DETAIL_CHARACTERS]
    about = f"Could not validate message with {where}{last} failed with status: {detail}"
    metadata = {"message": failure, "revisionInfo": about}
    if index is not None:
        metadata["messageIndex"] = str(index)
    return InvalidArgument(f"Invalid data in message: {failure}.", [info(reason, metadata)])
