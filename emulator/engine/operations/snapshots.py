"""Administration of snapshots (SNP-*)."""

from __future__ import annotations

import builtins
from collections.abc import Sequence

from emulator.api import pubsub
from emulator.engine.delivery.outcome import Outcome
from emulator.engine.log.message_log import Message
from emulator.engine.resources import snapshot
from emulator.engine.resources.events import SnapshotChanged, SnapshotSet
from emulator.engine.resources.subscription import Subscription
from emulator.engine.resources.world import World
from emulator.engine.values import durations, errors, labels, limits, names
from emulator.engine.values.copying import copied
from emulator.engine.values.durations import SECOND_US


class Snapshots:
    def __init__(self, world: World) -> None:
        self._world = world

    def create(self, given: pubsub.CreateSnapshotRequest, *, now: int) -> Outcome[pubsub.Snapshot]:
        """Capture a subscription's state; without a name it gets one (SNP-01, NAM-19)."""
        world = self._world
        project = names.check(given.subscription, names.SUBSCRIPTIONS)
        name = given.name or world.free_name(names.SNAPSHOTS, project, world.snapshots_made)
        owner = world.project(names.check(name, names.SNAPSHOTS))
        if name in world.snapshots:
            raise errors.already_exists(name)
        source = world.subscription(given.subscription)
        labels.check(given.labels)
        self._check_quotas(owner.id, source)
        source.use(now)
        position, unacked = source.capture()
        expire_us = _expire_us(_oldest_us(source, position, unacked), now)
        resource = pubsub.Snapshot(
            name=name,
            topic=source.resource.topic,
            expire_time=durations.to_timestamp(expire_us - expire_us % 1_000),
            labels=given.labels,
        )
        made = snapshot.Snapshot(resource, source.log, position, unacked, world.delete_snapshot)
        world.snapshots[name] = made
        world.snapshots_made += 1
        owner.alarms.set(made, expire_us)
        if world.recording.is_on:
            positions = tuple(message.position for message in unacked)
            copy, name = copied(resource), given.subscription
            world.recording.add(SnapshotSet(copy, name, position, positions, expire_us))
        return world.outcome(copied(resource))

    def _check_quotas(self, project: str, source: Subscription) -> None:
        limit = limits.SNAPSHOTS_PER_PROJECT
        self._world.check_project_quota(names.SNAPSHOTS, project, limit)
        snapshots = self._world.snapshots
        if len(snapshots) >= limits.SNAPSHOTS_PER_TOPIC:  # only then can one topic have that many
            of_topic = sum(snapshot.log is source.log for snapshot in snapshots.values())
            errors.check_quota("snapshots-per-topic", of_topic, limits.SNAPSHOTS_PER_TOPIC)

    def get(self, name: str, *, now: int) -> Outcome[pubsub.Snapshot]:
        """Return a snapshot."""
        return Outcome(copied(self._world.snapshot(name).resource))

    def update(
        self, given: pubsub.Snapshot, paths: Sequence[str], *, now: int
    ) -> Outcome[pubsub.Snapshot]:
        """Change the labels (UPD-07)."""
        found = self._world.snapshot(given.name)
        found.resource = snapshot.updated(found.resource, given, paths)
        if self._world.recording.is_on:
            self._world.recording.add(SnapshotChanged(copied(found.resource)))
        return self._world.outcome(copied(found.resource))

    def delete(self, name: str, *, now: int) -> Outcome[None]:
        """Delete a snapshot and what only it holds (SNP-06)."""
        self._world.snapshot(name)
        self._world.delete_snapshot(name, now)
        return self._world.outcome(None)

    def list(
        self, project: str, page_size: int, page_token: str, *, now: int
    ) -> Outcome[tuple[list[pubsub.Snapshot], str]]:
        """Return a page of `projects/{project}`'s snapshots and the next token (LST-07)."""
        found, token = self._world.page_of(names.SNAPSHOTS, project, page_size, page_token)
        snapshots = self._world.snapshots
        return Outcome(([copied(snapshots[name].resource) for name in found], token))

    def list_of_topic(
        self, name: str, page_size: int, page_token: str, *, now: int
    ) -> Outcome[tuple[builtins.list[str], str]]:
        """Return a page of the names of a topic's snapshots and the next token (LST-06)."""
        log = self._world.topic(name).log
        found = [name for name, made in self._world.snapshots.items() if made.log is log]
        scope = f"{name}/snapshots"
        return Outcome(self._world.pager.page(found, scope, page_size, page_token))


def _oldest_us(source: Subscription, position: int, unacked: Sequence[Message]) -> int | None:
    """When the oldest unacked message of what was captured was published; None without any.

    The backlog itself can name a time that is too early.
    """
    times = [message.publish_time_us for message in unacked]
    first_us = source.log.time_at(position)
    return min(times if first_us is None else [*times, first_us], default=None)


def _expire_us(oldest_us: int | None, now: int) -> int:
    """Seven days, less the age of the oldest unacked message (SNP-02, SNP-03)."""
    age_us = 0 if oldest_us is None else max(now - oldest_us, 0)
    life_us = limits.SNAPSHOT_LIFE_S * SECOND_US - age_us
    if life_us < limits.SNAPSHOT_LIFE_MIN_S * SECOND_US:
        raise errors.short_lived_snapshot()
    return now + life_us
