"""Which HTTP method and path leads to which RPC.

Read from the registry of RPCs and the `google.api.http` options of the interface files. IAM's
options speak of any resource of any service, so that its bindings are a table of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from emulator.api.http import HttpRule
from emulator.api.http_rules import http_rule
from emulator.service.features import Feature
from emulator.service.rpcs import RPCS, Rpc
from emulator.transport.rest.template import Template, parse_template

IAM = "google.iam.v1.IAMPolicy"
_IAM_KINDS = ("topics", "subscriptions", "snapshots", "schemas")
#: RST-I1..I3; clients also send GetIamPolicy's request as a body.
_IAM_VERBS = (
    ("GET", "getIamPolicy", ""),
    ("POST", "getIamPolicy", "*"),
    ("POST", "setIamPolicy", "*"),
    ("POST", "testIamPermissions", "*"),
)
_TRANSFORMS = "google.pubsub.v1"
#: Methods that gcloud calls and the interface files do not have.
_REFUSED = (
    ("POST", "/v1/{project=projects/*}:validateMessageTransform", "message transforms"),
    ("POST", "/v1/{project=projects/*}:testMessageTransforms", "message transforms"),
)


class Binding(NamedTuple):
    """`body` names the field that the body is, "*" where it is the whole request, or "".

    A binding to a `Feature` is one that is refused by its name.
    """

    method: str
    template: Template
    target: Rpc | Feature
    body: str


def all_bindings() -> tuple[Binding, ...]:
    """Every binding there is."""
    return (*(each for rpc in RPCS for each in _of_rpc(rpc)), *_refused())


def _of_rpc(rpc: Rpc) -> Iterator[Binding]:
    if rpc.service == IAM:
        yield from _of_policies(rpc)
    else:
        rule = http_rule(rpc.descriptor)
        if rule is not None:
            for each in (rule, *rule.additional_bindings):
                yield _of_rule(each, rpc)


def _of_rule(rule: HttpRule, rpc: Rpc) -> Binding:
    method = rule.WhichOneof("pattern")
    assert method in ("get", "put", "post", "delete", "patch"), rule
    return Binding(method.upper(), parse_template(getattr(rule, method)), rpc, rule.body)


def _of_policies(rpc: Rpc) -> Iterator[Binding]:
    for method, verb, body in _IAM_VERBS:
        if verb.lower() == rpc.name.lower():
            for kind in _IAM_KINDS:
                template = parse_template(f"/v1/{{resource=projects/*/{kind}/*}}:{verb}")
                yield Binding(method, template, rpc, body)


def _refused() -> Iterator[Binding]:
    for method, text, name in _REFUSED:
        template = parse_template(text)
        yield Binding(method, template, Feature(_TRANSFORMS, template.verb, name), "*")
