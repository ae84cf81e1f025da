"""Administration of schemas, and checks against them (SCH-*).

Definitions come with what the service has compiled of them. Before it compiles one, it asks with
`check_new`, `check_commit` or `check_definition` whether that is worth the while.
"""

from __future__ import annotations

import builtins

from emulator.api import schema
from emulator.engine.delivery.outcome import Outcome
from emulator.engine.resources.events import ResourceGone, RevisionAdded, RevisionGone
from emulator.engine.resources.schema import Compiled, Revision, Schema, check_of, reason_of
from emulator.engine.resources.world import World
from emulator.engine.values import errors, limits, names, schema_errors
from emulator.engine.values.copying import copied

#: Sorts revisions newest first, in the order of texts (SCH-05).
_AFTER_ALL = 10**15
_PROBLEMS_SHOWN = 5


class Schemas:
    def __init__(self, world: World) -> None:
        self._world = world

    def check_new(
        self, parent: str, schema_id: str, given: schema.Schema, *, now: int
    ) -> Outcome[str]:
        """Return the name that creating a schema would give it; raise if it could not be."""
        world = self._world
        project = names.check_project(parent)
        name = f"{parent}/{names.SCHEMAS}/{schema_id}"
        names.check(name, names.SCHEMAS)
        check_definition(given)
        world.check_allowed(project)
        if name in world.schemas:
            raise errors.already_exists(name)
        world.check_project_quota(names.SCHEMAS, project, limits.SCHEMAS_PER_PROJECT)
        return self._world.outcome(name)

    def create(
        self, parent: str, schema_id: str, given: schema.Schema, compiled: Compiled, *, now: int
    ) -> Outcome[schema.Schema]:
        """Create a schema with its first revision; return it (SCH-02)."""
        name = self.check_new(parent, schema_id, given, now=now).value
        self._world.project(names.project_of(name))
        made = self._world.schemas[name] = Schema(name)
        return self._world.outcome(self._add(made, given, compiled, now))

    def _add(self, to: Schema, given: schema.Schema, compiled: Compiled, now: int) -> schema.Schema:
        number = self._world.next_revision()
        revision_id = names.revision_id(self._world.nonce, number)
        added = copied(to.add(given, compiled, revision_id, number, now).resource)
        if self._world.recording.is_on:
            self._world.recording.add(RevisionAdded(copied(added), number))
        return added

    def get(self, name: str, view: int, *, now: int) -> Outcome[schema.Schema]:
        """Return a schema, or the revision that `name` carries (SCH-04)."""
        return self._world.outcome(_shown(self._revision(name), view, schema.FULL))

    def _revision(self, name: str) -> Revision:
        base, revision_id = names.without_revision(name)
        found = self._world.schema(base)
        return found.revision(revision_id) if revision_id else found.latest

    def list(
        self, parent: str, view: int, page_size: int, page_token: str, *, now: int
    ) -> Outcome[tuple[list[schema.Schema], str]]:
        """Return a page of a project's schemas and the next token (SCH-05, LST-07)."""
        found, token = self._world.page_of(names.SCHEMAS, parent, page_size, page_token)
        schemas = self._world.schemas
        shown = [_shown(schemas[name].latest, view, schema.BASIC) for name in found]
        return self._world.outcome((shown, token))

    def list_revisions(
        self, name: str, view: int, page_size: int, page_token: str, *, now: int
    ) -> Outcome[tuple[builtins.list[schema.Schema], str]]:
        """Return a page of a schema's revisions, newest first, and the next token (SCH-05)."""
        found = self._world.schema(name)
        keys = {str(_AFTER_ALL - each.number): each for each in found.revisions}
        pager = self._world.pager
        page, token = pager.page(keys, f"{name}/revisions", page_size, page_token)
        return self._world.outcome(([_shown(keys[key], view, schema.BASIC) for key in page], token))

    def check_commit(self, name: str, given: schema.Schema, *, now: int) -> Outcome[Schema]:
        """Return the schema that a revision may be added to; raise if it may not (SCH-34)."""
        found = self._world.schema(name)
        check_definition(given)
        if given.type != found.latest.resource.type:
            raise errors.invalid_argument("schema.type: the type of a schema cannot change")
        _check_room(found)
        return self._world.outcome(found)

    def commit(
        self, name: str, given: schema.Schema, compiled: Compiled, *, now: int
    ) -> Outcome[schema.Schema]:
        """Add a revision that gets along with all there are; return it (SCH-06, SCH-30..33)."""
        found = self.check_commit(name, given, now=now).value
        problems = {
            revision.id: compiled.incompatibilities(revision.compiled)[:_PROBLEMS_SHOWN]
            for revision in reversed(found.revisions)
        }
        if any(problems.values()):
            raise schema_errors.incompatible_revision(problems)
        return self._world.outcome(self._add(found, given, compiled, now))

    def rollback(self, name: str, revision_id: str, *, now: int) -> Outcome[schema.Schema]:
        """Add a revision with the definition of an older one; return it (SCH-07)."""
        found = self._world.schema(name)
        if not revision_id:
            raise errors.invalid_argument("revision_id")
        source = found.revision(revision_id)
        _check_room(found)
        return self._world.outcome(self._add(found, source.resource, source.compiled, now))

    def delete_revision(self, name: str, *, now: int) -> Outcome[schema.Schema]:
        """Delete the revision that `name` carries; return the latest that is left (SCH-08)."""
        base, revision_id = names.without_revision(name)
        if not revision_id:
            raise errors.bad_name(name)
        found = self._world.schema(base)
        revision = found.revision(revision_id)
        if len(found.revisions) == 1:
            raise schema_errors.last_revision()
        found.remove(revision)
        if self._world.recording.is_on:
            self._world.recording.add(RevisionGone(base, revision_id))
        return self._world.outcome(copied(found.latest.resource))

    def delete(self, name: str, *, now: int) -> Outcome[None]:
        """Delete a schema; its topics show that, and take no message any more (SCH-09)."""
        world = self._world
        found = world.schema(name)
        del world.schemas[name]
        world.policies.pop(name, None)
        found.is_deleted = True
        for topic in world.topics.values():
            if topic.schema is not None and topic.schema.schema is found:
                topic.resource.schema_settings.schema = names.DELETED_SCHEMA
        if world.recording.is_on:
            world.recording.add(ResourceGone(name, now))
        return self._world.outcome(None)

    def check_new_definition(self, parent: str, given: schema.Schema, *, now: int) -> Outcome[None]:
        """Raise unless `given`, which belongs to no schema yet, is worth compiling (SCH-10)."""
        project = names.check_project(parent)
        check_definition(given)
        self._world.check_allowed(project)
        return self._world.outcome(None)

    def check_message(
        self, request: schema.ValidateMessageRequest, compiled: Compiled | None, *, now: int
    ) -> Outcome[None]:
        """Raise ERR-60 unless a message fits (SCH-11).

        `compiled` is of the schema that the request brings along; None if it names one.
        """
        names.check_project(request.parent)
        if request.encoding not in (schema.JSON, schema.BINARY):
            raise errors.invalid_argument("encoding")  # SCH-12
        name, revision_id = "", ""
        if compiled is None:
            revision = self._revision(request.name)
            name, revision_id, compiled = revision.resource.name, revision.id, revision.compiled
        problem = check_of(compiled, request.encoding)(request.message)
        if problem is not None:
            reason = reason_of(compiled, request.encoding)
            raise schema_errors.unfitting_message(reason, name, revision_id, problem)
        return self._world.outcome(None)


