"""Bringing resources about: all or nothing, in order, and again without harm."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from emulator.api import pubsub
from emulator.config.applying import Plan, apply
from emulator.config.document import parse
from emulator.config.problems import ConfigError
from emulator.config.target import InProcess
from emulator.service.core import Core
from emulator.service.service import Service
from tests.spec import spec

FILE = """
projects:
  demo:
    messages:
      - {topic: events, text: first}
    subscriptions:
      - name: events-sub
        topic: events
        ackDeadlineSeconds: 30
        labels: {a: b}
        deadLetterPolicy: {deadLetterTopic: dead}
    topics:
      - name: events
        labels: {env: test}
      - dead
"""


class World:
    """A service, and what is done to it."""

    def __init__(self) -> None:
        self.core = Core()
        self.target = InProcess(Service(self.core).handlers)

    async def apply(self, text: str = FILE, make_core: Callable[[], Core] = Core) -> Plan:
        return await apply(parse(text, "f.yaml"), self.target, make_core)

    async def topics(self) -> list[str]:
        request = pubsub.ListTopicsRequest(project="projects/demo")
        answer = await self.target.call("ListTopics", request)
        return [topic.name.rpartition("/")[2] for topic in answer.topics]

    async def subscription(self, name: str = "events-sub") -> Any:
        request = pubsub.GetSubscriptionRequest(subscription=f"projects/demo/subscriptions/{name}")
        return await self.target.call("GetSubscription", request)

    async def pulled(self, name: str = "events-sub") -> list[bytes]:
        request = pubsub.PullRequest(
            subscription=f"projects/demo/subscriptions/{name}",
            max_messages=10,
            return_immediately=True,
        )
        answer = await self.target.call("Pull", request)
        return [received.message.data for received in answer.received_messages]


def run(story: Callable[[World], Awaitable[None]]) -> None:
    async def play() -> None:
        world = World()
        try:
            await story(world)
        finally:
            world.core.close()

    asyncio.run(play())


def test_all_is_made_in_an_order_that_works() -> None:
    async def story(world: World) -> None:
        plan = await world.apply()
        assert plan.summary() == "created 2 topics, 1 subscription; published 1 message"
        subscription = await world.subscription()
        assert subscription.ack_deadline_seconds == 30
        assert subscription.dead_letter_policy.max_delivery_attempts == 5  # SUB-09: filled in
        assert await world.pulled() == [b"first"]

    run(story)


def test_the_second_time_nothing_is_done() -> None:
    async def story(world: World) -> None:
        await world.apply()
        plan = await world.apply()
        assert (plan.summary(), plan.same) == ("", 3)
        assert await world.pulled() == [b"first"]

    run(story)


def test_what_differs_is_updated_and_what_is_new_is_made() -> None:
    async def story(world: World) -> None:
        await world.apply()
        changed = FILE.replace("ackDeadlineSeconds: 30", "ackDeadlineSeconds: 40")
        changed = changed.replace("        labels: {a: b}\n", "").replace(
            "- dead", "- dead\n      - new"
        )
        plan = await world.apply(changed)
        assert plan.summary() == "created 1 topic; updated events-sub"
        subscription = await world.subscription()
        assert subscription.ack_deadline_seconds == 40
        assert dict(subscription.labels) == {}
        assert await world.topics() == ["dead", "events", "new"]

    run(story)


@spec("SUB-04", "UPD-02")
def test_a_default_of_creation_comes_back_by_an_update() -> None:
    """Exactly-once delivery begins with 60 s; an update that resets the deadline gives 10 s."""
    text = FILE.replace("ackDeadlineSeconds: 30", "enableExactlyOnceDelivery: true")

    async def story(world: World) -> None:
        await world.apply(text)
        subscription = await world.subscription()
        assert subscription.ack_deadline_seconds == 60
        subscription.ack_deadline_seconds = 99
        update = pubsub.UpdateSubscriptionRequest(subscription=subscription)
        update.update_mask.paths.append("ack_deadline_seconds")
        await world.target.call("UpdateSubscription", update)
        assert (await world.apply(text)).summary() == "updated events-sub"
        assert (await world.subscription()).ack_deadline_seconds == 60
        assert (await world.apply(text)).summary() == ""

    run(story)


def test_what_is_no_longer_wanted_stays() -> None:
    async def story(world: World) -> None:
        await world.apply()
        await world.apply("projects: {demo: {topics: [events]}}".replace("[events]", "[other]"))
        assert await world.topics() == ["dead", "events", "other"]

    run(story)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("Seconds: 30", "Seconds: 5", ":9: projects.demo.subscriptions[0].ackDeadlineSeconds: Inv"),
        ("Topic: dead}", "Topic: gone}", ":11: projects.demo.subscriptions[0].deadLetterPolicy: R"),
        ("topic: events\n", "topic: gone\n", ":8: projects.demo.subscriptions[0].topic: Resource"),
        ("topic: events,", "topic: gone,", ":5: projects.demo.messages[0]: Resource not found"),
        ("name: events\n", "name: ev\n", ":13: projects.demo.topics[0].name: Invalid resource"),
        ("{env: test}", "{1: test}", ":14: projects.demo.topics[0].labels: "),
    ],
)
def test_what_the_rules_refuse_is_named_and_nothing_is_made(
    old: str, new: str, expected: str
) -> None:
    async def story(world: World) -> None:
        with pytest.raises(ConfigError) as caught:
            await world.apply(FILE.replace(old, new))
        assert any(f"f.yaml{expected}" in line for line in str(caught.value).splitlines())
        assert await world.topics() == []

    run(story)


def test_several_wrong_fields_of_one_resource_are_all_named() -> None:
    async def story(world: World) -> None:
        wrong = FILE.replace("Seconds: 30", "Seconds: 5").replace("Topic: dead}", "Topic: gone}")
        with pytest.raises(ConfigError) as caught:
            await world.apply(wrong)
        assert [problem.place.line for problem in caught.value.problems] == [9, 11]

    run(story)


@spec("SUB-11")
def test_only_a_combination_can_be_wrong() -> None:
    """Each backoff may be what it is, but not the one more than the other."""

    async def story(world: World) -> None:
        policy = "labels: {a: b}\n        retryPolicy: {minimumBackoff: 60s, maximumBackoff: 30s}"
        with pytest.raises(ConfigError, match=r"f\.yaml:11: .*\.retryPolicy: "):
            await world.apply(FILE.replace("labels: {a: b}", policy))

    run(story)


@spec("UPD-06")
@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("labels: {a: b}", "enableMessageOrdering: true", "enable_message_ordering"),
        ("labels: {a: b}", "filter: 'attributes:a'", "filter"),
        ("topic: events\n", "topic: dead\n", "topic"),
    ],
)
def test_what_cannot_be_changed_is_named_and_nothing_is_changed(
    old: str, new: str, field: str
) -> None:
    async def story(world: World) -> None:
        await world.apply()
        changed = FILE.replace(old, new).replace("{env: test}", "{env: other}")
        with pytest.raises(ConfigError) as caught:
            await world.apply(changed)
        assert f'"{field}" of an existing subscription cannot be changed' in str(caught.value)
        request = pubsub.GetTopicRequest(topic="projects/demo/topics/events")
        assert (await world.target.call("GetTopic", request)).labels["env"] == "test"

    run(story)


SCHEMAS = """
projects:
  demo:
    topics: [{name: events, schemaSettings: {schema: event, encoding: JSON}}]
    subscriptions: [{name: events-sub, topic: events}]
    messages: [{topic: events, json: {a: b}}]
    schemas:
      - name: event
        type: AVRO
        definition: '{"type": "record", "name": "E", "fields": [{"name": "a", "type": "string"}]}'
