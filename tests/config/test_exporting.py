"""Exports: there and back again, in three languages."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hcl2
import pytest
from google.protobuf import json_format

from emulator.api import pubsub, schema
from emulator.api.pool import POOL
from emulator.cli import main
from emulator.config import export_yaml, hcl
from emulator.config.document import parse
from emulator.config.exporting import Export
from emulator.config.http_calls import http_call
from emulator.testing import Emulator
from tests.wire import Wire

FILE = """
projects:
  demo:
    schemas:
      - name: event
        type: AVRO
        definition: '{"type": "record", "name": "E", "fields": [{"name": "a", "type": "string"}]}'
      - name: proto
        type: PROTOCOL_BUFFER
        definition: |
          syntax = "proto3";
          message M { string a = 1; }
    topics:
      - plain
      - {name: typed, schemaSettings: {schema: event, encoding: JSON}}
      - name: dead
      - name: events%41
        labels: {env: test, team: a-b}
        messageRetentionDuration: 3600.500s
        messageStoragePolicy: {allowedPersistenceRegions: [europe-west1, us-east1]}
        kmsKeyName: projects/p/locations/l/keyRings/r/cryptoKeys/k
    subscriptions:
      - {name: plain-sub, topic: plain}
      - name: full
        topic: events%41
        ackDeadlineSeconds: 10
        enableExactlyOnceDelivery: true
        messageRetentionDuration: 1200s
        retainAckedMessages: true
        labels: {x: ''}
        enableMessageOrdering: true
        expirationPolicy: {}
        filter: attributes.kind = "${tricky} %{text} \\" and $${more}"
        deadLetterPolicy: {deadLetterTopic: dead, maxDeliveryAttempts: 7}
        retryPolicy: {minimumBackoff: 1.500s, maximumBackoff: 60s}
      - name: short-lived
        topic: projects/other/topics/there
        expirationPolicy: {ttl: 172800s}
      - name: table
        topic: plain
        bigqueryConfig: {table: p.d.t, writeMetadata: true}
      - name: files
        topic: plain
        ackDeadlineSeconds: 60
        cloudStorageConfig: {bucket: b-1, filenamePrefix: a/, maxDuration: 60s, maxMessages: '1000',
          avroConfig: {writeMetadata: true}}
  other:
    topics: [there]
"""
KINDS = {
    "schemas": schema.Schema,
    "topics": pubsub.Topic,
    "subscriptions": pubsub.Subscription,
}
PROJECTS = ["--projects", "demo,other"]


class Stage:
    """An emulator, and the command over it."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.emulator = Emulator().start()
        self.wire = Wire(self.emulator.host_port)
        self._capsys = capsys

    def export(self, *arguments: str) -> str:
        place = ["--host-port", self.emulator.host_port]
        if "--project" not in arguments:
            place += PROJECTS
        assert main(["export", *place, *arguments]) == 0
        return self._capsys.readouterr().out

    def apply(self, text: str, path: Path, status: int = 0) -> list[str]:
        path.write_text(text)
        arguments = ["apply", str(path), "--endpoint", self.emulator.host_port]
        assert main(arguments) == status, self._capsys.readouterr().err
        out, err = self._capsys.readouterr()
        return (err if status else out).splitlines()

    def close(self) -> None:
        self.wire.close()
        self.emulator.stop()


@pytest.fixture
def stage(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[], Stage]]:
    stages: list[Stage] = []

    def make() -> Stage:
        stages.append(Stage(capsys))
        return stages[-1]

    yield make
    for each in stages:
        each.close()


@pytest.fixture
def exported(stage: Callable[[], Stage], tmp_path: Path) -> Stage:
    made = stage()
    made.apply(FILE, tmp_path / "first.yaml")
    return made


def test_an_export_applied_to_a_fresh_one_exports_the_same(
    exported: Stage, stage: Callable[[], Stage], tmp_path: Path
) -> None:
    text = exported.export()
    fresh = stage()
    assert fresh.apply(text, tmp_path / "second.yaml") == [
        "created 2 schemas, 5 topics, 5 subscriptions"
    ]
    assert fresh.export() == text
    assert fresh.apply(text, tmp_path / "second.yaml") == ["no change"]
    for name in ("full", "files", "short-lived"):
        request = pubsub.GetSubscriptionRequest(subscription=f"projects/demo/subscriptions/{name}")
        assert fresh.wire("GetSubscription", request) == exported.wire("GetSubscription", request)


def test_defaults_and_what_is_only_shown_are_left_out(exported: Stage) -> None:
    text = exported.export("--project", "demo")
    assert "- plain\n" in text
    assert "    - name: plain-sub\n      topic: plain\n    - name" in text
    for word in ("state", "pushConfig", "topicMessageRetention", "604800s", "2678400s"):
        assert word not in text
    assert "expirationPolicy: {}" in text
    assert "ackDeadlineSeconds: 10" in text  # not what exactly-once delivery begins with


