"""The two faces of one emulator, asked the same and compared (RST-52).

How a request is said by REST is written here once more, by hand, from the table in rest.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import grpc
from google.protobuf import json_format

from emulator.api import rpc, wkt
from emulator.api.pool import POOL
from tests.transport.rest.client import Rest
from tests.wire import Wire

#: RPC: HTTP method, the field in the path, what follows it.
ROUTES = {
    "CreateTopic": ("PUT", "name", ""),
    "UpdateTopic": ("PATCH", "topic.name", ""),
    "Publish": ("POST", "topic", ":publish"),
    "GetTopic": ("GET", "topic", ""),
    "ListTopics": ("GET", "project", "/topics"),
    "ListTopicSubscriptions": ("GET", "topic", "/subscriptions"),
    "ListTopicSnapshots": ("GET", "topic", "/snapshots"),
    "DeleteTopic": ("DELETE", "topic", ""),
    "DetachSubscription": ("POST", "subscription", ":detach"),
    "CreateSubscription": ("PUT", "name", ""),
    "GetSubscription": ("GET", "subscription", ""),
    "UpdateSubscription": ("PATCH", "subscription.name", ""),
    "ListSubscriptions": ("GET", "project", "/subscriptions"),
    "DeleteSubscription": ("DELETE", "subscription", ""),
    "ModifyAckDeadline": ("POST", "subscription", ":modifyAckDeadline"),
    "Acknowledge": ("POST", "subscription", ":acknowledge"),
    "Pull": ("POST", "subscription", ":pull"),
    "ModifyPushConfig": ("POST", "subscription", ":modifyPushConfig"),
    "Seek": ("POST", "subscription", ":seek"),
    "CreateSnapshot": ("PUT", "name", ""),
    "GetSnapshot": ("GET", "snapshot", ""),
    "ListSnapshots": ("GET", "project", "/snapshots"),
    "UpdateSnapshot": ("PATCH", "snapshot.name", ""),
    "DeleteSnapshot": ("DELETE", "snapshot", ""),
    "CreateSchema": ("POST", "parent", "/schemas"),
    "GetSchema": ("GET", "name", ""),
    "ListSchemas": ("GET", "parent", "/schemas"),
    "ListSchemaRevisions": ("GET", "name", ":listRevisions"),
    "CommitSchema": ("POST", "name", ":commit"),
    "RollbackSchema": ("POST", "name", ":rollback"),
    "DeleteSchemaRevision": ("DELETE", "name", ":deleteRevision"),
    "DeleteSchema": ("DELETE", "name", ""),
    "ValidateSchema": ("POST", "parent", "/schemas:validate"),
    "ValidateMessage": ("POST", "parent", "/schemas:validateMessage"),
    "GetIamPolicy": ("GET", "resource", ":getIamPolicy"),
    "SetIamPolicy": ("POST", "resource", ":setIamPolicy"),
    "TestIamPermissions": ("POST", "resource", ":testIamPermissions"),
}
_STATUS = {
    "OK": 200, "INVALID_ARGUMENT": 400, "FAILED_PRECONDITION": 400, "OUT_OF_RANGE": 400,
    "NOT_FOUND": 404, "ALREADY_EXISTS": 409, "ABORTED": 409, "RESOURCE_EXHAUSTED": 429,
    "UNIMPLEMENTED": 501,
}  # fmt: skip
#: What no two calls have in common, by the name it has in JSON.
_FLEETING = {"messageId", "messageIds", "publishTime", "ackId", "nextPageToken", "revisionId",
             "revisionCreateTime", "expireTime", "etag"}  # fmt: skip


class Outcome(NamedTuple):
    """`response` is in JSON, as is each of `details`; what is fleeting is replaced."""

    status: str
    message: str
    details: list[Any]
    response: Any


class Side:
    """One face with a project of its own; keeps what later requests need to repeat."""

    def __init__(self, project: str) -> None:
        self.project = project
        self.ack_ids: list[str] = []
        self.page_token = ""
        self._secrets: dict[str, str] = {project: "<project>"}

    def topic(self, leaf: str = "topic") -> str:
        return f"projects/{self.project}/topics/{leaf}"

    def subscription(self, leaf: str = "subscription") -> str:
        return f"projects/{self.project}/subscriptions/{leaf}"

    def snapshot(self, leaf: str = "snapshot") -> str:
        return f"projects/{self.project}/snapshots/{leaf}"

    def schema(self, leaf: str = "schema") -> str:
        return f"projects/{self.project}/schemas/{leaf}"

    def learn(self, response: dict[str, Any]) -> None:
        """Keep ack ids and page token of a response."""
        received = response.get("receivedMessages", [])
        if received:
            self.ack_ids = [each["ackId"] for each in received]
        self.page_token = response.get("nextPageToken", self.page_token)
        for name, value in _fleeting(response):
            self._secrets.setdefault(value, f"<{name}>")

    def clean(self, value: Any) -> Any:
        """Replace what this side alone has."""
        text = json.dumps(value)
        for secret in sorted(self._secrets, key=len, reverse=True):
            if secret:
                text = text.replace(secret, self._secrets[secret])
        return json.loads(text)


def _fleeting(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _fleeting(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _fleeting(item, name)
    elif name in _FLEETING:
        yield name, value


def _as_json(message: Any) -> Any:
    return json_format.MessageToDict(message, descriptor_pool=POOL)


def ask_grpc(wire: Wire, side: Side, method: str, request: Any) -> Outcome:
    try:
        response = _as_json(wire(method, request))
    except grpc.RpcError as error:
        call: Any = error
        details: list[wkt.Any] = []
        for key, value in call.trailing_metadata():
            if key == "grpc-status-details-bin":
                status = rpc.Status.FromString(value)
                assert (status.code, status.message) == (call.code().value[0], call.details())
                details = list(status.details)
        found = [_as_json(each) for each in details]
        return Outcome(call.code().name, side.clean(call.details()), side.clean(found), None)
    side.learn(response)
    return Outcome("OK", "", [], side.clean(response))


def ask_rest(rest: Rest, side: Side, method: str, request: Any) -> Outcome:
    answer = rest(*rest_form(method, request))
    if answer.status == 200:
        side.learn(answer.json)
        return Outcome("OK", "", [], side.clean(answer.json))
    error = answer.error
    assert error["code"] == answer.status == _STATUS[error["status"]], error
    return Outcome(
        error["status"],
        side.clean(error["message"]),
        side.clean(error.get("details", [])),
        None,
    )


def rest_form(method: str, request: Any) -> tuple[str, str, Any]:
    """Return HTTP method, path and body that say the same as an RPC's request."""
    verb, in_path, rest_of_path = ROUTES[method]
    content = _as_json(request)
    *parents, leaf = (_camel(part) for part in in_path.split("."))
    holder = content
    for parent in parents:
        holder = holder[parent]
    path = f"/v1/{quote(holder.pop(leaf), safe='/')}{rest_of_path}"
    if method == "CreateSchema":
        query = {"schemaId": content.get("schemaId", "")}
        return verb, f"{path}?{urlencode(query)}", content.get("schema", {})
    if verb in ("GET", "DELETE"):
        query = dict(_flat(content))
        return verb, f"{path}?{urlencode(query)}" if query else path, None
    return verb, path, content


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _flat(content: dict[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in content.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


#: One request of a story, made for a side: the RPC's name and its request.
Step = tuple[str, Callable[[Side], Any]]
