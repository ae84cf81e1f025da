"""What the messages of one topic must fit: some revisions of a schema, in one encoding (SCH-20)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from emulator.api import schema
from emulator.api.pubsub import PubsubMessage
from emulator.engine.resources.schema import Revision, Schema, check_of, reason_of
from emulator.engine.values import names, schema_errors


class _Candidate(NamedTuple):
    """`stamp` is the encoded attributes of messages that were accepted by the revision."""

    check: Callable[[bytes], str | None]
    stamp: bytes
    revision: Revision


class Bound(NamedTuple):
    """A point in time, said by a revision that may be gone (SCH-23)."""

    revision_id: str
    number: int


class TopicSchema:
    """`first` and `last` are inclusive; None where the range is open."""

    __slots__ = ("_candidates", "_changes", "encoding", "first", "last", "schema")

    def __init__(
        self, of_schema: Schema, encoding: int, first: Bound | None, last: Bound | None
    ) -> None:
        self.schema = of_schema
        self.encoding = encoding or schema.JSON  # SCH-12
        self.first = first
        self.last = last
        self._changes = -1
        self._candidates: tuple[_Candidate, ...] = ()

    def stamp(
        self, messages: Sequence[PubsubMessage], encoded: list[bytes], *, is_indexed: bool
    ) -> None:
        """Give every message the attributes that say what it fits (SCH-40); raise ERR-60.

        `messages` get them only if somebody will look at those: `is_indexed`.
        """
        if self.schema.is_deleted:
            raise schema_errors.deleted_schema()
        if self.schema.changes != self._changes:
            self._look()
        stamps = [self._fitting(index, each.data) for index, each in enumerate(messages)]
        for index, stamp in enumerate(stamps):
            encoded[index] += stamp
            if is_indexed:
                messages[index].MergeFromString(stamp)

    def _look(self) -> None:
        """Find the revisions that are allowed now, newest first."""
        low = self.first.number if self.first is not None else 0
        high = self.last.number if self.last is not None else self.schema.latest.number
        self._candidates = tuple(
            _Candidate(
                check_of(revision.compiled, self.encoding), self._stamp_of(revision), revision
            )
            for revision in reversed(self.schema.revisions)
            if low <= revision.number <= high
        )
        self._changes = self.schema.changes

    def _stamp_of(self, revision: Revision) -> bytes:
        attributes = {
            names.SCHEMA_ENCODING: schema.Encoding.Name(self.encoding),
            names.SCHEMA_NAME: self.schema.name,
            names.SCHEMA_REVISION: revision.id,
        }
        return PubsubMessage(attributes=attributes).SerializeToString(deterministic=True)

    def _fitting(self, index: int, payload: bytes) -> bytes:
        detail = "no revision is left in the range that the topic allows"
        for check, stamp, _ in self._candidates:
            problem = check(payload)
            if problem is None:
                return stamp
            detail = problem
        reason = reason_of(self.schema.latest.compiled, self.encoding)
        last = self._candidates[-1].revision.id if self._candidates else ""
        raise schema_errors.unfitting_message(reason, self.schema.name, last, detail, index)

    def __repr__(self) -> str:
        return f"<TopicSchema {self.schema.name}, {self.first}..{self.last}>"
