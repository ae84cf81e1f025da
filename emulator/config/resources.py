"""The resources that a configuration wants, in the order in which they can be made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message

from emulator.api import pubsub, schema
from emulator.config.problems import Place


@dataclass(frozen=True, slots=True)
class Wanted:
    """One resource: `places` has where its fields are, by their proto names.

    One that `is_existing_left_alone` is made when it is missing, and not compared otherwise.
    """

    resource: Any
    place: Place
    places: Mapping[str, Place] = field(default_factory=dict)
    is_existing_left_alone: bool = False

    @property
    def name(self) -> str:
        """The full name."""
        return str(self.resource.name)

    def place_of(self, name: str) -> Place:
        """Where the field `name` is, or else the resource."""
        return self.places.get(name, self.place)


@dataclass(frozen=True, slots=True)
class Seed:
    """A message to be published when its topic, a full name, has just been made."""

    topic: str
    message: pubsub.PubsubMessage
    place: Place


@dataclass(slots=True)
class Resources:
    schemas: list[Wanted] = field(default_factory=list)
    topics: list[Wanted] = field(default_factory=list)
    subscriptions: list[Wanted] = field(default_factory=list)
    seeds: list[Seed] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.schemas or self.topics or self.subscriptions or self.seeds)

    def all(self) -> Iterable[Wanted]:
        """Every resource, those first that others refer to."""
        return [*self.schemas, *self.topics, *self.subscriptions]

    def add(self, others: Resources) -> None:
        """Take over what is not here yet, by its name."""
        for kind in ("schemas", "topics", "subscriptions"):
            mine: list[Wanted] = getattr(self, kind)
            names = {wanted.name for wanted in mine}
            mine += [wanted for wanted in getattr(others, kind) if wanted.name not in names]
        self.seeds += others.seeds

    def __repr__(self) -> str:
        return f"<Resources {self.counts()}>"

    def counts(self) -> str:
        """How many of what, for a log line."""
        return ", ".join(
            f"{count} {noun if count > 1 else noun.removesuffix('s')}"
            for noun in ("schemas", "topics", "subscriptions", "messages")
            if (count := len(getattr(self, "seeds" if noun == "messages" else noun)))
        )


#: Collection of a file -> the message class of its items.
CLASSES: Mapping[str, type[Message]] = {
    "schemas": schema.Schema,
    "topics": pubsub.Topic,
    "subscriptions": pubsub.Subscription,
}


def full_name(text: str, project: str, collection: str) -> str:
    """The full name that an id has in a project; what is full already stays."""
    return text if "/" in text else f"projects/{project}/{collection}/{text}"
