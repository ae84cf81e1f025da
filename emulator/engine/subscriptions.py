"""Administration of subscriptions (SUB-*, LST-*)."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.api import pubsub
from emulator.engine import dead_letter, delivery_rules, errors, limits, names, subscription
from emulator.engine.ack_ids import AckIdMint
from emulator.engine.backlog import Backlog
from emulator.engine.dead_letter import Forwarder
from emulator.engine.filters import Filter, compile_filter
from emulator.engine.message_log import MessageLog
from emulator.engine.ordering import OrderedBacklog
from emulator.engine.outcome import Available, Effect, Ended, Outcome
from emulator.engine.sources import LogSource, QueueSource
from emulator.engine.topic import Topic
from emulator.engine.world import Project, World


class Subscriptions:
    def __init__(self, world: World) -> None:
        self._world = world

    def create(self, given: pubsub.Subscription, *, now: int) -> Outcome[pubsub.Subscription]:
        """Create a subscription and return it; one without a name gets one (NAM-19)."""
        world = self._world
        topic_project = names.check(given.topic, names.TOPICS)
        name = given.name or self._new_name(topic_project)
        project = world.project(names.check(name, names.SUBSCRIPTIONS))
        if name in world.subscriptions:
            raise errors.already_exists(name)  # SUB-02: before the topic is looked for
        topic = world.topic(given.topic)
        resource = subscription.complete(given)
        resource.name = name
        passes = compile_filter(resource.filter)
        dead_letter.check_target(world, resource)
        self._check_quotas(project.id, topic)
        world.generation += 1
        mint = AckIdMint(name, world.nonce, world.generation)
        backlog = _new_backlog(resource, passes, topic.log, mint, project)
        backlog.rules = delivery_rules.of(resource, backlog.rules)
        backlog.forwarder = Forwarder(world, resource)
        made = subscription.Subscription(resource, backlog)
        world.subscriptions[name] = made
        topic.attach(made)
        return Outcome(_copy(resource))

    def _new_name(self, project: str) -> str:
        number = self._world.generation
        while True:
            number += 1
            name = f"projects/{project}/subscriptions/subscription-{number}"
            if name not in self._world.subscriptions:
                return name

    def _check_quotas(self, project: str, topic: Topic) -> None:
        errors.check_quota(
            "subscriptions-per-topic", len(topic.subscriptions), limits.SUBSCRIPTIONS_PER_TOPIC
        )
        if len(self._world.subscriptions) >= limits.SUBSCRIPTIONS_PER_PROJECT:
            prefix = f"projects/{project}/"
            count = sum(name.startswith(prefix) for name in self._world.subscriptions)
            limit = limits.SUBSCRIPTIONS_PER_PROJECT
            errors.check_quota("subscriptions-per-project", count, limit)

    def get(self, name: str, *, now: int) -> Outcome[pubsub.Subscription]:
        """Return a subscription."""
        return Outcome(_copy(self._world.subscription(name).resource))

    def update(
        self, given: pubsub.Subscription, paths: Sequence[str], *, now: int
    ) -> Outcome[pubsub.Subscription]:
        """Change the fields that `paths` name, all or none; return the subscription (UPD-06)."""
        found = self._world.subscription(given.name)
        was_pull = found.is_pull
        resource = subscription.updated(found.resource, given, paths)
        if any(path.startswith("dead_letter_policy") for path in paths):
            dead_letter.check_target(self._world, resource)
        found.resource = resource
        backlog = found.backlog
        backlog.rules = delivery_rules.of(resource, backlog.rules)
        backlog.forwarder = Forwarder(self._world, resource)
        effects: tuple[Effect, ...] = ()
        if was_pull and not found.is_pull:
            effects = (Ended(found.name, errors.unsupported_subscription_type()),)  # STR-13
        return Outcome(_copy(found.resource), effects)

    def detach(self, name: str, *, now: int) -> Outcome[None]:
        """Cut a subscription off from its topic for good; its backlog is gone (SUB-21)."""
        found = self._world.subscription(name)
        if found.resource.detached:
            return Outcome(None)
        self._drop(found)
        found.resource.detached = True
        return Outcome(None, (Ended(name, errors.detached_subscription()),))

    def delete(self, name: str, *, now: int) -> Outcome[None]:
        """Delete a subscription; its backlog is gone at once (SUB-20)."""
        world = self._world
        found = world.subscription(name)
        del world.subscriptions[name]
        world.policies.pop(name, None)
        if not found.resource.detached:
            self._drop(found)
        return Outcome(None, (Ended(name, errors.not_found(name)),))

    def _drop(self, found: subscription.Subscription) -> None:
        """Take a subscription off its topic and let its backlog go."""
        topic = self._world.topics.get(found.resource.topic)
        if topic is not None:
            topic.detach(found)
        backlog = found.backlog
        backlog.close()
        project = self._world.project(names.project_of(found.name))
        project.chores.append(backlog)

    def list(
        self, project: str, page_size: int, page_token: str, *, now: int
    ) -> Outcome[tuple[list[pubsub.Subscription], str]]:
        """Return a page of `projects/{project}`'s subscriptions and the next token (LST-07)."""
        self._world.check_allowed(names.check_project(project))
        prefix = f"{project}/subscriptions/"
        found, token = self._world.pager.page(
            (name for name in self._world.subscriptions if name.startswith(prefix)),
            prefix,
            page_size,
            page_token,
        )
        subscriptions = self._world.subscriptions
        return Outcome(([_copy(subscriptions[name].resource) for name in found], token))


def _new_backlog(
    resource: pubsub.Subscription,
    passes: Filter | None,
    log: MessageLog,
    mint: AckIdMint,
    project: Project,
) -> Backlog:
    is_ordered = resource.enable_message_ordering
    source = QueueSource(log) if is_ordered or passes else LogSource(log)
    kind = OrderedBacklog if is_ordered else Backlog
    wake = Available(resource.name)
    return kind(source, mint, project.leases, project.delays, wake, passes)


def _copy(resource: pubsub.Subscription) -> pubsub.Subscription:
    copy = pubsub.Subscription()
    copy.CopyFrom(resource)
    return copy
