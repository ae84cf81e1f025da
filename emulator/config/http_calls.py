"""RPCs as HTTP requests, by the `google.api.http` options of the interface files: for a client."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from google.protobuf import json_format
from google.protobuf.message import Message

from emulator.api.http_rules import http_rule
from emulator.api.pool import POOL
from emulator.engine.values import errors
from emulator.engine.values.errors import PubsubError
from emulator.service.rpcs import RPCS, Rpc

_RPCS: Mapping[str, Rpc] = {rpc.name: rpc for rpc in RPCS}
_VARIABLE = re.compile(r"\{([a-z_.]+)=[^}]*\}")
_ERRORS: Mapping[str, type[PubsubError]] = {
    kind.code.name: kind
    for kind in (
        errors.InvalidArgument,
        errors.NotFound,
        errors.AlreadyExists,
        errors.FailedPrecondition,
        errors.ResourceExhausted,
        errors.Aborted,
        errors.Unimplemented,
        errors.Unavailable,
    )
}


class HttpCall(NamedTuple):
    method: str
    target: str
    body: Any


#: Sends a method, a target and a JSON body; returns the status and the body of the answer.
Send = Callable[[str, str, Any], tuple[int, bytes]]


class Remote:
    """A target at the other end of HTTP."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def call(self, method: str, request: Message) -> Any:
        """Call an RPC by its name; it blocks, as nothing else runs meanwhile."""
        status, content = self._send(*http_call(method, request))
        if status != 200:
            raise _error(status, content)
        answer = _RPCS[method].response()
        json_format.Parse(
            content or b"{}", answer, ignore_unknown_fields=True, descriptor_pool=POOL
        )
        return answer


def http_call(method: str, request: Message) -> HttpCall:
    """Return the HTTP request that is an RPC."""
    rule = http_rule(_RPCS[method].descriptor)
    assert rule is not None, method
    verb = rule.WhichOneof("pattern") or "get"
    value: dict[str, Any] = json_format.MessageToDict(request, descriptor_pool=POOL)
    path = _VARIABLE.sub(lambda found: _taken(value, found[1]), getattr(rule, verb))
    if rule.body == "*":
        return HttpCall(verb.upper(), path, value)
    body = value.pop(rule.body, {}) if rule.body else None
    query = {key: item for key, item in value.items() if item not in ({}, [])}
    return HttpCall(verb.upper(), path + (f"?{urlencode(query)}" if query else ""), body)


def _taken(value: dict[str, Any], path: str) -> str:
    """Take the text at a path out of a request; it goes into the URL."""
    *parents, name = path.split(".")
    for parent in parents:
        value = value[parent]
    # The resource of an update keeps its name, which must be the same as in the URL.
    text = value[name] if parents else value.pop(name, "")
    return quote(text, safe="/~@")


def _error(status: int, content: bytes) -> PubsubError:
    try:
        error = json.loads(content)["error"]
        kind = _ERRORS.get(error.get("status", ""), errors.Internal)
        return kind(error.get("message", f"HTTP {status}"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return errors.Internal(f"HTTP {status}: {content[:200].decode('utf-8', 'replace')}")
