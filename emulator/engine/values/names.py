"""Resource names: `projects/{project}/{collection}/{id}` (NAM-10..15)."""

from __future__ import annotations

import re
from hashlib import blake2b

from emulator.engine.values import errors, limits

TOPICS = "topics"
SUBSCRIPTIONS = "subscriptions"
SNAPSHOTS = "snapshots"
SCHEMAS = "schemas"
COLLECTIONS = (TOPICS, SUBSCRIPTIONS, SNAPSHOTS, SCHEMAS)

#: What a subscription or a snapshot shows in place of a topic that is gone (NAM-18, TOP-11).
DELETED_TOPIC = "_deleted-topic_"
#: What a topic shows in place of a schema that is gone (NAM-18, SCH-09).
DELETED_SCHEMA = "_deleted-schema_"

#: The attributes of messages that have been accepted under a schema (SCH-40).
SCHEMA_ENCODING = "googclient_schemaencoding"
SCHEMA_NAME = "googclient_schemaname"
SCHEMA_REVISION = "googclient_schemarevisionid"

_ID = re.compile(r"(?!goog)[A-Za-z][A-Za-z0-9\-_.~+%]*", re.IGNORECASE | re.ASCII)
#: Anything goes that can stand in a path segment: tests call their projects as they like (NAM-17).
_PROJECT = re.compile(r"[^/\s]+")
_REVISION = re.compile(r"[0-9a-f]{8}", re.ASCII)
#: Odd, so that counting by it visits every id of 32 bits once before any comes again.
_REVISION_STRIDE = 0x9E3779B1


def check(name: str, collection: str) -> str:
    """Return the project of `name`; raise ERR-01 unless it is a full name in `collection`
    (NAM-15)."""
    parts = name.split("/")
    if (
        len(parts) != 4
        or parts[0] != "projects"
        or parts[2] != collection
        or not _is_project(parts[1])
        or not _is_id(parts[3])
    ):
        raise errors.bad_name(name)
    return parts[1]


def _is_project(text: str) -> bool:
    return len(text) <= limits.PROJECT_ID_CHARACTERS and _PROJECT.fullmatch(text) is not None


def _is_id(text: str) -> bool:
    low, high = limits.RESOURCE_ID_CHARACTERS_MIN, limits.RESOURCE_ID_CHARACTERS_MAX
    return low <= len(text) <= high and _ID.fullmatch(text) is not None


def check_any(name: str) -> str:
    """Return the collection of `name`; raise ERR-01 unless it names a resource of any kind."""
    parts = name.split("/")
    collection = parts[2] if len(parts) == 4 else ""
    if collection not in COLLECTIONS:
        raise errors.bad_name(name)
    check(name, collection)
    return collection


def without_revision(name: str) -> tuple[str, str]:
    """Split `projects/p/schemas/s@{revision}`; the revision is "" where the name has none.

    Raises ERR-01 for what cannot be one (NAM-20).
    """
    base, at, revision = name.partition("@")
    if at and not _REVISION.fullmatch(revision):
        raise errors.bad_name(name)
    check(base, SCHEMAS)
    return base, revision


def revision_id(nonce: bytes, number: int) -> str:
    """The id of the `number`-th revision that an engine made (SCH-13)."""
    start = int.from_bytes(blake2b(nonce, digest_size=4).digest(), "big")
    return f"{(start + number * _REVISION_STRIDE) % 2**32:08x}"


def check_project(name: str) -> str:
    """Return the project of `projects/{project}`; raise ERR-01 for anything else."""
    prefix, _, project = name.partition("/")
    if prefix != "projects" or not _is_project(project):
        raise errors.bad_name(name)
    return project


def project_of(name: str) -> str:
    """The project segment of any resource name, without a check; "" where there is none."""
    parts = name.split("/", 2)
    return parts[1] if len(parts) > 1 else ""