def test_texts_of_several_lines_are_written_line_by_line() -> None:
    definition = 'syntax = "proto3";\nmessage M {\n  string a = 1;\n}\n'
    name = "projects/demo/schemas/event"
    made = Export({"demo": [schema.Schema(name=name, type=1, definition=definition)]})
    text = export_yaml.write(made)
    assert '      definition: |\n        syntax = "proto3";\n        message M {\n' in text
    [wanted] = parse(text, "f.yaml").schemas
    assert (wanted.resource.definition, wanted.name) == (definition, name)


def test_what_cannot_be_made_again_is_a_remark(exported: Stage) -> None:
    wire = exported.wire
    subscription = "projects/demo/subscriptions/plain-sub"
    wire("CreateSnapshot", pubsub.CreateSnapshotRequest(
        name="projects/demo/snapshots/snap", subscription=subscription))  # fmt: skip
    wire("DetachSubscription", pubsub.DetachSubscriptionRequest(subscription=subscription))
    wire("DeleteTopic", pubsub.DeleteTopicRequest(topic="projects/demo/topics/dead"))
    wire("DeleteTopic", pubsub.DeleteTopicRequest(topic="projects/other/topics/there"))
    expected = [
        "# projects/demo/subscriptions/full: its dead-letter topic was deleted",
        "# projects/demo/subscriptions/plain-sub is left out: it is detached",
        "# projects/demo/subscriptions/short-lived is left out: its topic was deleted",
        "# projects/demo/snapshots/snap is left out: a snapshot cannot be made again",
    ]
    for form in ("yaml", "gcloud", "terraform"):
        lines = exported.export("--format", form).splitlines()
        assert [line for line in lines if line.startswith("# projects")] == expected


# --- Terraform -----------------------------------------------------------------------------------


def resources_of(text: str) -> dict[str, dict[str, Any]]:
    """What Terraform would ask the API for: full name -> fields, by their proto names."""
    tree = hcl2.load(io.StringIO(text))
    blocks = [
        (_bare(kind), _bare(label), content)
        for each in tree["resource"]
        for kind, labels in each.items()
        for label, content in labels.items()
    ]
    names = {
        f"{kind}.{label}": f"projects/{_bare(content['project'])}"
        f"/{kind.removeprefix('google_pubsub_')}s/{_bare(content['name'])}"
        for kind, label, content in blocks
    }
    found = {}
    for kind, label, content in blocks:
        fields = {key: _value(item, names) for key, item in content.items() if key != "project"}
        fields.pop("__is_block__", None)
        name = names[f"{kind}.{label}"]
        found[name] = {**fields, "name": name}
    return found


def _bare(text: Any) -> Any:
    """hcl2 leaves the quotes and the escapes in."""
    if not (isinstance(text, str) and text.startswith('"')):
        return text
    return json.loads(text).replace("$${", "${").replace("%%{", "%{")


def _value(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {_bare(key): _value(item, names) for key, item in value.items()
                if key != "__is_block__"}  # fmt: skip
    if isinstance(value, list):
        items = [_value(item, names) for item in value]
        # A block that may come once: hcl2 has a list of them.
        return items[0] if len(items) == 1 and isinstance(items[0], dict) else items
    if isinstance(value, str) and value.startswith("${") and value.endswith(".id}"):
        return names[value[2:-4]]
    return _bare(value)


def shown(wire: Wire, name: str) -> Any:
    """A resource's fields by their proto names."""
    if "/schemas/" in name:
        message = wire("GetSchema", schema.GetSchemaRequest(name=name))
    elif "/topics/" in name:
        message = wire("GetTopic", pubsub.GetTopicRequest(topic=name))
    else:
        message = wire("GetSubscription", pubsub.GetSubscriptionRequest(subscription=name))
    return json_format.MessageToDict(
        message, preserving_proto_field_name=True, descriptor_pool=POOL
    )


def test_terraform_reads_back_what_the_server_has(exported: Stage) -> None:
    text = exported.export("--format", "terraform")
    resources = resources_of(text)
    assert len(resources) == 12
    for name, fields in resources.items():
        # Text to resource and back, as the provider would ask for it.
        if fields.get("expiration_policy") == {"ttl": ""}:
            fields["expiration_policy"] = {}
        current = shown(exported.wire, name)
        kind = KINDS[name.split("/")[2]]
        asked = json_format.ParseDict(fields, kind(), descriptor_pool=POOL)
        as_dict = json_format.MessageToDict(
            asked, preserving_proto_field_name=True, descriptor_pool=POOL
        )
        for key, value in as_dict.items():
            if key in ("cloud_storage_config", "bigquery_config"):
                current[key].pop("state")
            assert current[key] == value, (name, key)
        left_out = current.keys() - as_dict.keys()
        assert left_out <= {
            "state", "push_config", "ack_deadline_seconds", "message_retention_duration",
            "expiration_policy", "topic_message_retention_duration",
            "revision_id", "revision_create_time",
        }  # fmt: skip


def test_terraform_is_written_by_its_rules(exported: Stage) -> None:
    text = exported.export("--format", "terraform", "--with-imports")
    assert 'ttl = ""' in text  # never expires
    assert 'minimum_backoff = "1.500s"' in text
    assert r"$${tricky} %%{text} \\\" and $$${more}\"" in text
    assert "topic = google_pubsub_topic.events_41.id" in text
    assert "topic = google_pubsub_topic.there.id" in text
    assert (
        "import {\n  to = google_pubsub_subscription.full\n"
        '  id = "projects/demo/subscriptions/full"\n}'
    ) in text
    alone = exported.export("--format", "terraform", "--project", "demo")
    assert 'topic = "projects/other/topics/there"' in alone  # of another project: its full name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", '"plain"'),
        ('say "x"\n\t\\', '"say \\"x\\"\\n\\t\\\\"'),
        ("${a} %{b} $ % {", '"$${a} %%{b} $ % {"'),
        ("\x01é", '"\\u0001é"'),
    ],
)
def test_terraform_texts_are_escaped(text: str, expected: str) -> None:
    assert hcl.text(text) == expected


