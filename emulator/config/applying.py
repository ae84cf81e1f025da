"""Makes a target have what is wanted: creates what is missing, updates what is different.

Nothing is ever deleted. Everything is checked before anything is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from emulator.config import kinds
from emulator.config.problems import ConfigError, Place, Problem
from emulator.config.rehearsal import Rehearsal, publish_request, rehearsal
from emulator.config.resources import Resources, Seed, Wanted
from emulator.config.target import Target
from emulator.engine.values.errors import PubsubError
from emulator.service.core import Core


@dataclass(slots=True)
class Plan:
    """`updated` are resources with the paths in which they differ."""

    created: list[Wanted] = field(default_factory=list)
    updated: list[tuple[Wanted, list[str]]] = field(default_factory=list)
    seeds: list[Seed] = field(default_factory=list)
    same: int = 0

    def __bool__(self) -> bool:
        return bool(self.created or self.updated or self.seeds)

    def summary(self) -> str:
        """What is done, for a log line; "" for nothing."""
        parts = []
        if self.created:
            nouns = [kinds.kind_of(wanted.resource).noun for wanted in self.created]
            parts.append("created " + ", ".join(_counted(nouns, noun) for noun in _seen(nouns)))
        if self.updated:
            names = [wanted.name.rpartition("/")[2] for wanted, _ in self.updated]
            parts.append(f"updated {', '.join(names)}")
        if self.seeds:
            parts.append(f"published {_counted(['message'] * len(self.seeds), 'message')}")
        return "; ".join(parts)


def _seen(nouns: list[str]) -> list[str]:
    return list(dict.fromkeys(nouns))


def _counted(nouns: list[str], noun: str) -> str:
    count = nouns.count(noun)
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


async def apply(
    resources: Resources,
    target: Target,
    make_core: Callable[[], Core] = Core,
    *,
    progress: Callable[[str], object] = lambda text: None,
) -> Plan:
    """Bring about what is wanted; return what was done.

    Raises ConfigError: with nothing changed for what is wrong in the resources themselves, and
    with a word about it for what only the target refuses. `make_core` makes the core of the trial:
    one under the rules of the target's. `progress` is told of each step.
    """
    with rehearsal(make_core) as trial:
        await trial.run(resources, target)
    if trial.problems:
        raise ConfigError(trial.problems)
    plan = await _plan(resources, trial, target)
    for wanted in plan.created:
        progress(f"create {wanted.name}")
        await _do(wanted.place, plan, kinds.create(target, wanted.resource))
    for wanted, paths in plan.updated:
        progress(f"update {wanted.name}: {', '.join(paths)}")
        await _do(wanted.place, plan, kinds.update(target, wanted.resource, paths))
    for seed in plan.seeds:
        await _do(seed.place, plan, target.call("Publish", publish_request(seed)))
    return plan


async def _do(place: Place, plan: Plan, call: Any) -> None:
    try:
        await call
    except PubsubError as error:
        text = f"{error.message} (what came before is done: {plan.summary()})"
        raise ConfigError([Problem(place, text)]) from error


async def _plan(resources: Resources, trial: Rehearsal, target: Target) -> Plan:
    plan, problems = Plan(), []
    for wanted in resources.all():
        try:
            current = await kinds.get(target, wanted.resource)
        except PubsubError as error:
            problems.append(Problem(wanted.place, error.message))
            continue
        if current is None:
            plan.created.append(wanted)
            continue
        completed = trial.made[wanted.name]
        paths = _changes(wanted, completed, current)
        problems += _fixed(wanted, current, paths)
        if paths:
            plan.updated.append((_to_update(wanted, completed), paths))
        else:
            plan.same += 1
    if problems:
        raise ConfigError(problems)
    made = {wanted.name for wanted in plan.created}
    plan.seeds = [seed for seed in resources.seeds if seed.topic in made]
    return plan


def _to_update(wanted: Wanted, completed: Any) -> Wanted:
    """What an update sends: the whole, since what it leaves out would get an update's defaults.

    Those are not always the ones of a creation (SUB-04, UPD-02). A schema gets a new revision.
    """
    is_schema = kinds.kind_of(completed) is kinds.SCHEMA
    return wanted if is_schema else replace(wanted, resource=completed)


def _changes(wanted: Wanted, completed: Any, current: Any) -> list[str]:
    return [] if wanted.is_existing_left_alone else kinds.differences(completed, current)


def _fixed(wanted: Wanted, current: Any, paths: list[str]) -> list[Problem]:
    """What differs and cannot be changed."""
    kind = kinds.kind_of(current)
    return [
        Problem(
            wanted.place_of(path),
            f'"{path}" of an existing {kind.noun} cannot be changed (it is'
            f" {_shown(getattr(current, path))}); delete {wanted.name} first",
        )
        for path in paths
        if path in kind.fixed
    ]


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()
