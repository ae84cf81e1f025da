"""A compiled Avro definition."""

from __future__ import annotations

from emulator.schemas.avro import binary_payload, compatibility, definition, json_payload
from emulator.schemas.failures import BadDefinition


class AvroSchema:
    """`check_binary` and `check_json` tell why a payload does not fit, or return None."""

    kind = "AVRO"

    def __init__(self, text: str) -> None:
        try:
            self._type = definition.parse(text)
            self.check_binary = binary_payload.make_check(self._type)
            self.check_json = json_payload.make_check(self._type)
        except RecursionError as error:
            raise BadDefinition("types are nested too deeply") from error

    def incompatibilities(self, older: object) -> list[str]:
        """Return why this cannot follow `older`: each must read what the other writes (SCH-32)."""
        if not isinstance(older, AvroSchema):
            return ["The type of the schema is another"]
        forward = compatibility.problems(self._type, older._type)
        return forward + compatibility.problems(older._type, self._type)

    def __repr__(self) -> str:
        return f"<AvroSchema {self._type.name}>"
