"""What happened to resources: facts, for whoever records them; see `delivery.events`.

Resources in events are copies that nobody changes any more.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.api import iam, pubsub, schema
from emulator.engine.delivery.events import Event
from emulator.engine.delivery.outcome import Due


@dataclass(frozen=True, slots=True)
class ProjectSeen(Event):
    """A project was used for the first time. Determines the list of projects."""

    project: str


@dataclass(frozen=True, slots=True)
class TopicSet(Event):
    """A topic was made, or changed, at `at_us`: `resource` is the finished one.

    Determines the topic, and what its retention keeps and shows; `generation` tells it from others
    of its name.
    """

    resource: pubsub.Topic
    generation: int
    at_us: int


@dataclass(frozen=True, slots=True)
class SubscriptionSet(Event):
    """A subscription was made, or changed, at `at_us`: `resource` is the finished one.

    Determines the subscription, its rules and its alarms. Of a new one it determines that its
    backlog begins at the end of its topic's log, and, with `generation`, its ack ids.
    """

    resource: pubsub.Subscription
    generation: int
    at_us: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class SnapshotSet(Event):
    """A snapshot was made, or changed: `resource` is the finished one.

    Determines the snapshot: it holds the messages at `unacked`, in this order, and the log of the
    topic that `subscription` was made on from `position` on.
    """

    resource: pubsub.Snapshot
    subscription: str
    position: int
    unacked: tuple[int, ...]
    expire_us: int


@dataclass(frozen=True, slots=True)
class SnapshotChanged(Event):
    """A snapshot's labels were changed. Determines its resource."""

    resource: pubsub.Snapshot


@dataclass(frozen=True, slots=True)
class RevisionAdded(Event):
    """A schema got a revision, which can be its first; `number` counts all there ever were.

    Determines the schema's newest revision, and the id of the next one.
    """

    resource: schema.Schema
    number: int


@dataclass(frozen=True, slots=True)
class RevisionGone(Event):
    """A revision of a schema was deleted. Determines that it is not there."""

    schema: str
    revision_id: str


@dataclass(frozen=True, slots=True)
class ResourceGone(Event):
    """A topic, subscription, snapshot or schema was deleted at `at_us`, or has expired.

    Determines that it is not there, nor its IAM policy, and what others show of it.
    """

    name: str
    at_us: int


@dataclass(frozen=True, slots=True)
class PolicySet(Event):
    """The IAM policy of a resource was set. Determines it, and the etag of the next one."""

    resource: str
    policy: iam.Policy


@dataclass(frozen=True, slots=True)
class TopicExpired(Event):
    """A topic's retention keeps its log from `position` on only (TOP-04). Determines that."""

    topic: str
    position: int


@dataclass(frozen=True, slots=True)
class AlarmRang(Event):
    """What had been set for a time came due, and was seen to at `at_us`; other events say what it
    brought. Determines when it is looked at next; None: not before something else sets it."""

    what: Due
    name: str
    at_us: int
    next_us: int | None


@dataclass(frozen=True, slots=True)
class ChoreDone(Event):
    """The first of a project's chores is done. Determines those that are left."""

    project: str


@dataclass(frozen=True, slots=True)
class Reset(Event):
    """Everything is gone; `nonce` is that of the world that begins. Determines that it is empty."""

    nonce: bytes
