"""The gcloud command against the emulator: `pytest -m gcloud`, where gcloud is installed.

Each call starts gcloud anew, which takes a second or two; hence not with the other tests. What the
emulator still refuses is skipped until it does not.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from emulator.service.features import REFUSED
from emulator.testing import Emulator
from tests.spec import spec
from tests.wire import Names

pytestmark = [
    pytest.mark.gcloud,
    pytest.mark.skipif(shutil.which("gcloud") is None, reason="gcloud is not installed"),
]

CALL_LIMIT_S = 120
Gcloud = Callable[..., Any]


@pytest.fixture
def run(
    emulator: Emulator, names: Names, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `gcloud pubsub …` in a folder of its own settings."""
    environment = {
        **os.environ,
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB": f"http://{emulator.host_port}/",
        "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true",
        "CLOUDSDK_CORE_PROJECT": names.project,
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_CHECK_GCE_METADATA": "false",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "true",
        "CLOUDSDK_CONFIG": str(tmp_path_factory.mktemp("gcloud")),
    }

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["gcloud", "pubsub", *words, "--format=json"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=CALL_LIMIT_S,
        )

    return run


@pytest.fixture
def gcloud(run: Callable[..., subprocess.CompletedProcess[str]]) -> Iterator[Gcloud]:
    """Run a command that must succeed; return its output, which is JSON."""

    def gcloud(*words: str) -> Any:
        done = run(*words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None

    return gcloud


def needs(what: str) -> pytest.MarkDecorator:
    is_refused = any(feature.what == what for feature in REFUSED)
    return pytest.mark.skipif(is_refused, reason=f"the emulator refuses {what}")


@spec("NAM-05", "NAM-06")
def test_topics(gcloud: Gcloud, names: Names) -> None:
    gcloud("topics", "create", "first", "second+%", "--labels=a=b")
    first = {"name": names.topic("first"), "labels": {"a": "b"}}
    second = {"name": names.topic("second+%"), "labels": {"a": "b"}}
    assert gcloud("topics", "list") == [first, second]
    assert gcloud("topics", "describe", "second+%") == second
    gcloud("topics", "update", "first", "--update-labels=c=d", "--remove-labels=a")
    assert gcloud("topics", "describe", "first")["labels"] == {"c": "d"}
    gcloud("topics", "delete", "first", "second+%")
    assert gcloud("topics", "list") == []


@spec("TOP-05", "TOP-06")
def test_flags_of_topics(gcloud: Gcloud) -> None:
    key = "projects/p/locations/global/keyRings/r/cryptoKeys/k"
    gcloud(
        "topics", "create", "topic", f"--topic-encryption-key={key}",
        "--message-storage-policy-allowed-regions=europe-west1,europe-west4",
        "--message-storage-policy-enforce-in-transit",
    )  # fmt: skip
    described = gcloud("topics", "describe", "topic")
    assert described["kmsKeyName"] == key
    assert described["messageStoragePolicy"] == {
        "allowedPersistenceRegions": ["europe-west1", "europe-west4"],
        "enforceInTransit": True,
    }
    gcloud("topics", "update", "topic", "--recompute-message-storage-policy")
    assert "messageStoragePolicy" not in gcloud("topics", "describe", "topic")


@spec("SUB-13", "UPD-08")
def test_subscriptions(gcloud: Gcloud, names: Names) -> None:
    gcloud("topics", "create", "topic")
    gcloud("subscriptions", "create", "plain", "--topic=topic")
    plain = {
        "name": names.subscription("plain"),
        "topic": names.topic(),
        "pushConfig": {},
        "ackDeadlineSeconds": 10,
        "messageRetentionDuration": "604800s",
        "expirationPolicy": {"ttl": "2678400s"},
        "state": "ACTIVE",
    }
    assert gcloud("subscriptions", "describe", "plain") == plain
    assert gcloud("subscriptions", "list") == [plain]
    assert gcloud("topics", "list-subscriptions", "topic") == [plain["name"]]
    gcloud(
        "subscriptions", "update", "plain", "--ack-deadline=60", "--expiration-period=never",
        "--message-retention-duration=1d", "--update-labels=a=b",
    )  # fmt: skip
    assert gcloud("subscriptions", "describe", "plain") == {
        **plain,
        "ackDeadlineSeconds": 60,
        "messageRetentionDuration": "86400s",
        "expirationPolicy": {},
        "labels": {"a": "b"},
    }
    gcloud("topics", "detach-subscription", "plain")
    assert gcloud("subscriptions", "describe", "plain")["detached"] is True
    gcloud("subscriptions", "delete", "plain")
    assert gcloud("subscriptions", "list") == []


CREATED_WITH = [
    (["--ack-deadline=30", "--labels=a=b"], {"ackDeadlineSeconds": 30, "labels": {"a": "b"}}),
    (["--expiration-period=2d", "--message-retention-duration=1d"],
     {"expirationPolicy": {"ttl": "172800s"}, "messageRetentionDuration": "86400s"}),
    (["--bigquery-table=p:d.t", "--write-metadata"],
     {"bigqueryConfig": {"table": "p:d.t", "writeMetadata": True}}),
    pytest.param(["--message-filter=attributes:x"], {"filter": "attributes:x"},
                 marks=needs("filter")),
    pytest.param(["--enable-message-ordering"], {"enableMessageOrdering": True},
                 marks=needs("enable_message_ordering")),
    pytest.param(["--enable-exactly-once-delivery"], {"enableExactlyOnceDelivery": True},
                 marks=needs("enable_exactly_once_delivery")),
    pytest.param(["--retain-acked-messages"], {"retainAckedMessages": True},
                 marks=needs("retain_acked_messages")),
    pytest.param(["--min-retry-delay=1s", "--max-retry-delay=60s"],
                 {"retryPolicy": {"minimumBackoff": "1s", "maximumBackoff": "60s"}},
                 marks=needs("retry_policy")),
    pytest.param(["--dead-letter-topic=topic", "--max-delivery-attempts=7"],
                 {"deadLetterPolicy": {"maxDeliveryAttempts": 7}},
                 marks=needs("dead_letter_policy")),
    pytest.param(["--push-endpoint=http://127.0.0.1:1/x"],
                 {"pushConfig": {"pushEndpoint": "http://127.0.0.1:1/x"}},
                 marks=needs("push_config.push_endpoint")),
]  # fmt: skip


@spec("SUB-04", "SUB-05", "SUB-07", "SUB-08")
@pytest.mark.parametrize(
    ("flags", "fields"), CREATED_WITH, ids=lambda value: value[0] if type(value) is list else ""
)
def test_flags_of_subscriptions(
    gcloud: Gcloud, names: Names, flags: list[str], fields: dict[str, Any]
) -> None:
    gcloud("topics", "create", "topic")
    gcloud("subscriptions", "create", "subscription", "--topic=topic", *flags)
    described = gcloud("subscriptions", "describe", "subscription")
    assert described["topic"] == names.topic()
    for name, value in fields.items():
        found = described[name]
        if isinstance(value, dict):  # what is output only may come with it
            found = {key: found.get(key) for key in value}
        assert found == value


@spec("PUB-01", "PUL-05", "ACK-01")
def test_messages(gcloud: Gcloud) -> None:
    gcloud("topics", "create", "topic")
    gcloud("subscriptions", "create", "subscription", "--topic=topic", "--ack-deadline=600")
    assert gcloud("subscriptions", "pull", "subscription") == []
    published = gcloud(
        "topics", "publish", "topic", "--message=hello wörld", "--attribute=n=1,m=2",
        "--ordering-key=k",
    )  # fmt: skip
    [message_id] = published["messageIds"]
    [received] = gcloud("subscriptions", "pull", "subscription", "--limit=5")
    message = received["message"]
    assert base64.b64decode(message["data"]).decode() == "hello wörld"
    assert (message["messageId"], message["orderingKey"]) == (message_id, "k")
    assert message["attributes"] == {"n": "1", "m": "2"}
    ack_ids = f"--ack-ids={received['ackId']}"
    gcloud("subscriptions", "modify-message-ack-deadline", "subscription", ack_ids,
           "--ack-deadline=0")  # fmt: skip
    [again] = gcloud("subscriptions", "pull", "subscription")
    assert again["message"] == message
    gcloud("subscriptions", "ack", "subscription", f"--ack-ids={again['ackId']}")
    gcloud("topics", "publish", "topic", "--message=next")
    [taken] = gcloud("subscriptions", "pull", "subscription", "--auto-ack")
    assert base64.b64decode(taken["message"]["data"]) == b"next"


@spec("IAM-01", "IAM-02", "IAM-03")
def test_policies(gcloud: Gcloud, tmp_path: Path) -> None:
    gcloud("topics", "create", "topic")
    gcloud("subscriptions", "create", "subscription", "--topic=topic")
    role = "--role=roles/pubsub.viewer"
    for kind, name in (("topics", "topic"), ("subscriptions", "subscription")):
        assert gcloud(kind, "get-iam-policy", name) == {"etag": "ACAB"}
        gcloud(kind, "add-iam-policy-binding", name, role, "--member=allUsers")
        policy = gcloud(kind, "get-iam-policy", name)
        assert policy["bindings"] == [{"role": "roles/pubsub.viewer", "members": ["allUsers"]}]
        gcloud(kind, "remove-iam-policy-binding", name, role, "--member=allUsers")
        assert "bindings" not in gcloud(kind, "get-iam-policy", name)
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps({"bindings": policy["bindings"]}))
        assert gcloud(kind, "set-iam-policy", name, str(file))["bindings"] == policy["bindings"]


