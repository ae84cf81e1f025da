"""The SchemaService: one method an RPC, for every transport."""

from __future__ import annotations

from emulator.api import schema
from emulator.api.wkt import Empty
from emulator.engine.resources.schema import Compiled
from emulator.schemas.compiling import Compiling
from emulator.service.call import Call
from emulator.service.core import Core


class Schemas:
    """Compiles definitions, which takes a while, and hands them to the engine compiled."""

    def __init__(self, core: Core, compiling: Compiling) -> None:
        self._core = core
        self._compiling = compiling

    async def create_schema(self, request: schema.CreateSchemaRequest, call: Call) -> schema.Schema:
        core, parent = self._core, request.parent
        new_id, given = request.schema_id, request.schema
        core.perform(parent, core.engine.schemas.check_new, parent, new_id, given)
        compiled = await self._compiling.compile(given)
        return core.perform(parent, core.engine.schemas.create, parent, new_id, given, compiled)

    def get_schema(self, request: schema.GetSchemaRequest, call: Call) -> schema.Schema:
        core, name = self._core, request.name
        return core.perform(name, core.engine.schemas.get, name, request.view)

    def list_schemas(
        self, request: schema.ListSchemasRequest, call: Call
    ) -> schema.ListSchemasResponse:
        core = self._core
        schemas, token = core.perform(
            request.parent,
            core.engine.schemas.list,
            request.parent,
            request.view,
            request.page_size,
            request.page_token,
        )
        return schema.ListSchemasResponse(schemas=schemas, next_page_token=token)

    def list_schema_revisions(
        self, request: schema.ListSchemaRevisionsRequest, call: Call
    ) -> schema.ListSchemaRevisionsResponse:
        core = self._core
        revisions, token = core.perform(
            request.name,
            core.engine.schemas.list_revisions,
            request.name,
            request.view,
            request.page_size,
            request.page_token,
        )
        return schema.ListSchemaRevisionsResponse(schemas=revisions, next_page_token=token)

    async def commit_schema(self, request: schema.CommitSchemaRequest, call: Call) -> schema.Schema:
        core, name, given = self._core, request.name, request.schema
        core.perform(name, core.engine.schemas.check_commit, name, given)
        compiled = await self._compiling.compile(given)
        return core.perform(name, core.engine.schemas.commit, name, given, compiled)

    def rollback_schema(self, request: schema.RollbackSchemaRequest, call: Call) -> schema.Schema:
        core, name = self._core, request.name
        return core.perform(name, core.engine.schemas.rollback, name, request.revision_id)

    def delete_schema_revision(
        self, request: schema.DeleteSchemaRevisionRequest, call: Call
    ) -> schema.Schema:
        core, name = self._core, request.name
        return core.perform(name, core.engine.schemas.delete_revision, name)

    def delete_schema(self, request: schema.DeleteSchemaRequest, call: Call) -> Empty:
        core, name = self._core, request.name
        core.perform(name, core.engine.schemas.delete, name)
        return Empty()

    async def validate_schema(
        self, request: schema.ValidateSchemaRequest, call: Call
    ) -> schema.ValidateSchemaResponse:
        await self._compile_new(request.parent, request.schema)
        return schema.ValidateSchemaResponse()

    async def validate_message(
        self, request: schema.ValidateMessageRequest, call: Call
    ) -> schema.ValidateMessageResponse:
        core, parent = self._core, request.parent
        compiled = None
        if request.HasField("schema"):
            compiled = await self._compile_new(parent, request.schema)
        core.perform(parent, core.engine.schemas.check_message, request, compiled)
        return schema.ValidateMessageResponse()

    async def _compile_new(self, parent: str, given: schema.Schema) -> Compiled:
        core = self._core
        core.perform(parent, core.engine.schemas.check_new_definition, parent, given)
        return await self._compiling.compile(given)
