"""Files of start-up resources: what they mean, and what is wrong with them in which line."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from emulator.config.document import load, parse
from emulator.config.problems import ConfigError
from emulator.config.resources import Resources
from emulator.config.yaml_text import read
from scripts.generate_config_schema import build, text

EVERY_KIND = """
projects:
  demo:
    schemas:
      - name: event
        type: AVRO
        definition: '{"type": "string"}'
    topics:
      - plain
      - name: events
        labels: {env: test}
        messageRetentionDuration: 600s
        schema_settings: {schema: event, encoding: JSON}
      - name: dead
        message_storage_policy:
          allowed_persistence_regions: [europe-west1, us-east1]
    subscriptions:
      - name: events-sub
        topic: events
        ack_deadline_seconds: 30
        enableMessageOrdering: true
        expirationPolicy: {}
        dead_letter_policy:
          {dead_letter_topic: projects/other/topics/dead, max_delivery_attempts: 7}
        retry_policy: {minimum_backoff: 1.5s}
      - name: projects/demo/subscriptions/full
        topic: projects/other/topics/there
    messages:
      - {topic: events, text: grüße, attributes: {a: b}, orderingKey: k}
      - {topic: plain, data: AAE=}
      - {topic: plain, json: {on: yes, at: 12:30, n: 1.5, none: ~}}
  other:
    topics: [dead, there]
"""


def problems_of(text: str, file: str = "f.yaml") -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(text, file)
    return str(caught.value).splitlines()


def names(resources: Resources) -> list[str]:
    return [wanted.name for wanted in resources.all()]


def test_every_kind_is_read_with_all_its_fields() -> None:
    resources = parse(EVERY_KIND, "f.yaml")
    assert names(resources) == [
        "projects/demo/schemas/event",
        "projects/demo/topics/plain",
        "projects/demo/topics/events",
        "projects/demo/topics/dead",
        "projects/other/topics/dead",
        "projects/other/topics/there",
        "projects/demo/subscriptions/events-sub",
        "projects/demo/subscriptions/full",
    ]
    events, subscription = resources.topics[1].resource, resources.subscriptions[0].resource
    assert events.message_retention_duration.seconds == 600
    assert events.schema_settings.schema == "projects/demo/schemas/event"
    assert dict(events.labels) == {"env": "test"}
    assert subscription.topic == "projects/demo/topics/events"
    assert subscription.enable_message_ordering
    assert subscription.HasField("expiration_policy")  # never expires: there, and empty
    assert subscription.dead_letter_policy.dead_letter_topic == "projects/other/topics/dead"
    assert subscription.retry_policy.minimum_backoff.nanos == 500_000_000
    assert [(seed.topic.rpartition("/")[2], seed.message.data) for seed in resources.seeds] == [
        ("events", "grüße".encode()),
        ("plain", b"\x00\x01"),
        ("plain", b'{"on": "yes", "at": "12:30", "n": 1.5, "none": null}'),
    ]


def test_a_resource_knows_where_its_fields_are() -> None:
    [wanted] = parse(EVERY_KIND, "f.yaml").subscriptions[:1]
    assert str(wanted.place_of("enable_message_ordering")) == (
        "f.yaml:21: projects.demo.subscriptions[0].enableMessageOrdering"
    )


@pytest.mark.parametrize(
    "nothing", ["", "# nothing\n", "projects:\n", "projects: {demo: }\n", "{}"]
)
def test_a_file_may_want_nothing(nothing: str) -> None:
    assert not parse(nothing, "f.yaml")


def test_json_is_read_with_tabs_and_escaped_characters() -> None:
    text = (
        '{"projects": {"demo": {\n\t"messages": [\n\t\t{"topic": "t", "text": "\\ud83d\\ude00"}]}}}'
    )
    [seed] = parse(text, "f.json").seeds
    assert seed.message.data == "😀".encode()
    assert seed.place.line == 3


SUB = "projects.demo.subscriptions"
ITEM = "projects:\n  demo:\n    subscriptions:\n      - name: sub\n        topic: t\n        "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("project: {}", "f.yaml:1: project: there is no such key"),
        ("- a", "f.yaml:1: an object is expected here"),
        ("projects:\n  demo:\n    topic: [a]", "f.yaml:3: projects.demo.topic: there is no"),
        ("projects:\n  demo:\n    topics: a", "f.yaml:3: projects.demo.topics: a list is expected"),
        ("projects:\n  demo:\n    topics:\n    - labels: {}", '[0]: "name" is missing'),
        ("projects:\n  demo:\n    subscriptions:\n    - name: s", f':4: {SUB}[0]: "topic" is'),
        (ITEM + "labels: {a: 1}", f':6: {SUB}[0].labels.a: 1 is not a text; put it in quotes: "1"'),
        (ITEM + "labels: [a]", "subscriptions[0].labels: an object is expected"),
        (
            ITEM + "ackDeadline: 10",
            'ackDeadline: there is no such field; did you mean "ackDeadlineSeconds"?',
        ),
        (
            ITEM + "ackDeadlineSeconds: soon",
            f':6: {SUB}[0].ackDeadlineSeconds: "soon" is not a number',
        ),
        (ITEM + "ackDeadlineSeconds: 99999999999", "99999999999 is not a number"),
        (
            ITEM + "retry_policy:\n          minimum_backoff: 10",
            f':7: {SUB}[0].retry_policy.minimum_backoff: 10 is not a duration like "600s"',
        ),
        (ITEM + "retry_policy: fast", "retry_policy: an object is expected"),
        (ITEM + "enableMessageOrdering: maybe", '"maybe" is not true or false'),
        (
            ITEM + "ackDeadlineSeconds: 10\n        ack_deadline_seconds: 11",
            f':7: {SUB}[0].ack_deadline_seconds: the same field as "ackDeadlineSeconds"',
        ),
        (
            ITEM + "filter: a\n        filter: b",
            'f.yaml:7: "filter" is given twice, first in line 6',
        ),
        (
            ITEM + "cloudStorageConfig: {textConfig: {}, avroConfig: {}}",
            'avroConfig: not together with "text_config"',
        ),
        (ITEM + "bigqueryConfig: {state: FINE}", '"FINE" is not one of STATE_UNSPECIFIED, ACTIVE'),
        (ITEM + "filter: !!binary aGk=", "the tag tag:yaml.org,2002:binary means nothing here"),
        (ITEM + "filter: [a", "f.yaml:6: expected ',' or ']'"),
        (ITEM + "labels: &a {x: *a}", "aliases make this endless"),
        (
            "projects:\n  demo:\n    topics: [abc, abc]",
            "topics[1].name: projects/demo/topics/abc is there already, in line 3",
        ),
        (
            "projects:\n  demo:\n    messages:\n    - text: a",
            ":4: projects.demo.messages[0].topic: the topic's name",
        ),
        (
            "projects:\n  demo:\n    messages:\n    - {topic: t, text: a, json: b}",
            'json: not together with "text"',
        ),
        (
            "projects:\n  demo:\n    messages:\n    - {topic: t, data: hello!}",
            '"hello!" is not base64 text; plain text goes into "text"',
        ),
    ],
)
def test_what_is_wrong_is_named_with_line_and_field(text: str, expected: str) -> None:
    [problem] = problems_of(text)
    assert expected in problem


def test_all_that_is_wrong_is_told_at_once() -> None:
    text = ITEM + "ackDeadlineSeconds: x\n        labels: 1\n      - name: other\n        topik: t"
    assert [problem.split(" ")[0] for problem in problems_of(text)] == [
        "f.yaml:6:",
        "f.yaml:7:",
        "f.yaml:9:",
    ]


def test_a_wrong_json_file_is_told_as_such() -> None:
    [problem] = problems_of('{\n"projects": {},\n}', "f.json")
    assert problem.startswith("f.json:3: ")


def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read: No such file"):
        load("none.yaml")


def test_parts_can_be_shared_by_anchors_and_merged() -> None:
    text = """
