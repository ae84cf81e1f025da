"""Lists, their pages and their tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from emulator.api import pubsub
from emulator.engine.engine import Engine
from tests.engine.story import (
    TOPIC,
    Refusal,
    Story,
    attached,
    invalid,
    not_found,
    refusal_of,
    subscribe,
)
from tests.spec import spec

Page = tuple[Sequence[str], str]
Listing = Callable[[Engine, int, str], Page]


def list_topics(engine: Engine, size: int, token: str) -> Page:
    found, next_token = engine.topics.list("projects/p", size, token, now=0).value
    return [topic.name for topic in found], next_token


def list_subscriptions(engine: Engine, size: int, token: str) -> Page:
    found, next_token = engine.subscriptions.list("projects/p", size, token, now=0).value
    return [subscription.name for subscription in found], next_token


def list_topic_subscriptions(engine: Engine, size: int, token: str) -> Page:
    return engine.topics.list_subscriptions(TOPIC, size, token, now=0).value


LISTINGS = [list_topics, list_subscriptions, list_topic_subscriptions]
EACH_LISTING = pytest.mark.parametrize("listing", LISTINGS)
IDS = [f"id{number:03}" for number in range(250)]


def make(engine: Engine, listing: Listing, id: str) -> None:
    if listing is list_topics:
        engine.topics.create(pubsub.Topic(name=f"projects/p/topics/{id}"), now=0)
    else:
        given = pubsub.Subscription(name=f"projects/p/subscriptions/{id}", topic=TOPIC)
        engine.subscriptions.create(given, now=0)


def delete(engine: Engine, name: str) -> None:
    (engine.topics if "/topics/" in name else engine.subscriptions).delete(name, now=0)


def filled(listing: Listing, ids: Sequence[str] = IDS) -> Engine:
    """An engine whose list is `ids`, made in another order; the topic itself sorts last."""
    story = Story(is_empty=True)
    story.engine.topics.create(pubsub.Topic(name=TOPIC), now=0)
    for id in reversed(ids):
        make(story.engine, listing, id)
    return story.engine


def walk(engine: Engine, listing: Listing, size: int) -> list[list[str]]:
    pages, token = [], ""
    while True:
        found, token = listing(engine, size, token)
        pages.append([name.rpartition("/")[2] for name in found])
        if not token:
            return pages


@spec("LST-02", "LST-04", "LST-05", "LST-06", "LST-07")
@EACH_LISTING
@pytest.mark.parametrize(
    ("size", "lengths"),
    [(0, [100, 100, 50]), (1_000, [250]), (250, [250]), (249, [249, 1]), (125, [125, 125])],
)
def test_pages_hold_everything_once_in_order(
    listing: Listing, size: int, lengths: list[int]
) -> None:
    pages = walk(filled(listing), listing, size)
    names = [name for page in pages for name in page if name != "top"]
    assert names == IDS
    if listing is list_topics:
        pages[-1].remove("top")  # it makes a page of its own where the last one is full
        pages = [page for page in pages if page]
    assert [len(page) for page in pages] == lengths


@spec("LST-02", "LST-04")
@EACH_LISTING
def test_pages_of_one(listing: Listing) -> None:
    pages = walk(filled(listing, IDS[:5]), listing, 1)
    assert pages[:5] == [[id] for id in IDS[:5]]


@spec("LST-05")
@pytest.mark.parametrize("listing", [list_subscriptions, list_topic_subscriptions])
def test_an_empty_list_is_one_empty_page(listing: Listing) -> None:
    assert listing(filled(listing, []), 0, "") == ([], "")


@spec("LST-02", "ERR-28")
@EACH_LISTING
@pytest.mark.parametrize(
    ("size", "is_allowed"), [(-1, False), (0, True), (1, True), (1_000, True), (1_001, False)]
)
def test_page_size_is_0_to_1000(listing: Listing, size: int, is_allowed: bool) -> None:
    text = (
        f"The value for page_size is out of bounds. You passed {size} in the request, but the "
        "value must be between 0 and 1000."
    )
    refusal = refusal_of(lambda: listing(filled(listing, IDS[:3]), size, ""))
    assert refusal == (None if is_allowed else invalid(text))


def bad_token(token: str) -> Refusal:
    return invalid(f"Invalid page token given (token={token}).")


@spec("LST-03", "ERR-29")
@EACH_LISTING
@pytest.mark.parametrize("token", ["x", "junk", "AAAAAAAAAAAA", "é", "!!!!", "a" * 1_000, " "])
def test_a_token_that_was_never_given_is_refused(listing: Listing, token: str) -> None:
    assert refusal_of(lambda: listing(filled(listing, IDS[:3]), 1, token)) == bad_token(token)


@spec("LST-03", "ERR-29")
def test_a_token_of_another_list_is_refused() -> None:
    engine = filled(list_subscriptions, IDS[:3])
    make(engine, list_topics, "abc")
    tokens = {listing: listing(engine, 1, "")[1] for listing in LISTINGS}
    assert all(tokens.values())
    for listing in LISTINGS:
        for token in {tokens[other] for other in LISTINGS if other is not listing}:
            assert refusal_of(partial(listing, engine, 1, token)) == bad_token(token)


@spec("LST-03", "ERR-29")
def test_a_token_from_before_a_reset_is_refused() -> None:
    engine = filled(list_topics, IDS[:3])
    _, token = list_topics(engine, 1, "")
    engine.reset(nonce=b"another", now=0)
    assert refusal_of(lambda: list_topics(engine, 1, token)) == bad_token(token)


@spec("LST-03")
@EACH_LISTING
def test_tokens_are_safe_in_urls(listing: Listing) -> None:
    _, token = listing(filled(listing), 1, "")
    assert re.fullmatch(r"[A-Za-z0-9_-]+", token)


@spec("LST-04")
@EACH_LISTING
def test_a_token_outlives_the_item_at_its_boundary(listing: Listing) -> None:
    engine = filled(listing, IDS[:6])
    found, token = listing(engine, 3, "")
    delete(engine, found[-1])
    assert [name[-5:] for name in listing(engine, 3, token)[0]] == IDS[3:6]


@spec("LST-04", "LST-08")
@EACH_LISTING
def test_what_is_made_behind_a_token_appears_and_what_is_before_it_does_not(
    listing: Listing,
) -> None:
    engine = filled(listing, IDS[:6])
    _, token = listing(engine, 3, "")
    make(engine, listing, "id000x")
    make(engine, listing, "id003x")
    names = [name.rpartition("/")[2] for name in listing(engine, 4, token)[0]]
    assert names == ["id003", "id003x", "id004", "id005"]


@spec("LST-04", "LST-05")
@EACH_LISTING
def test_a_token_may_find_nothing_left(listing: Listing) -> None:
    engine = filled(listing, IDS[:6])
    _, token = listing(engine, 3, "")
    for name in listing(engine, 100, "")[0][3:]:
        if name != TOPIC:
            delete(engine, name)
    rest, last = listing(engine, 3, token)
    assert (list(rest), last) == ([TOPIC] if listing is list_topics else [], "")


@spec("LST-04")
@EACH_LISTING
def test_a_token_can_be_used_again_with_another_size(listing: Listing) -> None:
    engine = filled(listing, IDS[:6])
    _, token = listing(engine, 2, "")
    for size in (1, 3, 1):
        assert len(listing(engine, size, token)[0]) == size


@spec("LST-07", "NAM-10")
def test_lists_are_of_one_project() -> None:
    engine = filled(list_subscriptions, IDS[:2])
    for project in ("pp", "q"):
        topic = f"projects/{project}/topics/abc"
        engine.topics.create(pubsub.Topic(name=topic), now=0)
        name = f"projects/{project}/subscriptions/abc"
        engine.subscriptions.create(pubsub.Subscription(name=name, topic=topic), now=0)
    assert list_topics(engine, 0, "") == ([TOPIC], "")
    assert [name[-5:] for name in list_subscriptions(engine, 0, "")[0]] == IDS[:2]


@spec("LST-07")
def test_lists_hold_full_resources() -> None:
    engine = Story().engine
    [topic] = engine.topics.list("projects/p", 0, "", now=0).value[0]
    [subscription] = engine.subscriptions.list("projects/p", 0, "", now=0).value[0]
    assert topic == engine.topics.get(topic.name, now=0).value
    assert subscription == engine.subscriptions.get(subscription.name, now=0).value


@spec("LST-06", "SUB-01")
def test_subscriptions_of_other_projects_are_listed_with_their_topic() -> None:
    far = "projects/q/subscriptions/far"
    story = Story().play((0, subscribe(far)), (0, attached(), ["sub", "far"]))
    names, _ = list_topic_subscriptions(story.engine, 0, "")
    assert far in names


@spec("LST-06", "ERR-02", "LST-01")
def test_the_topic_of_a_list_must_exist() -> None:
    Story().play((0, attached("none"), not_found("none")))
