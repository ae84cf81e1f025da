"""Administration over the wire: updates, lists, policies, detachment, and projects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

from emulator.api import iam, pubsub
from emulator.server import Options
from emulator.service import features
from emulator.testing import Emulator
from tests.inside import Inside
from tests.service.streams import RawStream, lease_ends_in_s
from tests.service.test_features import set_field
from tests.spec import spec
from tests.wire import HANG_LIMIT_S, Names, Wire, data, refusal, until

INVALID = grpc.StatusCode.INVALID_ARGUMENT
FAILED_PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION


@pytest.fixture
def subscription(wire: Wire, names: Names) -> str:
    wire.create(names.topic(), names.subscription())
    return names.subscription()


def update_topic(wire: Wire, name: str, paths: list[str], **fields: Any) -> pubsub.Topic:
    request = pubsub.UpdateTopicRequest(
        topic={"name": name, **fields}, update_mask={"paths": paths}
    )
    updated: pubsub.Topic = wire("UpdateTopic", request)
    return updated


def update_subscription(
    wire: Wire, name: str, paths: list[str], **fields: Any
) -> pubsub.Subscription:
    request = pubsub.UpdateSubscriptionRequest(
        subscription={"name": name, **fields}, update_mask={"paths": paths}
    )
    updated: pubsub.Subscription = wire("UpdateSubscription", request)
    return updated


def get_topic(wire: Wire, name: str) -> pubsub.Topic:
    topic: pubsub.Topic = wire("GetTopic", pubsub.GetTopicRequest(topic=name))
    return topic


def get_subscription(wire: Wire, name: str) -> pubsub.Subscription:
    request = pubsub.GetSubscriptionRequest(subscription=name)
    subscription: pubsub.Subscription = wire("GetSubscription", request)
    return subscription


# --- updates ---


@spec("UPD-01", "UPD-02", "UPD-05", "UPD-08")
def test_a_topic_is_updated_by_mask(wire: Wire, names: Names) -> None:
    wire("CreateTopic", pubsub.Topic(name=names.topic(), labels={"a": "1", "b": "1"}))
    updated = update_topic(wire, names.topic(), ["labels"], labels={"b": "2"})
    assert updated == pubsub.Topic(name=names.topic(), labels={"b": "2"})
    assert updated == get_topic(wire, names.topic())
    assert update_topic(wire, names.topic(), ["labels"]) == pubsub.Topic(name=names.topic())


@spec("UPD-01", "UPD-02", "UPD-06", "UPD-08", "SUB-13")
def test_a_subscription_is_updated_by_mask(wire: Wire, subscription: str) -> None:
    before = get_subscription(wire, subscription)
    updated = update_subscription(
        wire,
        subscription,
        ["labels", "expiration_policy"],
        labels={"a": "1"},
        expiration_policy={},
        ack_deadline_seconds=42,  # not in the mask
    )
    assert dict(updated.labels) == {"a": "1"}
    assert not updated.expiration_policy.HasField("ttl")
    assert updated.ack_deadline_seconds == before.ack_deadline_seconds
    assert updated == get_subscription(wire, subscription)
    assert update_subscription(wire, subscription, ["labels", "expiration_policy"]) == before


@spec("UPD-01", "UPD-03", "UPD-04", "ERR-25", "ERR-26", "ERR-27")
@pytest.mark.parametrize("paths", [[], ["nothing"], ["ackDeadlineSeconds"], ["name"], ["topic"]])
def test_bad_masks_are_refused(wire: Wire, subscription: str, paths: list[str]) -> None:
    error = refusal(lambda: update_subscription(wire, subscription, paths, labels={"a": "1"}))
    assert error.code() is INVALID
    assert "UpdateSubscriptionRequest" in error.details()


@spec("UPD-09", "ERR-10")
def test_a_refused_update_changes_nothing(wire: Wire, subscription: str) -> None:
    before = get_subscription(wire, subscription)
    paths = ["labels", "ack_deadline_seconds"]
    error = refusal(
        lambda: update_subscription(
            wire, subscription, paths, labels={"a": "1"}, ack_deadline_seconds=9
        )
    )
    assert error.code() is INVALID
    assert get_subscription(wire, subscription) == before


#: Fields of subscriptions that may be updated, but are not built.
REFUSED = [
    feature.what
    for feature in features.REFUSED
    if feature.where == "google.pubsub.v1.Subscription"
    and feature.what not in ("filter", "enable_message_ordering")
]


@spec("UPD-06")
@pytest.mark.parametrize("path", REFUSED)
def test_what_is_not_built_is_refused_only_where_the_mask_names_it(
    wire: Wire, subscription: str, path: str
) -> None:
    before = get_subscription(wire, subscription)
    given = pubsub.Subscription(name=subscription, labels={"a": "1"})
    set_field(given, path)
    field = path.partition(".")[0]

    def update(*paths: str) -> pubsub.Subscription:
        request = pubsub.UpdateSubscriptionRequest(subscription=given, update_mask={"paths": paths})
        updated: pubsub.Subscription = wire("UpdateSubscription", request)
        return updated

    assert refusal(lambda: update(field, "labels")).code() is grpc.StatusCode.UNIMPLEMENTED
    assert get_subscription(wire, subscription) == before
    updated = update("labels")
    assert dict(updated.labels) == {"a": "1"}
    assert getattr(updated, field) == getattr(before, field)
    assert update_subscription(wire, subscription, [field, "labels"]) == before


@spec("UPD-06", "DLV-20", "SUB-04")
def test_a_new_ack_deadline_holds_for_pulls_and_leaves_open_streams_alone(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    with RawStream(wire, subscription) as stream:
        update_subscription(wire, subscription, ["ack_deadline_seconds"], ack_deadline_seconds=10)
        wire.publish(names.topic(), b"streamed")
        [streamed] = stream.receive(1)
        assert lease_ends_in_s(inside, subscription, streamed.ack_id) > 10
    until(lambda: inside.waiting(subscription) == 0)
    wire.publish(names.topic(), b"pulled")
    [pulled] = wire.pull(subscription)
    assert lease_ends_in_s(inside, subscription, pulled.ack_id) <= 10


@spec("UPD-06", "PUL-04", "ERR-40")
def test_an_export_can_become_a_pull_subscription_again(
    wire: Wire, names: Names, subscription: str
) -> None:
    config = {"bigquery_config": {"table": "p.d.t"}}
    update_subscription(wire, subscription, ["bigquery_config"], **config)
    wire.publish(names.topic(), b"meanwhile")
    error = refusal(lambda: wire.pull(subscription))
    assert error.code() is FAILED_PRECONDITION
    update_subscription(wire, subscription, ["bigquery_config"])
    assert data(wire.pull(subscription)) == [b"meanwhile"]


# --- detachment ---


def detach(wire: Wire, name: str) -> pubsub.DetachSubscriptionResponse:
    request = pubsub.DetachSubscriptionRequest(subscription=name)
    response: pubsub.DetachSubscriptionResponse = wire("DetachSubscription", request)
    return response


def attached(wire: Wire, topic: str) -> list[str]:
    request = pubsub.ListTopicSubscriptionsRequest(topic=topic)
    return list(wire("ListTopicSubscriptions", request).subscriptions)


@spec("SUB-21", "PUL-04", "STR-03", "ERR-41", "LST-06")
def test_a_detached_subscription(
    wire: Wire, names: Names, subscription: str, inside: Inside
) -> None:
    wire.publish(names.topic(), b"leased", b"waiting")
    leased = wire.pull(subscription, 1)
    assert detach(wire, subscription) == pubsub.DetachSubscriptionResponse()
    assert detach(wire, subscription) == pubsub.DetachSubscriptionResponse()
    shown = get_subscription(wire, subscription)
    assert (shown.detached, shown.topic) == (True, names.topic())
    assert attached(wire, names.topic()) == []
    project = pubsub.ListSubscriptionsRequest(project=f"projects/{names.project}")
    [listed] = wire("ListSubscriptions", project).subscriptions
    assert listed == shown
    wire.acknowledge(subscription, leased)
    wire.modify(subscription, leased, 0)
    wire.publish(names.topic(), b"later")
    for pull in (wire.pull, wire.peek):
        assert refusal(lambda pull=pull: pull(subscription)).code() is FAILED_PRECONDITION
    assert RawStream(wire, subscription).end()[0] is FAILED_PRECONDITION
    wire("DeleteSubscription", pubsub.DeleteSubscriptionRequest(subscription=subscription))
    error = refusal(lambda: get_subscription(wire, subscription))
    assert error.code() is grpc.StatusCode.NOT_FOUND


@spec("SUB-21", "ERR-02", "ERR-01")
@pytest.mark.parametrize(("leaf", "code"), [("nothing", grpc.StatusCode.NOT_FOUND), ("x", INVALID)])
def test_what_is_detached_must_exist(
    wire: Wire, names: Names, leaf: str, code: grpc.StatusCode
) -> None:
    assert refusal(lambda: detach(wire, names.subscription(leaf))).code() is code


# --- lists ---


class Listing:
    """One kind of list, asked over the wire."""

    def __init__(self, method: str, request: Callable[..., Any], field: str) -> None:
        self._method = method
        self._request = request
        self._field = field

    def page(self, wire: Wire, parent: str, **paging: Any) -> tuple[list[str], str]:
        response = wire(self._method, self._request(parent, **paging))
        found = getattr(response, self._field)
        names = [each if isinstance(each, str) else each.name for each in found]
        return names, response.next_page_token


LISTINGS = {
    "topics": Listing(
        "ListTopics", lambda p, **more: pubsub.ListTopicsRequest(project=p, **more), "topics"
    ),
    "subscriptions": Listing(
        "ListSubscriptions",
        lambda p, **more: pubsub.ListSubscriptionsRequest(project=p, **more),
        "subscriptions",
    ),
    "a topic's subscriptions": Listing(
        "ListTopicSubscriptions",
        lambda t, **more: pubsub.ListTopicSubscriptionsRequest(topic=t, **more),
        "subscriptions",
    ),
}


@pytest.fixture(params=LISTINGS)
def listed(request: pytest.FixtureRequest, wire: Wire, names: Names) -> tuple[Listing, str]:
    """A kind of list with five items, and its parent."""
    parent = names.topic("t-0") if "topic's" in request.param else f"projects/{names.project}"
    for number in range(5):
        wire("CreateTopic", pubsub.Topic(name=names.topic(f"t-{number}")))
        given = pubsub.Subscription(
            name=names.subscription(f"s-{number}"), topic=names.topic("t-0")
        )
        wire("CreateSubscription", given)
    return LISTINGS[request.param], parent


@spec("LST-02", "LST-03", "LST-04", "LST-05", "LST-06", "LST-07")
def test_pages_hold_everything_once(wire: Wire, listed: tuple[Listing, str]) -> None:
    listing, parent = listed
    everything, end = listing.page(wire, parent)
    assert (len(everything), end) == (5, "")
    assert everything == sorted(everything)
    found: list[str] = []
    token, pages = "", 0
    while pages == 0 or token:
        page, token = listing.page(wire, parent, page_size=2, page_token=token)
        found += page
        pages += 1
    assert (found, pages) == (everything, 3)


@spec("LST-02", "ERR-28")
@pytest.mark.parametrize("size", [-1, 1_001])
def test_page_sizes_out_of_bounds(wire: Wire, listed: tuple[Listing, str], size: int) -> None:
    listing, parent = listed
    error = refusal(lambda: listing.page(wire, parent, page_size=size))
    assert error.code() is INVALID
    assert error.details() == (
        f"The value for page_size is out of bounds. You passed {size} in the request, but the "
        "value must be between 0 and 1000."
    )


@spec("LST-03", "ERR-29")
def test_tokens_of_nothing_and_of_another_list(
    wire: Wire, names: Names, listed: tuple[Listing, str]
) -> None:
    listing, parent = listed
    foreign = [
        other.page(wire, names.topic("t-0") if "topic's" in kind else f"projects/{names.project}",
                   page_size=1)[1]
        for kind, other in LISTINGS.items()
        if other is not listing
    ]  # fmt: skip
    for token in ("garbage", "=", "é", *foreign):
        error = refusal(lambda token=token: listing.page(wire, parent, page_token=token))
        assert error.code() is INVALID
        assert error.details() == f"Invalid page token given (token={token})."


@spec("LST-06", "NAM-03")
def test_subscriptions_of_other_projects_are_listed_with_their_topic(
    wire: Wire, names: Names
) -> None:
    wire.create(names.topic(), names.subscription())
    elsewhere = f"projects/{names.project}-else/subscriptions/subscription"
    wire("CreateSubscription", pubsub.Subscription(name=elsewhere, topic=names.topic()))
    assert sorted(attached(wire, names.topic())) == sorted([names.subscription(), elsewhere])
    request = pubsub.ListSubscriptionsRequest(project=f"projects/{names.project}")
    found = wire("ListSubscriptions", request).subscriptions
    assert [each.name for each in found] == [names.subscription()]


# --- policies ---

BINDING = {"role": "roles/pubsub.viewer", "members": ["allUsers"]}


def get_policy(wire: Wire, resource: str) -> iam.Policy:
    policy: iam.Policy = wire("GetIamPolicy", iam.GetIamPolicyRequest(resource=resource))
    return policy


def set_policy(wire: Wire, resource: str, **fields: Any) -> iam.Policy:
    request = iam.SetIamPolicyRequest(resource=resource, policy=iam.Policy(**fields))
    policy: iam.Policy = wire("SetIamPolicy", request)
    return policy


def permitted(wire: Wire, resource: str, *permissions: str) -> list[str]:
    request = iam.TestIamPermissionsRequest(resource=resource, permissions=permissions)
    return list(wire("TestIamPermissions", request).permissions)


@spec("IAM-01", "IAM-02", "IAM-03", "IAM-04", "IAM-05", "ERR-83")
@pytest.mark.parametrize("collection", ["topics", "subscriptions"])
def test_a_policys_life(wire: Wire, names: Names, subscription: str, collection: str) -> None:
    resource = names.topic() if collection == "topics" else subscription
    empty = get_policy(wire, resource)
    assert (empty.version, list(empty.bindings), empty.etag) == (0, [], b"\x00\x20\x01")
    stored = set_policy(wire, resource, bindings=[BINDING], etag=empty.etag)
    assert stored == get_policy(wire, resource)
    assert (stored.version, list(stored.bindings)) == (1, [iam.Binding(**BINDING)])
    error = refusal(lambda: set_policy(wire, resource, etag=empty.etag))
    assert error.code() is grpc.StatusCode.ABORTED
    assert get_policy(wire, resource) == stored
    assert permitted(wire, resource, "pubsub.topics.get", "x.y.z") == [
        "pubsub.topics.get",
        "x.y.z",
    ]
    replaced = set_policy(wire, resource)
    assert list(replaced.bindings) == []
    assert replaced.etag != stored.etag


@spec("IAM-01", "IAM-04", "IAM-05", "ERR-02")
@pytest.mark.parametrize("collection", ["topics", "subscriptions", "snapshots", "schemas"])
def test_policies_of_what_is_missing(wire: Wire, names: Names, collection: str) -> None:
    resource = f"projects/{names.project}/{collection}/nothing"
    for call in (get_policy, set_policy):
        error = refusal(lambda call=call: call(wire, resource))
        assert error.code() is grpc.StatusCode.NOT_FOUND
    assert permitted(wire, resource, "pubsub.topics.get") == []


# --- projects ---


@pytest.fixture(scope="module")
def choosy_wire() -> Iterator[Wire]:
    """A server for which one project exists, `good`."""
    options = Options(hosts=("127.0.0.1",), port=0, projects=frozenset({"good"}))
    with Emulator(options) as emulator:
        wire = Wire(emulator.host_port)
        wire.create("projects/good/topics/topic", "projects/good/subscriptions/subscription")
        yield wire
        wire.close()


BAD = "projects/bad"
GOOD_TOPIC = "projects/good/topics/topic"
CALLS: dict[str, Any] = {
    "CreateTopic": pubsub.Topic(name=f"{BAD}/topics/topic"),
    "UpdateTopic": pubsub.UpdateTopicRequest(
        topic={"name": f"{BAD}/topics/topic"}, update_mask={"paths": ["labels"]}
    ),
    "GetTopic": pubsub.GetTopicRequest(topic=f"{BAD}/topics/topic"),
    "ListTopics": pubsub.ListTopicsRequest(project=BAD),
    "ListTopicSubscriptions": pubsub.ListTopicSubscriptionsRequest(topic=f"{BAD}/topics/topic"),
    "DeleteTopic": pubsub.DeleteTopicRequest(topic=f"{BAD}/topics/topic"),
    "Publish": pubsub.PublishRequest(topic=f"{BAD}/topics/topic", messages=[{"data": b"x"}]),
    "CreateSubscription": pubsub.Subscription(name=f"{BAD}/subscriptions/sub", topic=GOOD_TOPIC),
    "UpdateSubscription": pubsub.UpdateSubscriptionRequest(
        subscription={"name": f"{BAD}/subscriptions/sub"}, update_mask={"paths": ["labels"]}
    ),
    "GetSubscription": pubsub.GetSubscriptionRequest(subscription=f"{BAD}/subscriptions/sub"),
    "ListSubscriptions": pubsub.ListSubscriptionsRequest(project=BAD),
    "DeleteSubscription": pubsub.DeleteSubscriptionRequest(subscription=f"{BAD}/subscriptions/sub"),
    "DetachSubscription": pubsub.DetachSubscriptionRequest(subscription=f"{BAD}/subscriptions/sub"),
    "Pull": pubsub.PullRequest(subscription=f"{BAD}/subscriptions/sub", max_messages=1),
    "GetIamPolicy": iam.GetIamPolicyRequest(resource=f"{BAD}/topics/topic"),
    "SetIamPolicy": iam.SetIamPolicyRequest(resource=f"{BAD}/topics/topic"),
}
UNKNOWN_PROJECT = (
    "Requested project not found or user does not have access to it (project=bad). Make sure to "
    "specify the unique project identifier and not the Google Cloud Console display name."
)


@spec("NAM-16", "ERR-05")
@pytest.mark.parametrize("method", CALLS)
def test_a_project_off_the_list_is_unknown(choosy_wire: Wire, method: str) -> None:
    error = refusal(lambda: choosy_wire(method, CALLS[method]))
    assert (error.code(), error.details()) == (grpc.StatusCode.NOT_FOUND, UNKNOWN_PROJECT)


@spec("NAM-16", "ERR-05", "STR-03")
def test_a_stream_in_a_project_off_the_list(choosy_wire: Wire) -> None:
    stream = RawStream(choosy_wire, f"{BAD}/subscriptions/sub")
    assert stream.end() == (grpc.StatusCode.NOT_FOUND, UNKNOWN_PROJECT)


@spec("NAM-16", "IAM-05")
def test_a_project_on_the_list_works_as_ever(choosy_wire: Wire) -> None:
    subscription = "projects/good/subscriptions/subscription"
    call = choosy_wire.start_pull(subscription)
    choosy_wire.publish(GOOD_TOPIC, b"x")
    assert data(call.result(HANG_LIMIT_S).received_messages) == [b"x"]
    assert permitted(choosy_wire, GOOD_TOPIC, "a.b.c") == ["a.b.c"]
    assert permitted(choosy_wire, f"{BAD}/topics/topic", "a.b.c") == []
