"""A trial on a service of its own: everything is checked by the very rules that will hold.

What passes can be made; what does not is reported with the field that is to blame. The trial's
service lives only for it: it has no connection, and no message ever leaves it.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

from emulator.api import pubsub, schema
from emulator.config import kinds
from emulator.config.problems import Problem
from emulator.config.resources import Resources, Seed, Wanted
from emulator.config.target import InProcess, Target
from emulator.engine.values.errors import AlreadyExists, NotFound, PubsubError
from emulator.service.core import Core
from emulator.service.service import Service

#: Fields that nothing can do without, so that leaving them out tells nothing.
_VITAL = ("name", "topic", "type", "definition")


class Rehearsal:
    """Makes resources for trial; `problems` are those met, `made` the resources as completed."""

    def __init__(self, target: InProcess) -> None:
        self._target = target
        self.problems: list[Problem] = []
        self.made: dict[str, Any] = {}

    async def run(self, resources: Resources, real: Target) -> None:
        """Try everything. What the resources refer to may exist at the `real` target alone."""
        for wanted in resources.schemas:
            await self._try(wanted)
        await self._bring_schemas(resources, real)
        for wanted in resources.topics:
            await self._try(wanted)
        await self._bring_topics(resources, real)
        # Before there are subscriptions, so that no message is ever pushed anywhere.
        for seed in resources.seeds:
            await self._try_seed(seed)
        for wanted in resources.subscriptions:
            await self._try(wanted)

    async def _try(self, wanted: Wanted) -> None:
        try:
            self.made[wanted.name] = await kinds.create(self._target, wanted.resource)
        except PubsubError as error:
            self.problems += await self._blame(wanted, error)
            if kinds.kind_of(wanted.resource) is kinds.TOPIC:
                # Stands in, so that its subscriptions are not blamed as well.
                await self._bring(pubsub.Topic(name=wanted.name))

    async def _blame(self, wanted: Wanted, error: PubsubError) -> list[Problem]:
        """What is wrong with a resource that was refused, at the fields that are to blame.

        Those are the fields that the bare resource cannot have, or that it must lack if only their
        combination is wrong.
        """
        optional = [name for name in wanted.places if name not in _VITAL]
        bare_error = await self._refusal(_without(wanted.resource, optional))
        if bare_error is not None:
            return [Problem(wanted.place_of(_suspect(bare_error, wanted)), bare_error.message)]
        problems = []
        for name in optional:
            others = [other for other in optional if other != name]
            wrong = await self._refusal(_without(wanted.resource, others))
            if wrong is not None:
                problems.append(Problem(wanted.place_of(name), wrong.message))
        for name in optional if not problems else ():
            if await self._refusal(_without(wanted.resource, [name])) is None:
                return [Problem(wanted.place_of(name), error.message)]
        return problems or [Problem(wanted.place, error.message)]

    async def _refusal(self, resource: Any) -> PubsubError | None:
        """Why a resource cannot be made, if it cannot; it is gone again afterwards."""
        try:
            await kinds.create(self._target, resource)
            await kinds.delete(self._target, resource)
        except PubsubError as error:
            return error
        return None

    async def _try_seed(self, seed: Seed) -> None:
        try:
            await self._target.call("Publish", publish_request(seed))
        except PubsubError as error:
            self.problems.append(Problem(seed.place, error.message))

    async def _bring_schemas(self, resources: Resources, real: Target) -> None:
        for wanted in resources.topics:
            name = wanted.resource.schema_settings.schema
            if name and name not in self.made:
                await self._bring_from(real, schema.Schema(name=name))

    async def _bring_topics(self, resources: Resources, real: Target) -> None:
        """Topics that are named here and made elsewhere; of their fields only the name counts."""
        named = [seed.topic for seed in resources.seeds]
        for wanted in resources.subscriptions:
            named += [wanted.resource.topic, wanted.resource.dead_letter_policy.dead_letter_topic]
        for name in dict.fromkeys(named):
            if name and name not in self.made:
                with contextlib.suppress(PubsubError):
                    if await kinds.get(real, pubsub.Topic(name=name)) is not None:
                        await self._bring(pubsub.Topic(name=name))

    async def _bring_from(self, real: Target, resource: Any) -> None:
        with contextlib.suppress(PubsubError):
            current = await kinds.get(real, resource)
            if current is not None:
                await self._bring(current)

    async def _bring(self, resource: Any) -> None:
        with contextlib.suppress(PubsubError):
            await kinds.create(self._target, resource)


def _suspect(error: PubsubError, wanted: Wanted) -> str:
    """Which of the fields that nothing can do without is wrong."""
    if isinstance(error, NotFound):
        return "topic"
    is_name = "resource name" in error.message or isinstance(error, AlreadyExists)
    return "name" if is_name or "definition" not in wanted.places else "definition"


def _without(resource: Any, fields: list[str]) -> Any:
    less = type(resource)()
    less.CopyFrom(resource)
    for name in fields:
        less.ClearField(name)
    return less


@contextlib.contextmanager
def rehearsal(make_core: Callable[[], Core]) -> Iterator[Rehearsal]:
    """A trial on a core of its own."""
    core = make_core()
    log = logging.getLogger("emulator")
    was_disabled, log.disabled = log.disabled, True  # the same remarks come again in earnest
    try:
        yield Rehearsal(InProcess(Service(core).handlers))
    finally:
        log.disabled = was_disabled
        core.close()


def publish_request(seed: Seed) -> pubsub.PublishRequest:
    """The call that publishes one message."""
    return pubsub.PublishRequest(topic=seed.topic, messages=[seed.message])