def test_terraform_labels_are_valid_and_used_once() -> None:
    labels = hcl.Label()
    assert [labels.of("k", name) for name in ("a.b", "a_b", "a~b", "a-b")] == [
        "a_b", "a_b_2", "a_b_3", "a-b",
    ]  # fmt: skip


# --- gcloud --------------------------------------------------------------------------------------


def test_the_script_says_every_field_as_a_flag(exported: Stage) -> None:
    lines = exported.export("--format", "gcloud").splitlines()
    assert lines[:2] == ["#!/usr/bin/env bash", "set -euo pipefail"]
    [full] = [line for line in lines if " create full " in line]
    for flag in (
        "--project=demo", "--topic=projects/demo/topics/events%41", "--ack-deadline=10",
        "--expiration-period=never", "--min-retry-delay=1.500s", "--max-delivery-attempts=7",
        "--enable-exactly-once-delivery", "--dead-letter-topic=projects/demo/topics/dead",
        """--message-filter='attributes.kind = "${tricky}""",
    ):  # fmt: skip
        assert flag in full
    assert subprocess.run(["bash", "-n"], input="\n".join(lines), text=True).returncode == 0


@pytest.mark.gcloud
@pytest.mark.skipif(shutil.which("gcloud") is None, reason="gcloud is not installed")
def test_the_script_makes_the_same_resources(
    exported: Stage, stage: Callable[[], Stage], tmp_path: Path
) -> None:
    fresh = stage()
    environment = {
        **os.environ,
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB": f"http://{fresh.emulator.host_port}/",
        "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true",
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_CHECK_GCE_METADATA": "false",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "true",
        "CLOUDSDK_CONFIG": str(tmp_path / "gcloud"),
    }
    done = subprocess.run(
        ["bash"], input=exported.export("--format", "gcloud"), env=environment,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert fresh.export() == exported.export()


# --- the commands --------------------------------------------------------------------------------


def test_apply_tells_what_is_wrong_and_changes_nothing(
    stage: Callable[[], Stage], tmp_path: Path
) -> None:
    fresh = stage()
    wrong = FILE.replace("maxDeliveryAttempts: 7", "maxDeliveryAttempts: 2")
    [line] = fresh.apply(wrong, tmp_path / "wrong.yaml", status=1)
    assert line.startswith(f"{tmp_path / 'wrong.yaml'}:34: projects.demo.subscriptions[1].deadLett")
    assert fresh.export() == "projects: {}\n"


def test_apply_needs_somebody_who_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(FILE)
    assert main(["apply", str(file), "--endpoint", "http://127.0.0.1:1"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("pubsub-emulator apply: no emulator answers at http://127.0.0.1:1 (")


def test_export_needs_a_project(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("PUBSUB_PROJECT_ID", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    assert main(["export"]) == 2
    assert "which project?" in capsys.readouterr().err


def test_calls_are_the_http_requests_of_the_interface_files() -> None:
    topic = pubsub.Topic(name="projects/p/topics/a%b", labels={"a": "b"})
    assert http_call("CreateTopic", topic) == (
        "PUT", "/v1/projects/p/topics/a%25b", {"labels": {"a": "b"}},
    )  # fmt: skip
    update = pubsub.UpdateTopicRequest(topic=topic)
    update.update_mask.paths.append("message_retention_duration")
    assert http_call("UpdateTopic", update) == (
        "PATCH", "/v1/projects/p/topics/a%25b",
        {"topic": {"name": "projects/p/topics/a%b", "labels": {"a": "b"}},
         "updateMask": "messageRetentionDuration"},
    )  # fmt: skip
    page = pubsub.ListTopicsRequest(project="projects/p", page_size=2, page_token="x y")
    assert http_call("ListTopics", page) == (
        "GET", "/v1/projects/p/topics?pageSize=2&pageToken=x+y", None,
    )  # fmt: skip