@needs("CreateSnapshot")
@spec("SNP-01")
def test_snapshots_and_seek(gcloud: Gcloud, names: Names) -> None:
    gcloud("topics", "create", "topic")
    gcloud("subscriptions", "create", "subscription", "--topic=topic")
    gcloud("snapshots", "create", "snapshot", "--subscription=subscription")
    assert [each["name"] for each in gcloud("snapshots", "list")] == [
        f"projects/{names.project}/snapshots/snapshot"
    ]
    gcloud("topics", "publish", "topic", "--message=a")
    assert len(gcloud("subscriptions", "pull", "subscription", "--auto-ack")) == 1
    gcloud("subscriptions", "seek", "subscription", "--snapshot=snapshot")
    assert len(gcloud("subscriptions", "pull", "subscription", "--auto-ack")) == 1
    gcloud("snapshots", "delete", "snapshot")


_AVRO = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}%s]}'
_AVRO_MORE = ', {"name": "b", "type": "string", "default": ""}'
_PROTO = 'syntax = "proto3"; message R { string a = 1;%s }'


@spec("RST-63", "SCH-02", "SCH-05", "SCH-06", "SCH-07", "SCH-08", "SCH-09", "SCH-10", "SCH-11")
@pytest.mark.parametrize(
    ("kind", "first", "second", "good", "bad"),
    [
        ("avro", _AVRO % "", _AVRO % _AVRO_MORE, '{"a": "x"}', '{"b": "x"}'),
        ("protocol-buffer", _PROTO % "", _PROTO % " string b = 2;", '{"a": "x"}', '{"c": "x"}'),
    ],
    ids=["avro", "protobuf"],
)
def test_schemas(
    run: Callable[..., subprocess.CompletedProcess[str]], gcloud: Gcloud, names: Names,
    tmp_path: Path, kind: str, first: str, second: str, good: str, bad: str,
) -> None:  # fmt: skip
    of_kind = f"--type={kind}"
    name = f"projects/{names.project}/schemas/schema"
    gcloud("schemas", "validate-schema", of_kind, f"--definition={first}")
    gcloud("schemas", "create", "schema", of_kind, f"--definition={first}")
    described = gcloud("schemas", "describe", "schema")
    assert (described["name"], described["definition"]) == (name, first)
    assert [each["name"] for each in gcloud("schemas", "list")] == [name]
    file = tmp_path / "definition"
    file.write_text(second)
    newer = gcloud("schemas", "commit", "schema", of_kind, f"--definition-file={file}")
    assert newer["definition"] == second
    revisions = gcloud("schemas", "list-revisions", "schema")
    assert {each["revisionId"] for each in revisions} == {
        described["revisionId"],
        newer["revisionId"],
    }
    old = f"schema@{described['revisionId']}"
    assert gcloud("schemas", "describe", old)["definition"] == first
    back = gcloud("schemas", "rollback", "schema", f"--revision-id={described['revisionId']}")
    assert back["definition"] == first
    gcloud("schemas", "delete-revision", f"schema@{back['revisionId']}")

    as_json = "--message-encoding=json"
    for source in (["--schema-name=schema"], [of_kind, f"--definition={second}"]):
        message = good if kind == "protocol-buffer" else '{"a": "x", "b": "y"}'
        gcloud("schemas", "validate-message", as_json, f"--message={message}", *source)
        done = run("schemas", "validate-message", as_json, f"--message={bad}", *source)
        assert done.returncode != 0
        assert "Message failed schema validation" in done.stderr

    gcloud(
        "topics", "create", "topic", "--schema=schema", as_json, f"--first-revision-id={old[7:]}"
    )
    gcloud("topics", "publish", "topic", f"--message={good}")
    assert run("topics", "publish", "topic", f"--message={bad}").returncode != 0
    gcloud("topics", "update", "topic", "--clear-schema-settings")
    gcloud("topics", "publish", "topic", f"--message={bad}")
    gcloud("topics", "update", "topic", "--schema=schema", as_json)
    assert gcloud("topics", "describe", "topic")["schemaSettings"]["schema"] == name
    gcloud("schemas", "delete", "schema")
    assert gcloud("topics", "describe", "topic")["schemaSettings"]["schema"] == "_deleted-schema_"


@spec("ERR-01", "ERR-02", "ERR-03", "RST-50")
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["topics", "describe", "missing"], "Resource not found (resource=missing)."),
        (["topics", "create", "topic"], "Resource already exists in the project (resource=topic)."),
        (["topics", "create", "ab"], "Invalid resource name given (name="),
        (["subscriptions", "create", "abc", "--topic=topic", "--ack-deadline=5"],
         "Invalid ack deadline given (ack_deadline=5)."),
        (["subscriptions", "pull", "missing"], "Resource not found (resource=missing)."),
        (["message-transforms", "validate", "--message-transform-file={transform}"],
         "does not support message transforms yet"),
    ],
)  # fmt: skip
def test_refusals_are_shown(
    run: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
    words: list[str],
    text: str,
) -> None:
    transform = tmp_path / "transform.yaml"
    transform.write_text("javascriptUdf:\n  code: 'function f(m, c) { return m; }'\n"
                         "  functionName: f\n")  # fmt: skip
    run("topics", "create", "topic")
    done = run(*(word.format(transform=transform) for word in words))
    assert done.returncode != 0
    assert text in done.stderr
