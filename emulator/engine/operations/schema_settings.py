"""What a topic's `schema_settings` mean (TOP-07, SCH-15, SCH-20)."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.api import pubsub, schema
from emulator.engine.resources.schema import Schema
from emulator.engine.resources.topic_schema import Bound, TopicSchema
from emulator.engine.resources.world import World
from emulator.engine.values import errors

_FIELD = "schema_settings"


def is_named(paths: Iterable[str]) -> bool:
    """Whether a mask speaks of the settings."""
    return any(path.partition(".")[0] == _FIELD for path in paths)


def resolved(
    world: World, resource: pubsub.Topic, current: TopicSchema | None = None
) -> TopicSchema | None:
    """Return what a topic's messages must fit; raise for settings that name what is not there.

    The bounds of `current` go on to hold where their ids stay, even if their revisions are gone.
    """
    if not resource.HasField(_FIELD):
        return None
    settings = resource.schema_settings
    found = world.schema(settings.schema)
    if settings.encoding not in schema.Encoding.values():
        raise errors.invalid_argument(f"{_FIELD}.encoding")
    if current is not None and current.schema is not found:
        current = None
    first = _bound(found, settings.first_revision_id, current.first if current else None)
    last = _bound(found, settings.last_revision_id, current.last if current else None)
    if first is not None and last is not None and first.number > last.number:
        raise errors.invalid_argument(f"{_FIELD}: the first revision is newer than the last")
    return TopicSchema(found, settings.encoding, first, last)


def _bound(found: Schema, revision_id: str, current: Bound | None) -> Bound | None:
    if not revision_id:
        return None
    if current is not None and current.revision_id == revision_id:
        return current
    return Bound(revision_id, found.revision(revision_id).number)
