"""YAML and JSON as trees whose every node knows its line.

Plain words mean what they mean in YAML 1.2: `yes`, `on`, `12:30` and `2024-01-01` are texts.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import yaml

from emulator.config.problems import ConfigError, Place, Problem

_TAG = "tag:yaml.org,2002:"
_INTEGER = re.compile(r"[-+]?[0-9]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_LATER_TEXTS = ("bool", "int", "float", "timestamp", "null", "str", "merge", "value")
#: What aliases may blow a small file up to.
_MOST_NODES = 1_000_000


class Node(NamedTuple):
    """`value` is a dict of nodes, a list of nodes, or a scalar; `text` a scalar as it stands."""

    value: Any
    line: int
    text: str = ""


def read(text: str, file: str) -> Node:
    """Return the tree of a file's text; raises ConfigError for what is neither YAML nor JSON."""
    if file.endswith(".json"):
        text = _checked_json(text, file)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        return Node(None, 1) if root is None else _Reader(file).node(root)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        problem = error.problem or error.context or "not YAML"
        raise _error(file, line, problem) from error
    except yaml.YAMLError as error:
        raise _error(file, 0, str(error).splitlines()[0]) from error
    except RecursionError as error:
        raise _error(file, 0, "nested too deeply") from error


def _checked_json(text: str, file: str) -> str:
    """JSON as YAML reads it: without tabs, which JSON has only between tokens."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise _error(file, error.lineno, error.msg) from error
    return text.replace("\t", " ")


def _error(file: str, line: int, text: str) -> ConfigError:
    return ConfigError([Problem(Place(file, line), text)])


class _Reader:
    """Turns what PyYAML composed into nodes."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._count = 0
        self._open: set[int] = set()

    def node(self, node: yaml.Node) -> Node:
        line = node.start_mark.line + 1
        self._count += 1
        if id(node) in self._open or self._count > _MOST_NODES:
            raise _error(self._file, line, "aliases make this endless")
        if isinstance(node, yaml.ScalarNode):
            return Node(self._scalar(node, line), line, node.value)
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return Node([self.node(item) for item in node.value], line)
            assert isinstance(node, yaml.MappingNode)
            return Node(self._mapping(node), line)
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Node]:
        own: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.tag == f"{_TAG}merge":
                self._merge(value, merged)
                continue
            if not isinstance(key, yaml.ScalarNode):
                raise _error(self._file, line, "a key must be a text")
            name = _whole(key.value)
            if name in own:
                raise _error(self._file, line, f'"{name}" is given twice, first in line'
                             f" {own[name].line}")  # fmt: skip
            # The key's line: a list or an object begins in a later one.
            own[name] = self.node(value)._replace(line=line)
        return {**merged, **own}

    def _merge(self, value: yaml.Node, into: dict[str, Node]) -> None:
        sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
        for source in reversed(sources):
            if not isinstance(source, yaml.MappingNode):
                line = value.start_mark.line + 1
                raise _error(self._file, line, "only objects can be merged")
            into.update(self.node(source).value)

    def _scalar(self, node: yaml.ScalarNode, line: int) -> Any:
        kind = node.tag.removeprefix(_TAG)
        if kind not in _LATER_TEXTS:
            raise _error(self._file, line, f"the tag {node.tag} means nothing here")
        if node.style is not None or kind == "str":
            return _whole(node.value)
        return _plain(node.value)


def _plain(text: str) -> Any:
    """What a word without quotes means."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _INTEGER.fullmatch(text):
        return int(text, 16 if text.startswith("0x") else 10)
    return float(text) if _FLOAT.fullmatch(text) else text


def _whole(text: str) -> str:
    r"""Join the halves that a character outside the basic plane has in JSON's `\ud83d\ude00`."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
