"""Files of start-up resources: `projects`, each with schemas, topics, subscriptions, messages.

Every field is named and written as in the API's JSON. Names may be ids alone: they are then those
of the project that they stand in.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from emulator.api import pubsub
from emulator.config.fields import fields_of, fill
from emulator.config.problems import ConfigError, Place, Problem
from emulator.config.resources import CLASSES, Resources, Seed, Wanted, full_name
from emulator.config.yaml_text import Node, read

_COLLECTIONS = (*CLASSES, "messages")
_IGNORED = ("$schema",)
#: Where resources name others: proto path -> the collection of what is named.
_REFERENCES = {
    "schemas": {},
    "topics": {"schema_settings.schema": "schemas"},
    "subscriptions": {"topic": "topics", "dead_letter_policy.dead_letter_topic": "topics"},
}


def load(path: str) -> Resources:
    """Read a file of start-up resources; raises ConfigError with all that is wrong in it."""
    return parse(read_file(path), path)


def read_file(path: str) -> str:
    """Return a file's text; raises ConfigError for one that cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError([Problem(Place(path), f"cannot be read: {reason}")]) from error


def parse(text: str, file: str) -> Resources:
    """Read the text of a file of start-up resources; `file` is for errors."""
    document = _Document(file)
    document.read(read(text, file))
    if document.problems:
        raise ConfigError(document.problems)
    return document.resources


class _Document:
    def __init__(self, file: str) -> None:
        self.problems: list[Problem] = []
        self.resources = Resources()
        self._root = Place(file)
        self._first: dict[str, Place] = {}

    def read(self, root: Node) -> None:
        for key, node in self._items(root, self._root._replace(line=root.line)):
            at = self._root.at(node.line, key)
            if key == "projects":
                for project, content in self._items(node, at):
                    self._project(project, content, at.at(content.line, project))
            elif key not in _IGNORED:
                self._wrong(at, 'there is no such key; the only one is "projects"')

    def _wrong(self, place: Place, text: str) -> None:
        self.problems.append(Problem(place, text))

    def _items(self, node: Node, place: Place) -> list[tuple[str, Node]]:
        """The items of an object, which may have been left out."""
        if node.value is None:
            return []
        if isinstance(node.value, dict):
            return list(node.value.items())
        self._wrong(place, "an object is expected here")
        return []

    def _project(self, project: str, node: Node, place: Place) -> None:
        for key, items in self._items(node, place):
            at = place.at(items.line, key)
            if key not in _COLLECTIONS:
                self._wrong(at, f"there is no such key; there are {', '.join(_COLLECTIONS)}")
            elif items.value is not None and not isinstance(items.value, list):
                self._wrong(at, "a list is expected here")
            else:
                for index, item in enumerate(items.value or []):
                    self._item(key, project, item, at.at(item.line, index))

    def _item(self, collection: str, project: str, node: Node, place: Place) -> None:
        if isinstance(node.value, str) and collection == "topics":
            node = Node({"name": node}, node.line)  # a topic's id says it all
        if not isinstance(node.value, dict):
            self._wrong(place, "an object is expected here")
        elif collection == "messages":
            self._seed(project, node, place)
        else:
            self._resource(collection, project, node, place)

    def _resource(self, collection: str, project: str, node: Node, place: Place) -> None:
        resource: Any = CLASSES[collection]()
        count = len(self.problems)
        fill(resource, node, place, self.problems)
        required = ("name", "topic") if collection == "subscriptions" else ("name",)
        for name in required:
            if len(self.problems) == count and not getattr(resource, name):
                self._wrong(place, f'"{name}" is missing')
        if len(self.problems) > count:
            return
        resource.name = full_name(resource.name, project, collection)
        for path, of in _REFERENCES[collection].items():
            _complete(resource, path, project, of)
        self._keep(collection, Wanted(resource, place, _places(resource, node, place)))

    def _keep(self, collection: str, wanted: Wanted) -> None:
        first = self._first.setdefault(wanted.name, wanted.place)
        if first is not wanted.place:
            self._wrong(wanted.place_of("name"), f"{wanted.name} is there already, in line"
                        f" {first.line}")  # fmt: skip
        else:
            getattr(self.resources, collection).append(wanted)

    def _seed(self, project: str, node: Node, place: Place) -> None:
        """A PubsubMessage with its topic; `text` and `json` are ways to write its data."""
        fields = dict(node.value)
        topic = fields.pop("topic", Node("", node.line))
        message = pubsub.PubsubMessage()
        count = len(self.problems)
        if not isinstance(topic.value, str) or not topic.value:
            self._wrong(place.at(topic.line, "topic"), "the topic's name is expected here")
        written = [key for key in ("data", "text", "json") if key in fields]
        if len(written) > 1:
            self._wrong(place.at(fields[written[1]].line, written[1]),
                        f'not together with "{written[0]}"')  # fmt: skip
        data = self._data(fields.pop("text", None), fields.pop("json", None), place)
        fill(message, Node(fields, node.line), place, self.problems)
        if len(self.problems) == count:
            message.data = message.data or data
            name = full_name(topic.value, project, "topics")
            self.resources.seeds.append(Seed(name, message, place))

    def _data(self, text: Node | None, value: Node | None, place: Place) -> bytes:
        if text is not None:
            if not isinstance(text.value, str):
                self._wrong(place.at(text.line, "text"), "a text is expected here")
                return b""
            return text.value.encode()
        return b"" if value is None else json.dumps(_bare(value), ensure_ascii=False).encode()


def _complete(resource: Any, path: str, project: str, collection: str) -> None:
    *parents, name = path.split(".")
    for parent in parents:
        if not resource.HasField(parent):
            return
        resource = getattr(resource, parent)
    if getattr(resource, name):
        setattr(resource, name, full_name(getattr(resource, name), project, collection))


def _places(resource: Any, node: Node, place: Place) -> dict[str, Place]:
    names = fields_of(resource.DESCRIPTOR)
    return {names[key].name: place.at(child.line, key) for key, child in node.value.items()}


def _bare(node: Node) -> Any:
    """The value without its lines."""
    if isinstance(node.value, dict):
        return {key: _bare(child) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [_bare(child) for child in node.value]
    return node.value


def encoded(data: bytes) -> dict[str, str]:
    """The key of a seed message for its data, as people can read it."""
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"data": base64.b64encode(data).decode()}
