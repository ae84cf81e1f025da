"""What images around Google's emulator read at their start: variables, and a JSON file.

    PUBSUB_PROJECT1=project,topic,topic:subscription:subscription
    PUBSUB_PROJECT2=...                            as far as the numbers go without a gap
    PUBSUB_PUSHENDPOINT_subscription=http://...    makes that one a push subscription
    PUBSUBC_CONFIG=/etc/pubsubc/config.json        wins over the variables

A subscription of the first form may also be `subscription+endpoint`, with `#` for the colons that
the endpoint has.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from emulator.api import pubsub
from emulator.config.document import read_file
from emulator.config.fields import fill
from emulator.config.problems import ConfigError, Place, Problem
from emulator.config.resources import Resources, Wanted, full_name
from emulator.config.sources import PUBSUBC_FILE, PUBSUBC_FILE_VARIABLE
from emulator.config.yaml_text import Node, read

_PROJECT = "PUBSUB_PROJECT"
_ENDPOINT = "PUBSUB_PUSHENDPOINT_"


def file_of(variables: Mapping[str, str]) -> str:
    """The path of the JSON file, there or not."""
    return variables.get(PUBSUBC_FILE_VARIABLE) or PUBSUBC_FILE


def collect(variables: Mapping[str, str]) -> Resources:
    """Return what file or variables want; raises ConfigError for what cannot be understood."""
    path = file_of(variables)
    if os.path.exists(path):
        return of_file(read_file(path), path)
    return of_variables(variables)


def of_variables(variables: Mapping[str, str]) -> Resources:
    """Read PUBSUB_PROJECT1 and those that follow without a gap."""
    found = _Found()
    number = 1
    while text := variables.get(f"{_PROJECT}{number}"):
        place = Place(f"{_PROJECT}{number}")
        project, *topics = (part.strip() for part in text.split(","))
        if not project:
            found.wrong(place, "the project is missing before the first comma")
        for part in topics:
            if part:  # some write a comma at the end
                _add_part(found, project, part, place, variables)
        number += 1
    return found.checked()


def _add_part(
    found: _Found, project: str, part: str, place: Place, variables: Mapping[str, str]
) -> None:
    topic, *subscriptions = part.split(":")
    name = found.topic(project, topic, place)
    for text in subscriptions:
        subscription, _, endpoint = text.partition("+")
        resource = pubsub.Subscription(
            name=full_name(subscription, project, "subscriptions"), topic=name
        )
        endpoint = endpoint.replace("#", ":") or variables.get(f"{_ENDPOINT}{subscription}", "")
        if endpoint:
            has_scheme = "://" in endpoint
            resource.push_config.push_endpoint = endpoint if has_scheme else f"http://{endpoint}"
        found.subscription(resource, place)


def of_file(text: str, path: str) -> Resources:
    """Read the text of a JSON file: a list of topics with their subscriptions."""
    found = _Found()
    root = read(text, path)
    if not isinstance(root.value, list):
        raise ConfigError([Problem(Place(path, root.line), "a list of topics is expected here")])
    for index, item in enumerate(root.value):
        _add_topic(found, item, Place(path).at(item.line, index))
    return found.checked()


def _add_topic(found: _Found, item: Node, place: Place) -> None:
    if not isinstance(item.value, dict):
        found.wrong(place, "an object is expected here")
        return
    project, topic = (_text(found, item, place, key) for key in ("project", "topic"))
    for key, node in item.value.items():
        if key not in ("project", "topic", "subscriptions"):
            found.wrong(place.at(node.line, key), "there is no such key; there are project, topic,"
                        " subscriptions")  # fmt: skip
    if not project or not topic:
        return
    name = found.topic(project, topic, place)
    subscriptions = item.value.get("subscriptions")
    if subscriptions is None or subscriptions.value is None:
        return
    at = place.at(subscriptions.line, "subscriptions")
    if not isinstance(subscriptions.value, list):
        found.wrong(at, "a list is expected here")
        return
    for index, node in enumerate(subscriptions.value):
        _add_subscription(found, project, name, node, at.at(node.line, index))


def _add_subscription(found: _Found, project: str, topic: str, node: Node, place: Place) -> None:
    resource = pubsub.Subscription()
    fields = dict(node.value) if isinstance(node.value, dict) else node.value
    endpoint = fields.pop("push_endpoint", None) if isinstance(fields, dict) else None
    if endpoint is not None and "push_config" not in fields:
        # The older way to write it.
        fields["push_config"] = Node({"push_endpoint": endpoint}, endpoint.line)
    count = len(found.problems)
    fill(resource, Node(fields, node.line), place, found.problems)
    if len(found.problems) == count and not resource.name:
        found.wrong(place, '"name" is missing')
    resource.name = full_name(resource.name, project, "subscriptions")
    resource.topic = topic
    policy = resource.dead_letter_policy
    if policy.dead_letter_topic:
        policy.dead_letter_topic = full_name(policy.dead_letter_topic, project, "topics")
    found.subscription(resource, place)


def _text(found: _Found, item: Node, place: Place, key: str) -> str:
    node = item.value.get(key)
    if node is None or not isinstance(node.value, str) or not node.value:
        found.wrong(place.at(node.line, key) if node else place, f'"{key}" must be a text')
        return ""
    return str(node.value)


class _Found:
    """Collects resources; the same topic may come up again and again."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._topics: dict[str, Wanted] = {}
        self._subscriptions: dict[str, Wanted] = {}

    def wrong(self, place: Place, text: str) -> None:
        self.problems.append(Problem(place, text))

    def topic(self, project: str, topic: str, place: Place) -> str:
        name = full_name(topic, project, "topics")
        self._topics.setdefault(name, _missing_only(pubsub.Topic(name=name), place))
        return name

    def subscription(self, resource: Any, place: Place) -> None:
        self._subscriptions.setdefault(resource.name, _missing_only(resource, place))

    def checked(self) -> Resources:
        if self.problems:
            raise ConfigError(self.problems)
        return Resources(
            topics=list(self._topics.values()), subscriptions=list(self._subscriptions.values())
        )


def _missing_only(resource: Any, place: Place) -> Wanted:
    return Wanted(resource, place, is_existing_left_alone=True)