"""


def test_schemas_come_before_their_topics() -> None:
    async def story(world: World) -> None:
        plan = await world.apply(SCHEMAS)
        assert plan.summary() == ("created 1 schema, 1 topic, 1 subscription; published 1 message")
        assert await world.pulled() == [b'{"a": "b"}']
        assert (await world.apply(SCHEMAS)).summary() == ""
        more = SCHEMAS.replace("{a: b}", "{a: b, c: 1}").replace(
            '"string"}]', '"string"}, {"name": "c", "type": "int", "default": 0}]'
        )
        assert (await world.apply(more)).summary() == "updated event"
        assert (await world.apply(more)).summary() == ""

    run(story)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"string"}]', '"nope"}]', ":10: projects.demo.schemas[0].definition: "),
        ("{a: b}", "{a: 1}", ":6: projects.demo.messages[0]: "),
        ("schema: event", "schema: gone", ":4: projects.demo.topics[0].schemaSettings: "),
    ],
)
def test_what_schemas_refuse_is_named(old: str, new: str, expected: str) -> None:
    async def story(world: World) -> None:
        with pytest.raises(ConfigError) as caught:
            await world.apply(SCHEMAS.replace(old, new))
        assert any(f"f.yaml{expected}" in line for line in str(caught.value).splitlines())
        assert await world.topics() == []

    run(story)


def test_resources_may_refer_to_what_exists_already() -> None:
    async def story(world: World) -> None:
        await world.apply("projects: {other: {topics: [there]}}")
        text = (
            "projects: {demo: {subscriptions: [{name: far, topic: projects/other/topics/there}]}}"
        )
        assert (await world.apply(text)).summary() == "created 1 subscription"

    run(story)


@spec("NAM-16")
def test_only_projects_that_exist_get_resources() -> None:
    async def story(world: World) -> None:
        with pytest.raises(ConfigError, match="demo"):
            await world.apply(make_core=lambda: Core(frozenset({"only-this"})))

    run(story)


def test_a_trial_pushes_nothing_and_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def story(world: World) -> None:
        await world.apply("projects: {demo: {topics: [{name: key, tags: {123/a: b}}]}}")

    run(story)
    assert len([record for record in caplog.records if "tags" in record.getMessage()]) == 1
