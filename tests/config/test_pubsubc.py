"""The conventions of public images around Google's emulator, as their pages describe them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from emulator.config.problems import ConfigError
from emulator.config.pubsubc import collect, of_file, of_variables
from emulator.config.resources import Resources
from emulator.config.sources import find


def shape(resources: Resources) -> dict[str, list[str]]:
    """Topics with their subscriptions, push endpoints behind an arrow."""
    found: dict[str, list[str]] = {wanted.name: [] for wanted in resources.topics}
    for wanted in resources.subscriptions:
        endpoint = wanted.resource.push_config.push_endpoint
        text = wanted.name + (f" -> {endpoint}" if endpoint else "")
        found[wanted.resource.topic].append(text)
    return found


def test_numbered_projects_with_topics_and_subscriptions() -> None:
    """The images of messagebird and marcelcorso, whose tool is pubsubc."""
    variables = {
        "PUBSUB_PROJECT1": "company-dev,invoices:invoice-calculator,"
        "chats:slack-out:irc-out,notifications",
        "PUBSUB_PROJECT2": "other,invoices",
        "PUBSUB_PROJECT4": "beyond,the-gap",
    }
    assert shape(of_variables(variables)) == {
        "projects/company-dev/topics/invoices": [
            "projects/company-dev/subscriptions/invoice-calculator"
        ],
        "projects/company-dev/topics/chats": [
            "projects/company-dev/subscriptions/slack-out",
            "projects/company-dev/subscriptions/irc-out",
        ],
        "projects/company-dev/topics/notifications": [],
        "projects/other/topics/invoices": [],
    }


def test_a_project_alone_and_a_comma_at_the_end_make_nothing() -> None:
    assert not of_variables({"PUBSUB_PROJECT1": "alone"})
    assert list(shape(of_variables({"PUBSUB_PROJECT1": "p,topic,"}))) == ["projects/p/topics/topic"]


def test_push_endpoints_in_variables_of_their_own() -> None:
    """An earlier form of the image of thekevjames."""
    variables = {
        "PUBSUB_PROJECT1": "dev,my-topic:pulled:pushed",
        "PUBSUB_PUSHENDPOINT_pushed": "http://localhost:3001/messages",
        "PUBSUB_PUSHENDPOINT_unknown": "http://localhost:1/",
    }
    assert shape(of_variables(variables))["projects/dev/topics/my-topic"] == [
        "projects/dev/subscriptions/pulled",
        "projects/dev/subscriptions/pushed -> http://localhost:3001/messages",
    ]


def test_push_endpoints_behind_a_plus_sign() -> None:
    """The image of matejciglenecki: `#` stands for the endpoint's colon."""
    variables = {"PUBSUB_PROJECT1": "my_project,topic_a:sub_a,topic_b:sub_b2+localhost#8030"}
    assert shape(of_variables(variables))["projects/my_project/topics/topic_b"] == [
        "projects/my_project/subscriptions/sub_b2 -> http://localhost:8030"
    ]


CONFIG = [
    {"topic": "topic1", "project": "project1"},
    {
        "topic": "topic2",
        "project": "project1",
        "subscriptions": [
            {"name": "old-way", "push_endpoint": "http://localhost:3001/messages"},
            {"name": "pulled", "ack_deadline_seconds": 33, "labels": {"a": "b"}},
            {
                "name": "new-way",
                "push_config": {"push_endpoint": "http://localhost:3002"},
                "dead_letter_policy": {"dead_letter_topic": "topic1"},
            },
        ],
    },
]


def test_the_json_list() -> None:
    """The image of thekevjames."""
    resources = of_file(json.dumps(CONFIG), "config.json")
    assert shape(resources) == {
        "projects/project1/topics/topic1": [],
        "projects/project1/topics/topic2": [
            "projects/project1/subscriptions/old-way -> http://localhost:3001/messages",
            "projects/project1/subscriptions/pulled",
            "projects/project1/subscriptions/new-way -> http://localhost:3002",
        ],
    }
    pulled = resources.subscriptions[1].resource
    assert (pulled.ack_deadline_seconds, dict(pulled.labels)) == (33, {"a": "b"})
    policy = resources.subscriptions[2].resource.dead_letter_policy
    assert policy.dead_letter_topic == "projects/project1/topics/topic1"


def test_the_file_wins_over_the_variables(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    variables = {"PUBSUB_PROJECT1": "p,from-variable", "PUBSUBC_CONFIG": str(file)}
    assert "projects/p/topics/from-variable" in shape(collect(variables))
    file.write_text(json.dumps(CONFIG))
    assert "projects/p/topics/from-variable" not in shape(collect(variables))
    assert "projects/project1/topics/topic1" in shape(collect(variables))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", "config.json:1: a list of topics is expected here"),
        ('[\n{"project": "p"}]', 'config.json:2: [0]: "topic" must be a text'),
        ('[\n{"project": "p", "topic": "t",\n"subs": []}]', "config.json:3: [0].subs: there is no"),
        (
            '[{"project": "p", "topic": "t", "subscriptions": [\n{"name": "s", "nope": 1}]}]',
            "config.json:2: [0].subscriptions[0].nope: there is no such field",
        ),
        (
            '[{"project": "p", "topic": "t", "subscriptions": [\n{}]}]',
            'config.json:2: [0].subscriptions[0]: "name" is missing',
        ),
        ("[1,]", "config.json:1: Expecting value"),
    ],
)
def test_what_is_wrong_in_the_list_is_named(text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        of_file(text, "config.json")
    assert str(caught.value).startswith(expected)


def test_a_missing_project_is_named() -> None:
    with pytest.raises(ConfigError, match="PUBSUB_PROJECT1: the project is missing"):
        of_variables({"PUBSUB_PROJECT1": ",topic"})


def test_without_a_word_there_are_no_sources() -> None:
    assert not find(None, {})
    assert not find(None, {"PUBSUB_PROJECT2": "p,t"})
    assert find(None, {"PUBSUB_PROJECT1": "p,t"}).pubsubc
    assert find(None, {"PUBSUB_EMULATOR_CONFIG": "a"}).file == "a"
    assert find("b", {"PUBSUB_EMULATOR_CONFIG": "a"}).file == "b"
