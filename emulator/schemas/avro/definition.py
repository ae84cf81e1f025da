"""Reads Avro definitions: JSON text to types (AVR-01, AVR-08).

The libraries for Avro let repeated fields, nested unions and bad names pass, which the service
does not, and refuse defaults of another type, which the service takes; hence this reader.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from emulator.schemas.avro import types
from emulator.schemas.failures import BadDefinition

#: Types within types, as they are written; a limit of ours. Together with that of payloads it keeps
#: far from the interpreter's own limit.
NESTING = 64
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_FULL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*", re.ASCII)
_PRIMITIVES = {name: types.Primitive(name) for name in types.PRIMITIVES}


def parse(text: str) -> types.Type:
    """Return the type that a definition defines; raise BadDefinition if it defines none."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise BadDefinition(f"not JSON: {error}") from error
    return _Reader().read(value, "", 0)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


class _Reader:
    """Reads one definition; `_named` are the types that have been given a name so far."""

    def __init__(self) -> None:
        self._named: dict[str, types.Named] = {}

    def read(self, value: Any, namespace: str, depth: int) -> types.Type:
        if depth > NESTING:
            raise BadDefinition(f"types are nested more than {NESTING} levels deep")
        match value:
            case str():
                return self._refer(value, namespace)
            case list():
                return self._union(value, namespace, depth)
            case {"type": kind}:
                return self._of_object(kind, value, namespace, depth)
        raise BadDefinition(f"not a type: {_shown(value)}")

    def _refer(self, name: str, namespace: str) -> types.Type:
        if name in _PRIMITIVES:
            return _PRIMITIVES[name]
        for full_name in (_qualified(name, namespace), name):
            if full_name in self._named:
                return self._named[full_name]
        raise BadDefinition(f"unknown type: {_shown(name)}")

    def _of_object(
        self, kind: Any, value: Mapping[str, Any], namespace: str, depth: int
    ) -> types.Type:
        match kind:
            case "array":
                return types.Array(self.read(_part(value, "items"), namespace, depth + 1))
            case "map":
                return types.Map(self.read(_part(value, "values"), namespace, depth + 1))
            case "record" | "error":
                return self._record(value, namespace, depth)
            case "enum":
                return self._enum(value, namespace)
            case "fixed":
                return self._fixed(value, namespace)
        return self.read(kind, namespace, depth + 1)

    def _union(self, values: list[Any], namespace: str, depth: int) -> types.Union:
        branches = [self.read(value, namespace, depth + 1) for value in values]
        if any(isinstance(branch, types.Union) for branch in branches):
            raise BadDefinition("a union may not contain another union at once")
        _check_unique([branch.name for branch in branches], "branch", "union")
        return types.Union(branches)

    def _record(self, value: Mapping[str, Any], namespace: str, depth: int) -> types.Record:
        name, namespace = _named(value, namespace)
        record = types.Record(name, _aliases(value, namespace))
        self._add(record)
        fields = _part(value, "fields")
        if not isinstance(fields, list):
            raise BadDefinition(f"the fields of {name} are not a list")
        record.fields = tuple(self._field(field, name, namespace, depth) for field in fields)
        _check_unique([field.name for field in record.fields], "field", name)
        return record

    def _field(self, value: Any, record: str, namespace: str, depth: int) -> types.Field:
        if not isinstance(value, dict):
            raise BadDefinition(f"a field of {record} is not an object: {_shown(value)}")
        name = _checked_name(value.get("name"), f"a field of {record}")
        if "type" not in value:
            raise BadDefinition(f'field "{name}" of {record} has no type')
        of_type = self.read(value["type"], namespace, depth + 1)
        return types.Field(name, of_type, _texts(value, "aliases"), "default" in value)

    def _enum(self, value: Mapping[str, Any], namespace: str) -> types.Enum:
        name, namespace = _named(value, namespace)
        symbols = _texts(value, "symbols", is_needed=True)
        for symbol in symbols:
            _checked_name(symbol, f"a symbol of {name}")
        _check_unique(symbols, "symbol", name)
        default = value.get("default")
        if default is not None and default not in symbols:
            raise BadDefinition(f"the default of {name} is none of its symbols")
        made = types.Enum(name, _aliases(value, namespace), symbols, default)
        self._add(made)
        return made

    def _fixed(self, value: Mapping[str, Any], namespace: str) -> types.Fixed:
        name, namespace = _named(value, namespace)
        size = _part(value, "size")
        if type(size) is not int or size < 0:
            raise BadDefinition(f"the size of {name} is not a number of bytes: {_shown(size)}")
        made = types.Fixed(name, _aliases(value, namespace), size)
        self._add(made)
        return made

    def _add(self, made: types.Named) -> None:
        if made.name in self._named:
            raise BadDefinition(f"{made.name} is defined twice")
        self._named[made.name] = made


def _named(value: Mapping[str, Any], namespace: str) -> tuple[str, str]:
    """Return a new type's full name and the namespace within it."""
    name = _part(value, "name")
    own = value.get("namespace")
    if own is not None and (not isinstance(own, str) or (own and not _FULL_NAME.fullmatch(own))):
        raise BadDefinition(f"not a namespace: {_shown(own)}")
    if not isinstance(name, str) or not _FULL_NAME.fullmatch(name):
        raise BadDefinition(f"not a name: {_shown(name)}")
    full_name = _qualified(name, namespace if own is None else own)
    if full_name in _PRIMITIVES:
        raise BadDefinition(f"a type may not be called {full_name}")
    return full_name, full_name.rpartition(".")[0]


def _qualified(name: str, namespace: str) -> str:
    return f"{namespace}.{name}" if namespace and "." not in name else name


def _aliases(value: Mapping[str, Any], namespace: str) -> list[str]:
    return [_qualified(alias, namespace) for alias in _texts(value, "aliases")]


def _part(value: Mapping[str, Any], key: str) -> Any:
    if key not in value:
        raise BadDefinition(f'"{key}" is missing in {_shown(value)}')
    return value[key]


def _texts(value: Mapping[str, Any], key: str, *, is_needed: bool = False) -> list[str]:
    texts = _part(value, key) if is_needed else value.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise BadDefinition(f'"{key}" is not a list of texts: {_shown(texts)}')
    return texts


def _checked_name(name: Any, what: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadDefinition(f"{what} is not a name: {_shown(name)}")
    return name


def _check_unique(names: list[str], what: str, where: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BadDefinition(f'{what} "{name}" occurs twice in {where}')
        seen.add(name)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:60]}…"
