"""Administration of subscriptions (SUB-*, LST-*)."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.api import pubsub
from emulator.engine.delivery.ack_ids import AckIdMint
from emulator.engine.delivery.outcome import Effect, Ended, Outcome
from emulator.engine.filters import compile_filter
from emulator.engine.resources import dead_letter_target, subscription, subscription_resource
from emulator.engine.resources.events import ResourceGone, SubscriptionSet
from emulator.engine.resources.inactivity import Inactivity
from emulator.engine.resources.topic import Topic
from emulator.engine.resources.world import World
from emulator.engine.values import errors, limits, names
from emulator.engine.values.copying import copied


class Subscriptions:
    def __init__(self, world: World) -> None:
        self._world = world

    def create(self, given: pubsub.Subscription, *, now: int) -> Outcome[pubsub.Subscription]:
        """Create a subscription and return it; one without a name gets one (NAM-19)."""
        world = self._world
        topic_project = names.check(given.topic, names.TOPICS)
        name = given.name or world.free_name(names.SUBSCRIPTIONS, topic_project, world.generation)
        project = world.project(names.check(name, names.SUBSCRIPTIONS))
        if name in world.subscriptions:
            raise errors.already_exists(name)  # SUB-02: before the topic is looked for
        topic = world.topic(given.topic)
        resource = subscription_resource.complete(given)
        resource.name = name
        passes = compile_filter(resource.filter)
        dead_letter_target.check(world, resource)
        self._check_quotas(project.id, topic)
        world.generation += 1
        mint = AckIdMint(name, world.nonce, world.generation)
        topic.show_retention(resource)
        made = subscription.Subscription(
            resource, topic, project, mint, passes, world.recording, world.generation
        )
        made.backlog.forward_by(dead_letter_target.forwarder(world, resource))
        made.use(now)
        made.inactivity = Inactivity(made, self._expire)
        project.alarms.set(made.inactivity, made.inactivity.next_us)
        world.subscriptions[name] = made
        topic.attach(made)
        made.schedule()
        self._record(made, now, is_new=True)
        return world.outcome(copied(resource))

    def _record(self, made: subscription.Subscription, now: int, *, is_new: bool) -> None:
        if self._world.recording.is_on:
            resource, generation = copied(made.resource), made.generation
            self._world.recording.add(SubscriptionSet(resource, generation, now, is_new))

    def _check_quotas(self, project: str, topic: Topic) -> None:
        errors.check_quota(
            "subscriptions-per-topic", len(topic.subscriptions), limits.SUBSCRIPTIONS_PER_TOPIC
        )
        limit = limits.SUBSCRIPTIONS_PER_PROJECT
        self._world.check_project_quota(names.SUBSCRIPTIONS, project, limit)

    def get(self, name: str, *, now: int) -> Outcome[pubsub.Subscription]:
        """Return a subscription; to look at it is to use it (SUB-22)."""
        found = self._world.subscription(name)
        found.use(now)
        return self._world.outcome(copied(found.resource))

    def update(
        self, given: pubsub.Subscription, paths: Sequence[str], *, now: int
    ) -> Outcome[pubsub.Subscription]:
        """Change the fields that `paths` name, all or none; return the subscription (UPD-06)."""
        found = self._world.subscription(given.name)
        found.use(now)
        was_pull = found.is_pull
        resource = subscription_resource.updated(found.resource, given, paths)
        if any(path.startswith("dead_letter_policy") for path in paths):
            dead_letter_target.check(self._world, resource)
        found.resource = resource
        found.backlog.forward_by(dead_letter_target.forwarder(self._world, resource))
        found.apply()
        self._record(found, now, is_new=False)
        effects: list[Effect] = []
        if not resource.detached:
            effects += found.retention.look(now)
            found.alarms.set(found.inactivity, found.inactivity.next_us)
        if was_pull and not found.is_pull:
            effects.append(Ended(found.name, errors.unsupported_subscription_type()))  # STR-13
        return self._world.outcome(copied(found.resource), effects)

    def detach(self, name: str, *, now: int) -> Outcome[None]:
        """Cut a subscription off from its topic for good; its backlog is gone (SUB-21)."""
        found = self._world.subscription(name)
        if found.resource.detached:
            return Outcome(None)
        found.drop()
        found.resource.detached = True
        self._record(found, now, is_new=False)
        return self._world.outcome(None, (Ended(name, errors.detached_subscription()),))

    def delete(self, name: str, *, now: int) -> Outcome[None]:
        """Delete a subscription; its backlog is gone at once (SUB-20)."""
        self._world.subscription(name)
        return self._world.outcome(None, self._expire(name, now))

    def _expire(self, name: str, now: int) -> tuple[Effect, ...]:
        world = self._world
        found = world.subscriptions.pop(name)
        world.policies.pop(name, None)
        if not found.resource.detached:
            found.drop()
        if world.recording.is_on:
            world.recording.add(ResourceGone(name, now))
        return (Ended(name, errors.not_found(name)),)

    def list(
        self, project: str, page_size: int, page_token: str, *, now: int
    ) -> Outcome[tuple[list[pubsub.Subscription], str]]:
        """Return a page of `projects/{project}`'s subscriptions and the next token (LST-07)."""
        found, token = self._world.page_of(names.SUBSCRIPTIONS, project, page_size, page_token)
        subscriptions = self._world.subscriptions
        return Outcome(([copied(subscriptions[name].resource) for name in found], token))
