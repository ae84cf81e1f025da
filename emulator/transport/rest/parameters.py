"""Query parameters: those of the platform, and those that are fields of the request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from emulator.transport.rest.json_fields import Descriptor, JsonField, fields_of
from emulator.transport.rest.known_types import TEXTS
from emulator.transport.rest.violations import Violations

#: RST-30; every name that begins with "$" is one as well.
_PLATFORM = frozenset(
    {
        "access_token", "alt", "callback", "fields", "key", "oauth_token", "prettyPrint",
        "quotaUser", "upload_protocol", "uploadType", "userProject",
    }
)  # fmt: skip
_NO = ("false", "0", "no")
_UNBOUND = "Cannot bind query parameter. "


class Parameters(NamedTuple):
    """`fields` selects parts of the answer; `of_request` has every other parameter's values."""

    is_pretty: bool
    has_enum_numbers: bool
    fields: str
    of_request: Mapping[str, Sequence[str]]


def parse(query: str) -> Parameters:
    """Read a query string."""
    platform: dict[str, str] = {}
    of_request: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name in _PLATFORM or name.startswith("$"):
            platform[name.removeprefix("$")] = value
        else:
            of_request.setdefault(name, []).append(value)
    return Parameters(
        is_pretty=platform.get("prettyPrint", "").lower() not in _NO,
        has_enum_numbers="enum-encoding=int" in platform.get("alt", ""),
        fields=platform.get("fields", ""),
        of_request=of_request,
    )


def as_json(
    of_request: Mapping[str, Sequence[str]], descriptor: Descriptor, violations: Violations
) -> dict[str, Any]:
    """Return the parameters as the JSON of the request that they are fields of (RST-32)."""
    tree: dict[str, Any] = {}
    for name, values in of_request.items():
        path = _path(name, descriptor, violations)
        if path:
            _put(tree, path, values, name, violations)
    return tree


def _path(name: str, descriptor: Descriptor, violations: Violations) -> list[JsonField]:
    """Return the fields that a dotted name leads through, or none if it leads nowhere."""
    path: list[JsonField] = []
    message: Descriptor = descriptor
    for part in name.split("."):
        field = fields_of(message).get(part) if message is not None else None
        if field is None:
            problem = f"Field '{part}' could not be found in request message."
            violations.unknown(name, "", _UNBOUND + problem)
            return []
        path.append(field)
        message = None if field.is_repeated or field.is_map else field.message
    if not _is_text(path[-1]):
        problem = f"'{path[-1].name}' is a message type. Parameters can only be bound to primitive "
        violations.unknown(name, "", f"{_UNBOUND}{problem}types.")
        return []
    return path


def _is_text(field: JsonField) -> bool:
    return field.message is None or field.message.full_name in TEXTS


def _put(
    tree: dict[str, Any],
    path: Sequence[JsonField],
    values: Sequence[str],
    name: str,
    violations: Violations,
) -> None:
    *parents, leaf = path
    for parent in parents:
        tree = tree.setdefault(parent.name, {})
    if leaf.is_repeated:
        tree.setdefault(leaf.name, []).extend(values)
    elif len(values) > 1 or leaf.name in tree:
        violations.unknown(name, "", "Proto field is not repeating, cannot start list.")
    else:
        tree[leaf.name] = values[0]
