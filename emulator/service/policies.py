"""The IAMPolicy service: one method an RPC, for every transport."""

from __future__ import annotations

from emulator.api import iam
from emulator.service.call import Call
from emulator.service.core import Core


class Policies:
    def __init__(self, core: Core) -> None:
        self._core = core

    def get_iam_policy(self, request: iam.GetIamPolicyRequest, call: Call) -> iam.Policy:
        core, name = self._core, request.resource
        return core.settle(name, core.engine.policies.get(name, now=core.now(name)))

    def set_iam_policy(self, request: iam.SetIamPolicyRequest, call: Call) -> iam.Policy:
        core, name = self._core, request.resource
        outcome = core.engine.policies.set(name, request.policy, now=core.now(name))
        return core.settle(name, outcome)

    def test_iam_permissions(
        self, request: iam.TestIamPermissionsRequest, call: Call
    ) -> iam.TestIamPermissionsResponse:
        core, name = self._core, request.resource
        permissions = list(request.permissions)
        outcome = core.engine.policies.test(name, permissions, now=core.now(name))
        return iam.TestIamPermissionsResponse(permissions=core.settle(name, outcome))
