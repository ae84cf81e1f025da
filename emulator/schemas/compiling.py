"""From a schema as clients send it to what the engine checks with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.api import schema
from emulator.engine.resources.schema import Compiled
from emulator.engine.values import schema_errors
from emulator.schemas.failures import BadDefinition, Interrupted

if TYPE_CHECKING:
    from emulator.schemas.protobuf.compiler import Compiler


class Compiling:
    """Avro is read here, protobuf in a child process; `close` ends what still runs."""

    def __init__(self) -> None:
        self._compiler: Compiler | None = None
        self._is_closed = False

    async def compile(self, given: schema.Schema) -> Compiled:
        """Return what a definition means; raise ERR-62 if it means nothing.

        What cannot be compiled at all has been refused by the engine before.
        """
        try:
            if given.type == schema.Schema.Type.AVRO:
                return _avro(given.definition)
            if given.HasField("compiled_proto_schema"):
                return await self._set(given.compiled_proto_schema)
            return await self._text(given.definition)
        except BadDefinition as error:
            raise schema_errors.bad_schema(str(error)) from error
        except Interrupted as error:
            raise schema_errors.interrupted() from error

    async def _text(self, definition: str) -> Compiled:
        from emulator.schemas.protobuf import descriptors
        from emulator.schemas.protobuf.schema import ProtobufSchema

        return ProtobufSchema(descriptors.of_text(await self._started().compile(definition)))

    async def _set(self, given: schema.CompiledProtoSchema) -> Compiled:
        from emulator.schemas.protobuf import descriptors
        from emulator.schemas.protobuf.schema import ProtobufSchema

        root = given.root_message.removeprefix(".")
        files = descriptors.in_order(given.compiled_bytes)
        tried = await self._started().try_set(files, root)
        return ProtobufSchema(descriptors.of_set(tried, root))

    def _started(self) -> Compiler:
        """The compiler, which most servers never need."""
        if self._is_closed:
            raise Interrupted
        if self._compiler is None:
            from emulator.schemas.protobuf.compiler import Compiler

            self._compiler = Compiler()
        return self._compiler

    def close(self) -> None:
        self._is_closed = True
        if self._compiler is not None:
            self._compiler.close()


def _avro(definition: str) -> Compiled:
    from emulator.schemas.avro.schema import AvroSchema

    return AvroSchema(definition)
