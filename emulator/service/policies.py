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
        return core.perform(name, core.engine.policies.get, name)

    def set_iam_policy(self, request: iam.SetIamPolicyRequest, call: Call) -> iam.Policy:
        core, name = self._core, request.resource
        return core.perform(name, core.engine.policies.set, name, request.policy)

    def test_iam_permissions(
        self, request: iam.TestIamPermissionsRequest, call: Call
    ) -> iam.TestIamPermissionsResponse:
        core, name = self._core, request.resource
        permissions = list(request.permissions)
        held = core.perform(name, core.engine.policies.test, name, permissions)
        return iam.TestIamPermissionsResponse(permissions=held)
