"""A topic: its resource, its message log, and who is attached to it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from emulator.api import pubsub
from emulator.engine.delivery.backlog import Backlog
from emulator.engine.delivery.outcome import Available, Effect
from emulator.engine.log.message_log import MessageLog
from emulator.engine.resources.alarms import Alarms
from emulator.engine.resources.project import Project
from emulator.engine.resources.retention import Retention, TopicRetention
from emulator.engine.resources.subscription import Subscription
from emulator.engine.resources.subscription_resource import check_retention
from emulator.engine.resources.topic_schema import TopicSchema
from emulator.engine.values import durations, errors, field_masks, labels, wellformed
from emulator.engine.values.copying import copied

_KMS_KEY = re.compile(r"projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+")
_ACTIVE = 1  # in the State of every kind of source
_MASKABLE = field_masks.Maskable(
    kind="Topic",
    hint="schema_settings",
    mutable={  # UPD-05
        "labels",
        "message_storage_policy",
        "kms_key_name",
        "schema_settings",
        "message_retention_duration",
        "ingestion_data_source_settings",
        "message_transforms",
    },
)


class Audience(NamedTuple):
    """`wake` are the effects of a publish, `indexed` those that must be told what was published."""

    wake: tuple[Available, ...]
    indexed: tuple[Backlog, ...]


class Topic:
    """`generation` tells it from others of its name, before it or after it."""

    __slots__ = (
        "_audience",
        "asleep",
        "generation",
        "last_publish_time_us",
        "log",
        "resource",
        "retention",
        "schema",
        "subscriptions",
    )

    def __init__(self, resource: pubsub.Topic, generation: int) -> None:
        self.resource = resource
        self.generation = generation
        self.log = MessageLog()
        self.subscriptions: dict[str, Subscription] = {}
        self.last_publish_time_us = 0
        self._audience: Audience | None = None
        self.retention: TopicRetention | None = None
        self.schema: TopicSchema | None = None
        # What has no alarm because no message is there, and is to be given one by the next publish.
        self.asleep: dict[Retention, Alarms] = {}

    @property
    def name(self) -> str:
        return self.resource.name

    def attach(self, subscription: Subscription) -> None:
        self.subscriptions[subscription.name] = subscription
        self.note_subscriptions()

    def detach(self, subscription: Subscription) -> None:
        del self.subscriptions[subscription.name]
        self.note_subscriptions()

    def note_subscriptions(self) -> None:
        """Who has to be told what of a publish is to be found out anew."""
        self._audience = None

    @property
    def audience(self) -> Audience:
        """Who has to be told what of a publish; found out by the first that needs it."""
        if self._audience is None:
            backlogs = [subscription.backlog for subscription in self.subscriptions.values()]
            self._audience = Audience(
                wake=tuple(backlog.wake for backlog in backlogs),
                indexed=tuple(backlog for backlog in backlogs if backlog.is_indexed),
            )
        return self._audience

    def set_alarms(self, time_us: int) -> None:
        """A message was published at `time_us`: it will be too old one day."""
        asleep, self.asleep = self.asleep, {}
        for retention, alarms in asleep.items():
            if retention.alarm_us is None:
                alarms.set(retention, time_us + retention.retention_us)

    def apply(self, project: Project, now: int) -> list[Effect]:
        """Act on what the resource says of retention now (TOP-04, SUB-16)."""
        duration = self.resource.message_retention_duration
        effects: list[Effect] = []
        if not self.resource.HasField("message_retention_duration"):
            if self.retention is not None:
                self.retention.close()
                self.retention = None
        elif self.retention is None:
            self.retention = TopicRetention(self, project, durations.to_us(duration))
        else:
            effects += self.retention.change(durations.to_us(duration), now)
        return effects + self.show_retention_to_all(now)

    def show_retention_to_all(self, now: int) -> list[Effect]:
        """Have every subscription show, and go by, the topic's retention."""
        effects: list[Effect] = []
        for subscription in self.subscriptions.values():
            self.show_retention(subscription.resource)
            effects += subscription.retention.look(now)
        return effects

    def show_retention(self, resource: pubsub.Subscription) -> None:
        """Have a subscription's resource show the topic's retention (SUB-16)."""
        resource.ClearField("topic_message_retention_duration")
        if self.retention is not None:
            resource.topic_message_retention_duration.CopyFrom(
                self.resource.message_retention_duration
            )

    def __repr__(self) -> str:
        return f"<Topic {self.name}, {len(self.subscriptions)} subscriptions, {self.log!r}>"


def complete(given: pubsub.Topic) -> pubsub.Topic:
    """Return the resource that creating `given` makes; raise INVALID_ARGUMENT for bad values."""
    check(given)
    resource = copied(given)
    resource.ClearField("tags")  # TAG-01: input only
    resource.ClearField("satisfies_pzs")  # TOP-08: output only
    _fill_in(resource)
    return resource


def _fill_in(resource: pubsub.Topic) -> None:
    resource.ClearField("state")
    if resource.HasField("ingestion_data_source_settings"):
        resource.state = pubsub.Topic.State.ACTIVE  # TOP-02, ING-04
        settings = resource.ingestion_data_source_settings
        source = settings.WhichOneof("source")
        if source is not None:
            getattr(settings, source).state = _ACTIVE  # TOP-08: whatever was given


def updated(current: pubsub.Topic, given: pubsub.Topic, paths: Iterable[str]) -> pubsub.Topic:
    """Return what updating `current` by a mask makes; raise INVALID_ARGUMENT for a bad one."""
    resource = field_masks.updated(current, given, paths, _MASKABLE)
    check(resource)
    _fill_in(resource)
    return resource


def check(given: pubsub.Topic) -> None:
    """Raise INVALID_ARGUMENT if a value of `given` is not one that a topic can have."""
    wellformed.check(given)
    if given.HasField("message_retention_duration"):
        check_retention(given.message_retention_duration)
    labels.check(given.labels)
    policy = given.message_storage_policy
    if given.HasField("message_storage_policy") and not policy.allowed_persistence_regions:
        # TOP-05; the text is ours.
        raise errors.invalid_argument("message_storage_policy.allowed_persistence_regions")
    if given.kms_key_name and not _KMS_KEY.fullmatch(given.kms_key_name):
        raise errors.invalid_argument("kms_key_name")  # TOP-06; the text is ours
