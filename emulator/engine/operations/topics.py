"""Administration of topics (TOP-*, LST-*)."""

from __future__ import annotations

import builtins
from collections.abc import Sequence

from emulator.api import pubsub
from emulator.engine.delivery.outcome import Effect, Outcome
from emulator.engine.operations import schema_settings
from emulator.engine.resources import dead_letter_target, topic
from emulator.engine.resources.events import ResourceGone, TopicSet
from emulator.engine.resources.world import World
from emulator.engine.values import errors, limits, names
from emulator.engine.values.copying import copied


class Topics:
    def __init__(self, world: World) -> None:
        self._world = world

    def create(self, given: pubsub.Topic, *, now: int) -> Outcome[pubsub.Topic]:
        """Create a topic and return it (TOP-01)."""
        world = self._world
        project = world.project(names.check(given.name, names.TOPICS))
        if given.name in world.topics:
            raise errors.already_exists(given.name)
        resource = topic.complete(given)
        schema = schema_settings.resolved(world, resource)
        world.check_project_quota(names.TOPICS, project.id, limits.TOPICS_PER_PROJECT)
        world.topics_made += 1
        made = topic.Topic(resource, world.topics_made)
        made.schema = schema
        made.apply(project, now)
        world.topics[given.name] = made
        self._record(made, now)
        return world.outcome(copied(resource))

    def _record(self, made: topic.Topic, now: int) -> None:
        if self._world.recording.is_on:
            event = TopicSet(copied(made.resource), made.generation, now)
            self._world.recording.add(event)

    def get(self, name: str, *, now: int) -> Outcome[pubsub.Topic]:
        """Return a topic."""
        return Outcome(copied(self._world.topic(name).resource))

    def update(
        self, given: pubsub.Topic, paths: Sequence[str], *, now: int
    ) -> Outcome[pubsub.Topic]:
        """Change the fields that `paths` name, all or none; return the topic (UPD-05, UPD-09)."""
        found = self._world.topic(given.name)
        resource = topic.updated(found.resource, given, paths)
        if schema_settings.is_named(paths):
            found.schema = schema_settings.resolved(self._world, resource, found.schema)
        found.resource = resource
        self._record(found, now)
        project = self._world.project(names.project_of(given.name))
        effects = found.apply(project, now)
        return self._world.outcome(copied(found.resource), effects)

    def delete(self, name: str, *, now: int) -> Outcome[None]:
        """Delete a topic; its subscriptions stay, with their backlogs (TOP-11)."""
        found = self._world.topic(name)
        del self._world.topics[name]
        self._world.policies.pop(name, None)
        for subscription in found.subscriptions.values():
            subscription.resource.topic = names.DELETED_TOPIC
        effects: list[Effect] = []
        if found.retention is not None:
            found.retention.close()
            found.retention = None
            effects = found.show_retention_to_all(now)
        for snapshot in self._world.snapshots.values():
            if snapshot.log is found.log:
                snapshot.resource.topic = names.DELETED_TOPIC  # SNP-09
        dead_letter_target.show_deleted(self._world, name)
        if self._world.recording.is_on:
            self._world.recording.add(ResourceGone(name, now))
        return self._world.outcome(None, effects)

    def list(
        self, project: str, page_size: int, page_token: str, *, now: int
    ) -> Outcome[tuple[list[pubsub.Topic], str]]:
        """Return a page of `projects/{project}`'s topics and the next token (LST-07)."""
        found, token = self._world.page_of(names.TOPICS, project, page_size, page_token)
        return Outcome(([copied(self._world.topics[name].resource) for name in found], token))

    def list_subscriptions(
        self, name: str, page_size: int, page_token: str, *, now: int
    ) -> Outcome[tuple[builtins.list[str], str]]:
        """Return a page of the names of a topic's subscriptions and the next token (LST-06)."""
        attached = self._world.topic(name).subscriptions
        scope = f"{name}/subscriptions"
        return Outcome(self._world.pager.page(attached, scope, page_size, page_token))
