"""All that an engine knows: projects, topics, subscriptions, and how they are found."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeVar

from emulator.api.iam import Policy
from emulator.engine.delivery.events import Recording
from emulator.engine.delivery.holder import Holder
from emulator.engine.delivery.outcome import Effect, Outcome
from emulator.engine.resources.events import ProjectSeen, ResourceGone
from emulator.engine.resources.project import Project
from emulator.engine.resources.schema import Schema
from emulator.engine.resources.snapshot import Snapshot
from emulator.engine.resources.subscription import Subscription
from emulator.engine.resources.topic import Topic
from emulator.engine.values import errors, names
from emulator.engine.values.paging import Pager

Value = TypeVar("Value")


class World:
    """`nonce` tells this world's ack ids and page tokens from those of any other."""

    def __init__(
        self,
        nonce: bytes,
        allowed_projects: frozenset[str] | None,
        is_strict: bool,
        recording: Recording,
    ) -> None:
        self.nonce = nonce
        self.recording = recording
        self.is_strict = is_strict
        self.pager = Pager(nonce)
        self.allowed_projects = allowed_projects
        self.projects: dict[str, Project] = {}
        self.topics: dict[str, Topic] = {}
        self.subscriptions: dict[str, Subscription] = {}
        self.snapshots: dict[str, Snapshot] = {}
        self.holders: dict[int, Holder] = {}
        self.holders_opened = 0
        self.snapshots_made = 0
        self.schemas: dict[str, Schema] = {}
        self.revisions_made = 0
        self.policies: dict[str, Policy] = {}
        self.policy_changes = 0
        self.generation = 0  # counts the subscriptions ever made
        self.topics_made = 0

    @property
    def collections(self) -> dict[str, Collection[str]]:
        """The names in use, by collection."""
        return {
            names.TOPICS: self.topics,
            names.SUBSCRIPTIONS: self.subscriptions,
            names.SNAPSHOTS: self.snapshots,
            names.SCHEMAS: self.schemas,
        }

    def outcome(self, value: Value, effects: Iterable[Effect] = ()) -> Outcome[Value]:
        """What an operation gives back, with all that was recorded of it."""
        return Outcome(value, tuple(effects), self.recording.take())

    def project(self, project_id: str) -> Project:
        """The project, which appears on first use; ERR-05 if it may not (NAM-16)."""
        project = self.projects.get(project_id)
        if project is None:
            self.check_allowed(project_id)
            project = self.projects[project_id] = Project(project_id, self.recording)
            if self.recording.is_on:
                self.recording.add(ProjectSeen(project_id))
        return project

    def check_allowed(self, project_id: str) -> None:
        """Raise ERR-05 for a project outside the allow-list."""
        if self.allowed_projects is not None and project_id not in self.allowed_projects:
            raise errors.unknown_project(project_id)

    def topic(self, name: str) -> Topic:
        """The topic; ERR-01, ERR-05 or ERR-02 if there is none."""
        topic = self.topics.get(name)
        if topic is None:
            # A name that was found needs no check, so the frequent path has none (NAM-15).
            self.check_allowed(names.check(name, names.TOPICS))
            raise errors.not_found(name)
        return topic

    def subscription(self, name: str) -> Subscription:
        """The subscription; ERR-01, ERR-05 or ERR-02 if there is none."""
        subscription = self.subscriptions.get(name)
        if subscription is None:
            self.check_allowed(names.check(name, names.SUBSCRIPTIONS))
            raise errors.not_found(name)
        return subscription

    def snapshot(self, name: str) -> Snapshot:
        """The snapshot; ERR-01, ERR-05 or ERR-02 if there is none."""
        snapshot = self.snapshots.get(name)
        if snapshot is None:
            self.check_allowed(names.check(name, names.SNAPSHOTS))
            raise errors.not_found(name)
        return snapshot

    def holder(self, holder_id: int) -> Holder:
        """The holder; UNAVAILABLE if it went with a reset (STR-10)."""
        holder = self.holders.get(holder_id)
        if holder is None:
            raise errors.stream_closed()
        return holder

    def delete_snapshot(self, name: str, now: int) -> None:
        """Take a snapshot out of the world; what only it held is freed in slices."""
        snapshot = self.snapshots.pop(name)
        self.policies.pop(name, None)
        project = self.project(names.project_of(name))
        project.alarms.set(snapshot, None)
        snapshot.close()
        project.chores.append(snapshot)
        if self.recording.is_on:
            self.recording.add(ResourceGone(name, now))

    def schema(self, name: str) -> Schema:
        """The schema; ERR-01, ERR-05 or ERR-04 if there is none."""
        schema = self.schemas.get(name)
        if schema is None:
            self.check_allowed(names.check(name, names.SCHEMAS))
            raise errors.not_found(name)
        return schema

    def next_revision(self) -> int:
        """The number of a new revision."""
        self.revisions_made += 1
        return self.revisions_made

    def page_of(
        self, collection: str, project: str, page_size: int, page_token: str
    ) -> tuple[list[str], str]:
        """A page of the names that `projects/{project}` has in a collection, and the next token.

        Raises ERR-01, ERR-05, ERR-28 and ERR-29 (LST-07).
        """
        self.check_allowed(names.check_project(project))
        prefix = f"{project}/{collection}/"
        found = (name for name in self.collections[collection] if name.startswith(prefix))
        return self.pager.page(found, prefix, page_size, page_token)

    def check_project_quota(self, collection: str, project_id: str, maximum: int) -> None:
        """Raise RESOURCE_EXHAUSTED when a project has `maximum` in a collection (QUO-01)."""
        taken = self.collections[collection]
        if len(taken) >= maximum:  # only then can one project have that many
            prefix = f"projects/{project_id}/"
            count = sum(name.startswith(prefix) for name in taken)
            errors.check_quota(f"{collection}-per-project", count, maximum)

    def free_name(self, collection: str, project_id: str, made: int) -> str:
        """A name for a new resource without one, when `made` of its kind were made (NAM-19)."""
        taken = self.collections[collection]
        while True:
            made += 1
            name = f"projects/{project_id}/{collection}/{collection[:-1]}-{made}"
            if name not in taken:
                return name

    def check_subscription_name(self, name: str) -> None:
        """Raise ERR-01 for a name that no subscription can have."""
        if name not in self.subscriptions:
            names.check(name, names.SUBSCRIPTIONS)

    def __repr__(self) -> str:
        return f"<World of {len(self.topics)} topics, {len(self.subscriptions)} subscriptions>"
