"""IAM policies: kept, shown and compared, not enforced (IAM-01..06)."""

from __future__ import annotations

from emulator.api import iam
from emulator.engine.delivery.outcome import Outcome
from emulator.engine.resources.events import PolicySet
from emulator.engine.resources.world import World
from emulator.engine.values import errors, limits, names
from emulator.engine.values.copying import copied

#: The etag of a resource that never had a policy; `ACAB` in JSON (IAM-02).
_NO_POLICY_ETAG = b"\x00\x20\x01"
_VERSIONS = (0, 1, 3)
_VERSION_WITH_CONDITIONS = 3


class Policies:
    def __init__(self, world: World) -> None:
        self._world = world

    def get(self, resource: str, *, now: int) -> Outcome[iam.Policy]:
        """Return a resource's policy, an empty one where none was set (IAM-02)."""
        self._find(resource)
        return Outcome(self._current(resource))

    def set(self, resource: str, given: iam.Policy, *, now: int) -> Outcome[iam.Policy]:
        """Replace a resource's policy and return it as it is now (IAM-03, IAM-04).

        Raises ABORTED if `given` says which policy it replaces and that is not the current one.
        """
        _check_size(given)
        self._find(resource)
        if given.version not in _VERSIONS:
            raise errors.invalid_argument("policy.version")
        if given.etag and given.etag != self._current(resource).etag:
            raise errors.stale_etag()
        world = self._world
        world.policy_changes += 1
        policy = iam.Policy()
        policy.CopyFrom(given)
        has_conditions = any(binding.HasField("condition") for binding in policy.bindings)
        policy.version = _VERSION_WITH_CONDITIONS if has_conditions else 1
        policy.etag = b"\x07" + world.policy_changes.to_bytes(7, "big")
        world.policies[resource] = policy
        if world.recording.is_on:
            world.recording.add(PolicySet(resource, copied(policy)))
        return world.outcome(self._current(resource))

    def test(self, resource: str, permissions: list[str], *, now: int) -> Outcome[list[str]]:
        """Return those of `permissions` that the caller has: all, or none on nothing (IAM-05)."""
        if any("*" in permission for permission in permissions):
            raise errors.invalid_argument("permissions: wildcards are not allowed")
        return Outcome(permissions if self._exists(resource) else [])

    def _current(self, resource: str) -> iam.Policy:
        policy = iam.Policy(etag=_NO_POLICY_ETAG)
        stored = self._world.policies.get(resource)
        if stored is not None:
            policy.CopyFrom(stored)
        return policy

    def _find(self, resource: str) -> None:
        if not self._exists(resource):
            self._world.check_allowed(names.project_of(resource))
            raise errors.not_found(resource)

    def _exists(self, resource: str) -> bool:
        """Raises ERR-01 for what is no name of a resource with a policy."""
        collection = names.check_any(resource)
        return resource in self._world.collections.get(collection, {})


def _check_size(policy: iam.Policy) -> None:
    """Raise INVALID_ARGUMENT for a policy that is larger than IAM takes."""
    principals = sum(len(binding.members) for binding in policy.bindings)
    for config in policy.audit_configs:
        principals += sum(len(each.exempted_members) for each in config.audit_log_configs)
    if principals > limits.POLICY_PRINCIPALS:
        raise errors.policy_too_large("number of members in", principals, limits.POLICY_PRINCIPALS)
    size = policy.ByteSize()
    if size > limits.POLICY_BYTES:
        raise errors.policy_too_large("size in bytes of", size, limits.POLICY_BYTES)
