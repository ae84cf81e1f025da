"""A schema and its revisions, of which each has been compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from emulator.api import schema
from emulator.engine.values import durations, errors


class Compiled(Protocol):
    """What the service makes of a definition and hands to the engine.

    The checks tell why a payload does not fit, or return None; `kind` is the type as the reasons
    of errors spell it.
    """

    @property
    def kind(self) -> str: ...
    @property
    def check_binary(self) -> Callable[[bytes], str | None]: ...
    @property
    def check_json(self) -> Callable[[bytes], str | None]: ...
    def incompatibilities(self, older: object) -> list[str]:
        """Return why this cannot follow `older`."""
        ...


def check_of(compiled: Compiled, encoding: int) -> Callable[[bytes], str | None]:
    """What tells of a payload in an encoding why it does not fit."""
    return compiled.check_json if encoding == schema.JSON else compiled.check_binary


def reason_of(compiled: Compiled, encoding: int) -> str:
    """What programs are told of a payload that does not fit (SCH-21)."""
    return f"INVALID_{schema.Encoding.Name(encoding)}_{compiled.kind}_MESSAGE"


class Revision:
    """`number` says in which order revisions were made; it outlives the revision (SCH-23)."""

    __slots__ = ("compiled", "number", "resource")

    def __init__(self, resource: schema.Schema, compiled: Compiled, number: int) -> None:
        self.resource = resource
        self.compiled = compiled
        self.number = number

    @property
    def id(self) -> str:
        return self.resource.revision_id

    @property
    def name(self) -> str:
        """The full name, with the revision (NAM-20)."""
        return f"{self.resource.name}@{self.id}"

    def __repr__(self) -> str:
        return f"<Revision {self.name}>"


class Schema:
    """`revisions` are in the order of their making, one at least; `changes` counts theirs."""

    __slots__ = ("changes", "is_deleted", "name", "revisions")

    def __init__(self, name: str) -> None:
        self.name = name
        self.revisions: list[Revision] = []
        self.changes = 0
        self.is_deleted = False

    @property
    def latest(self) -> Revision:
        return self.revisions[-1]

    def revision(self, revision_id: str) -> Revision:
        """The revision; ERR-04 if there is none of that id."""
        for revision in self.revisions:
            if revision.id == revision_id:
                return revision
        raise errors.not_found(f"{self.name}@{revision_id}")

    def add(
        self, given: schema.Schema, compiled: Compiled, revision_id: str, number: int, now: int
    ) -> Revision:
        """Make a revision of what `given` defines (SCH-02, SCH-06, SCH-07)."""
        resource = schema.Schema(
            name=self.name,
            type=given.type,
            definition=given.definition,
            revision_id=revision_id,
            revision_create_time=durations.to_timestamp(now),
        )
        if given.HasField("compiled_proto_schema"):
            resource.compiled_proto_schema.CopyFrom(given.compiled_proto_schema)
        revision = Revision(resource, compiled, number)
        self.revisions.append(revision)
        self.changes += 1
        return revision

    def remove(self, revision: Revision) -> None:
        self.revisions.remove(revision)
        self.changes += 1

    def __repr__(self) -> str:
        return f"<Schema {self.name}, {len(self.revisions)} revisions>"