def check_definition(given: schema.Schema) -> None:
    """Raise INVALID_ARGUMENT for what cannot be compiled at all (SCH-01, SCH-14, SCH-17)."""
    if given.type not in (schema.Schema.Type.PROTOCOL_BUFFER, schema.Schema.Type.AVRO):
        raise errors.invalid_argument("schema.type")
    size_bytes = len(given.definition.encode())
    if given.HasField("compiled_proto_schema"):
        given_set = given.compiled_proto_schema
        if given.type != schema.Schema.Type.PROTOCOL_BUFFER:
            raise errors.invalid_argument(
                "schema.type: compiled_proto_schema needs PROTOCOL_BUFFER"
            )
        if given.definition:
            raise errors.invalid_argument(
                "schema: definition and compiled_proto_schema are both set"
            )
        if not given_set.root_message or not given_set.compiled_bytes:
            raise errors.invalid_argument("schema.compiled_proto_schema: a part is missing")
        size_bytes = len(given_set.compiled_bytes)
    if size_bytes > limits.SCHEMA_DEFINITION_BYTES:
        raise errors.too_large("definition_size", size_bytes, limits.SCHEMA_DEFINITION_BYTES)


def _check_room(found: Schema) -> None:
    errors.check_quota(
        "revisions-per-schema", len(found.revisions), limits.REVISIONS_PER_SCHEMA
    )  # SCH-14


def _shown(revision: Revision, view: int, default: int) -> schema.Schema:
    """A revision as a view has it (SCH-04, SCH-05)."""
    if view not in schema.SchemaView.values():
        raise errors.invalid_argument("view")
    resource = copied(revision.resource)
    if (view or default) == schema.BASIC:
        resource.ClearField("definition")
        resource.ClearField("compiled_proto_schema")
    return resource
