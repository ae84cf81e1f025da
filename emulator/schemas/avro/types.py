"""The types of an Avro schema, as a graph: a record that contains itself is its own successor."""

from __future__ import annotations

from collections.abc import Sequence

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


class Type:
    """`name` is what a union's JSON calls the type: a named type's full name (AVR-03)."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class Primitive(Type):
    __slots__ = ()


class Array(Type):
    __slots__ = ("items",)

    def __init__(self, items: Type) -> None:
        super().__init__("array")
        self.items = items


class Map(Type):
    __slots__ = ("values",)

    def __init__(self, values: Type) -> None:
        super().__init__("map")
        self.values = values


class Union(Type):
    """`by_name` has the same branches by the names that JSON calls them by."""

    __slots__ = ("branches", "by_name")

    def __init__(self, branches: Sequence[Type]) -> None:
        super().__init__("union")
        self.branches = tuple(branches)
        self.by_name = {branch.name: branch for branch in self.branches}


class Named(Type):
    """`aliases` are full names that its writer may have called it."""

    __slots__ = ("aliases",)

    def __init__(self, name: str, aliases: Sequence[str]) -> None:
        super().__init__(name)
        self.aliases = frozenset(aliases)


class Fixed(Named):
    __slots__ = ("size_bytes",)

    def __init__(self, name: str, aliases: Sequence[str], size_bytes: int) -> None:
        super().__init__(name, aliases)
        self.size_bytes = size_bytes


class Enum(Named):
    __slots__ = ("default", "symbols")

    def __init__(
        self, name: str, aliases: Sequence[str], symbols: Sequence[str], default: str | None
    ) -> None:
        super().__init__(name, aliases)
        self.symbols = tuple(symbols)
        self.default = default


class Field:
    __slots__ = ("aliases", "has_default", "name", "type")

    def __init__(self, name: str, of_type: Type, aliases: Sequence[str], has_default: bool) -> None:
        self.name = name
        self.type = of_type
        self.aliases = frozenset(aliases)
        self.has_default = has_default


class Record(Named):
    """`fields` is filled once they are read, so that they may speak of the record itself."""

    __slots__ = ("fields",)

    def __init__(self, name: str, aliases: Sequence[str]) -> None:
        super().__init__(name, aliases)
        self.fields: tuple[Field, ...] = ()