projects:
  demo:
    topics: [t]
    subscriptions:
      - &usual {name: one, topic: t, ackDeadlineSeconds: 20, filter: 'attributes:a'}
      - <<: *usual
        name: two
        filter: 'attributes:b'
"""
    first, second = (wanted.resource for wanted in parse(text, "f.yaml").subscriptions)
    assert (first.ack_deadline_seconds, second.ack_deadline_seconds) == (20, 20)
    assert (second.name.rpartition("/")[2], second.filter) == ("two", "attributes:b")


def plain(text: str) -> Any:
    def bare(node: Any) -> Any:
        value = node.value
        if isinstance(value, dict):
            return {key: bare(child) for key, child in value.items()}
        return [bare(child) for child in value] if isinstance(value, list) else value

    return bare(read(text, "f.yaml"))


def test_editors_accept_what_the_reader_accepts() -> None:
    validator = jsonschema.Draft202012Validator(build())
    validator.check_schema(build())
    assert list(validator.iter_errors(plain(EVERY_KIND))) == []
    for wrong in (ITEM + "ackDeadline: 10", ITEM + "labels: {a: 1}", "project: {}"):
        assert list(validator.iter_errors(plain(wrong))), wrong


def test_the_shipped_schema_is_the_generated_one() -> None:
    from scripts.generate_config_schema import PATH

    assert json.loads(PATH.read_text()) == json.loads(text())
