"""Names of resources and projects, in every operation that takes one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from emulator.api import pubsub
from emulator.engine.engine import Engine
from emulator.engine.values import names
from tests.engine.story import (
    SUBSCRIPTION,
    TOPIC,
    Refusal,
    Story,
    invalid,
    not_found,
    refusal_of,
)
from tests.spec import spec


def bad_name(name: str) -> Refusal:
    return invalid(
        f"Invalid resource name given (name={name}). Refer to "
        "https://cloud.google.com/pubsub/docs/pubsub-basics#resource_names for more information."
    )


def unknown_project(project: str) -> Refusal:
    return Refusal(
        "NOT_FOUND",
        f"Requested project not found or user does not have access to it (project={project}). "
        "Make sure to specify the unique project identifier and not the Google Cloud Console "
        "display name.",
    )


GOOD_IDS = [
    "abc", "a" * 255, "Zz-_.~+%9", "mi-t%C3%B3pico", "xgoog", "gooXfoo", "goo", "abc.", "a--",
]  # fmt: skip
BAD_IDS = [
    "", "ab", "a" * 256, "1abc", "-abc", "_abc", "%abc", "goog", "goog-probe", "GOOGfoo",
    "GoOgle-topic", "bad$character", "with space", "mi-tópico", "a/bc", "abc\n", "ابج",
]  # fmt: skip
BAD_SHAPES = [
    "", "abc", "projects/p", "projects/p/{collection}", "projects/p/{collection}/abc/def",
    "/projects/p/{collection}/abc", "projects//{collection}/abc", "Projects/p/{collection}/abc",
    "projects/p/schemas/abc", "projects/p/{collection}s/abc", "project/p/{collection}/abc",
    "projects/a b/{collection}/abc",
]  # fmt: skip


def publish_to(engine: Engine, name: str) -> object:
    request = pubsub.PublishRequest(topic=name, messages=[pubsub.PubsubMessage(data=b"x")])
    return engine.publish(request, request.SerializeToString(), now=0)


Operation = Callable[[Engine, str], object]
ON_TOPICS: dict[str, Operation] = {
    "create": lambda e, name: e.topics.create(pubsub.Topic(name=name), now=0),
    "get": lambda e, name: e.topics.get(name, now=0),
    "delete": lambda e, name: e.topics.delete(name, now=0),
    "list subscriptions": lambda e, name: e.topics.list_subscriptions(name, 0, "", now=0),
    "publish": publish_to,
    "subscribe": lambda e, name: e.subscriptions.create(
        pubsub.Subscription(name="projects/p/subscriptions/new", topic=name), now=0
    ),
}
ON_SUBSCRIPTIONS: dict[str, Operation] = {
    "create": lambda e, name: e.subscriptions.create(
        pubsub.Subscription(name=name, topic=TOPIC), now=0
    ),
    "get": lambda e, name: e.subscriptions.get(name, now=0),
    "delete": lambda e, name: e.subscriptions.delete(name, now=0),
    "lease": lambda e, name: e.lease(name, 1, now=0),
    "lease of nothing": lambda e, name: e.lease(name, 0, now=0),
    "acknowledge": lambda e, name: e.acknowledge(name, ["id"], now=0),
    "acknowledge nothing": lambda e, name: e.acknowledge(name, [], now=0),
    "modify deadline": lambda e, name: e.modify_ack_deadline(name, ["id"], 999, now=0),
}
BOTH = [
    *(pytest.param("topics", do, id=f"topic: {what}") for what, do in ON_TOPICS.items()),
    *(
        pytest.param("subscriptions", do, id=f"subscription: {what}")
        for what, do in ON_SUBSCRIPTIONS.items()
    ),
]


@spec("NAM-12", "NAM-13", "NAM-15", "ERR-01", "ERR-90")
@pytest.mark.parametrize(("collection", "operation"), BOTH)
def test_bad_names_are_refused_everywhere(collection: str, operation: Operation) -> None:
    bad = [f"projects/p/{collection}/{id}" for id in BAD_IDS]
    bad += [shape.format(collection=collection) for shape in BAD_SHAPES]
    if operation is ON_SUBSCRIPTIONS["create"]:
        bad.remove("")  # NAM-19: it gets a name
    engine = Story().engine
    for name in bad:
        assert refusal_of(partial(operation, engine, name)) == bad_name(name)


@spec("NAM-12", "NAM-13", "NAM-14")
@pytest.mark.parametrize("id", GOOD_IDS)
def test_good_ids_are_taken_as_they_are(id: str) -> None:
    engine = Story().engine
    topic, subscription = f"projects/p/topics/{id}", f"projects/p/subscriptions/{id}"
    engine.topics.create(pubsub.Topic(name=topic), now=0)
    engine.subscriptions.create(pubsub.Subscription(name=subscription, topic=topic), now=0)
    assert engine.topics.get(topic, now=0).value.name == topic
    assert engine.subscriptions.get(subscription, now=0).value.name == subscription


@spec("NAM-14")
def test_percent_signs_are_not_decoded() -> None:
    engine = Story().engine
    engine.topics.create(pubsub.Topic(name="projects/p/topics/a%62c"), now=0)
    assert refusal_of(lambda: engine.topics.get("projects/p/topics/abc", now=0)) == not_found("abc")


@spec("NAM-10")
def test_collections_are_separate_name_spaces() -> None:
    engine = Story().engine
    engine.subscriptions.create(
        pubsub.Subscription(name="projects/p/subscriptions/top", topic=TOPIC), now=0
    )
    engine.topics.delete(TOPIC, now=0)
    assert engine.subscriptions.get("projects/p/subscriptions/top", now=0).value


@spec("NAM-11", "NAM-16", "NAM-17", "GEN-05")
@pytest.mark.parametrize("project", ["p", "test", "my-project-1", "123456789", "example.com:id"])
def test_any_project_exists_on_first_use(project: str) -> None:
    engine = Engine(nonce=b"nonce")
    name = f"projects/{project}/topics/abc"
    assert refusal_of(lambda: engine.topics.get(name, now=0)) == not_found("abc")
    assert engine.topics.list(f"projects/{project}", 0, "", now=0).value == ([], "")
    engine.topics.create(pubsub.Topic(name=name), now=0)
    assert engine.projects() == [project]


VALUES_FIRST = {ON_SUBSCRIPTIONS["lease of nothing"], ON_SUBSCRIPTIONS["acknowledge nothing"]}


@spec("NAM-16", "ERR-05", "ERR-90", "GEN-05")
@pytest.mark.parametrize(
    ("collection", "operation"), [both for both in BOTH if both.values[1] not in VALUES_FIRST]
)
def test_a_project_outside_the_allow_list_is_not_found(
    collection: str, operation: Operation
) -> None:
    engine = Engine(nonce=b"nonce", allowed_projects=frozenset({"p"}))
    engine.topics.create(pubsub.Topic(name=TOPIC), now=0)
    name = f"projects/q/{collection}/abc"
    assert refusal_of(lambda: operation(engine, name)) == unknown_project("q")


def list_topics(engine: Engine, name: str) -> object:
    return engine.topics.list(name, 0, "", now=0).value[0]


def list_subscriptions(engine: Engine, name: str) -> object:
    return engine.subscriptions.list(name, 0, "", now=0).value[0]


EACH_LISTING = pytest.mark.parametrize("listing", [list_topics, list_subscriptions])


@spec("NAM-16", "ERR-05")
@EACH_LISTING
def test_only_projects_in_the_allow_list_can_be_listed(listing: Operation) -> None:
    engine = Engine(nonce=b"nonce", allowed_projects=frozenset({"p"}))
    engine.topics.create(pubsub.Topic(name=TOPIC), now=0)
    engine.subscriptions.create(pubsub.Subscription(name=SUBSCRIPTION, topic=TOPIC), now=0)
    assert listing(engine, "projects/p")
    assert refusal_of(lambda: listing(engine, "projects/q")) == unknown_project("q")


@spec("NAM-16", "ERR-05")
def test_the_allow_list_holds_after_a_reset() -> None:
    engine = Engine(nonce=b"nonce", allowed_projects=frozenset({"p"}))
    engine.reset(nonce=b"another", now=0)
    far = pubsub.Topic(name="projects/q/topics/abc")
    assert refusal_of(lambda: engine.topics.create(far, now=0)) == unknown_project("q")
    engine.topics.create(pubsub.Topic(name=TOPIC), now=0)


@spec("NAM-15", "LST-07", "ERR-01")
@EACH_LISTING
@pytest.mark.parametrize("name", ["", "p", "projects", "projects/", "projects/p/topics", "x/p"])
def test_lists_want_the_full_name_of_a_project(listing: Operation, name: str) -> None:
    assert refusal_of(lambda: listing(Story().engine, name)) == bad_name(name)


@spec("NAM-19")
def test_a_subscription_without_a_name_gets_one_in_the_project_of_its_topic() -> None:
    engine = Story().engine
    nameless = pubsub.Subscription(topic=TOPIC)
    made = [engine.subscriptions.create(nameless, now=0).value.name for _ in range(20)]
    assert len(set(made)) == 20
    assert {names.check(name, names.SUBSCRIPTIONS) for name in made} == {"p"}
    for name in made:
        assert engine.subscriptions.get(name, now=0).value.name == name


@spec("NAM-19")
def test_a_given_name_is_never_generated_again() -> None:
    engine = Story().engine
    nameless = pubsub.Subscription(topic=TOPIC)
    first = engine.subscriptions.create(nameless, now=0).value.name
    stem, _, number = first.rpartition("-")
    for offset in range(1, 6):
        taken = pubsub.Subscription(name=f"{stem}-{int(number) + offset}", topic=TOPIC)
        engine.subscriptions.create(taken, now=0)
    made = {engine.subscriptions.create(nameless, now=0).value.name for _ in range(10)}
    assert len(made) == 10


@spec("NAM-19", "NAM-15", "ERR-01")
def test_a_topic_without_a_name_is_refused() -> None:
    engine = Story().engine
    assert refusal_of(lambda: engine.topics.create(pubsub.Topic(), now=0)) == bad_name("")
