"""A compiled protobuf definition."""

from __future__ import annotations

from emulator.schemas.protobuf import binary_payload, compatibility, json_payload
from emulator.schemas.protobuf.descriptors import Root


class ProtobufSchema:
    """`check_binary` and `check_json` tell why a payload does not fit, or return None."""

    kind = "PROTO"

    def __init__(self, root: Root) -> None:
        self._root = root
        self.check_binary = binary_payload.make_check(root.message)
        self.check_json = json_payload.make_check(root)

    def incompatibilities(self, older: object) -> list[str]:
        """Return why this cannot follow `older` (SCH-30)."""
        if not isinstance(older, ProtobufSchema):
            return ["The type of the schema is another"]
        return compatibility.problems(self._root.message.DESCRIPTOR, older._root.message.DESCRIPTOR)

    def __repr__(self) -> str:
        return f"<ProtobufSchema {self._root.message.DESCRIPTOR.full_name}>"
