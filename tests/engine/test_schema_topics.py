"""Topics with schemas: who may publish what, and what subscribers see of it."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.api import pubsub
from emulator.api.rpc import ErrorInfo
from emulator.engine.values.errors import PubsubError
from tests.engine.schema_desk import NAME, Desk, avro, proto
from tests.engine.story import TOPIC, Refusal, invalid, refusal_of
from tests.spec import spec

OLD = b'{"a": "x"}'
NEW = b'{"a": "x", "b": "y"}'
FAILED = invalid("Invalid data in message: Message failed schema validation.")


def details(desk: Desk, *data: bytes) -> ErrorInfo:
    """What a refused publish says to programs."""
    try:
        desk.publish(*data)
    except PubsubError as error:
        [detail] = error.details
        info = ErrorInfo()
        assert detail.Unpack(info)
        return info
    raise AssertionError("not refused")


def desk_with(*, first: bool = False, last: bool = False) -> tuple[Desk, str, str]:
    """A topic whose schema has an old and a new revision, bounded by one of them or not."""
    desk = Desk()
    old = desk.create(avro("a")).revision_id
    new = desk.commit(avro("a", b="")).revision_id
    bounds = {"first_revision_id": new} if first else {}
    bounds |= {"last_revision_id": old} if last else {}
    desk.topic(**bounds)
    return desk, old, new


@spec("TOP-07", "SCH-15")
def test_settings_are_shown_as_they_were_given() -> None:
    desk = Desk()
    made = desk.create(avro("a"))
    created = desk.topic(first_revision_id=made.revision_id, last_revision_id=made.revision_id)
    assert created == desk.engine.topics.get(TOPIC, now=0).value
    assert created.schema_settings == pubsub.SchemaSettings(
        schema=NAME,
        encoding="JSON",
        first_revision_id=made.revision_id,
        last_revision_id=made.revision_id,
    )


@spec("TOP-07", "SCH-12", "NAM-18", "ERR-04")
@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        ({"schema": "projects/p/schemas/missing"},
         Refusal("NOT_FOUND", "Resource not found (resource=projects/p/schemas/missing).")),
        ({"schema": "projects/q/schemas/event"},
         Refusal("NOT_FOUND", "Resource not found (resource=projects/q/schemas/event).")),
        ({"first_revision_id": "00000000"},
         Refusal("NOT_FOUND", f"Resource not found (resource={NAME}@00000000).")),
        ({"last_revision_id": "nonsense"},
         Refusal("NOT_FOUND", f"Resource not found (resource={NAME}@nonsense).")),
        ({"encoding": 9}, invalid("You have passed an invalid argument to the service "
                                  "(argument=schema_settings.encoding).")),
    ],
)  # fmt: skip
def test_settings_that_name_what_is_not_there(settings: dict[str, Any], refused: Refusal) -> None:
    desk = Desk()
    desk.create(avro("a"))
    assert refusal_of(lambda: desk.topic(**settings)) == refused
    desk.topic()
    assert refusal_of(lambda: desk.change(**({"schema": NAME} | settings))) == refused
    assert desk.settings() == pubsub.SchemaSettings(schema=NAME, encoding="JSON")
    assert desk.publish(OLD)


@spec("NAM-18", "TOP-07")
@pytest.mark.parametrize("name", ["", "_deleted-schema_", "event", f"{NAME}@12345678"])
def test_settings_with_a_bad_name(name: str) -> None:
    desk = Desk()
    desk.create(avro("a"))
    refused = refusal_of(lambda: desk.topic(schema=name))
    assert refused is not None
    assert refused.text.startswith(f"Invalid resource name given (name={name}).")


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    desk = Desk()
    old, new = desk.create(avro("a")), desk.commit(avro("a"))
    refused = refusal_of(
        lambda: desk.topic(first_revision_id=new.revision_id, last_revision_id=old.revision_id)
    )
    assert refused is not None
    assert refused.code == "INVALID_ARGUMENT"


@spec("PUB-50", "PUB-03", "SCH-21", "ERR-60")
def test_one_bad_message_refuses_the_whole_request() -> None:
    desk = Desk()
    made = desk.create(avro("a"))
    desk.topic()
    subscription = desk.subscribe()
    assert refusal_of(lambda: desk.publish(OLD, b'{"b": 1}')) == FAILED
    info = details(desk, OLD, b'{"b": 1}')
    assert (info.reason, info.domain) == ("INVALID_JSON_AVRO_MESSAGE", "pubsub.googleapis.com")
    assert dict(info.metadata) == {
        "message": "Message failed schema validation",
        "revisionInfo": "Could not validate message with any schema revision for schema: "
        f"{NAME}, last checked revision: revision_id={made.revision_id} failed with status: "
        "Field was not found in JSON object: a",
        "messageIndex": "1",
    }
    assert desk.received(subscription) == []
    desk.publish(OLD)
    assert [each.data for each in desk.received(subscription)] == [OLD]


@spec("SCH-21")
@pytest.mark.parametrize(
    ("given", "encoding", "reason"),
    [
        (avro("a"), "JSON", "INVALID_JSON_AVRO_MESSAGE"),
        (avro("a"), "BINARY", "INVALID_BINARY_AVRO_MESSAGE"),
        (proto("string a = 1"), "JSON", "INVALID_JSON_PROTO_MESSAGE"),
        (proto("string a = 1"), "BINARY", "INVALID_BINARY_PROTO_MESSAGE"),
    ],
    ids=lambda each: each if isinstance(each, str) else None,
)
def test_reasons(given: Any, encoding: str, reason: str) -> None:
    desk = Desk()
    desk.create(given)
    desk.topic(encoding=encoding)
    assert details(desk, b"\xff").reason == reason


@spec("SCH-40", "PUB-51", "SCH-16")
@pytest.mark.parametrize(
    ("given", "encoding", "payload"),
    [
        (avro("a"), "JSON", OLD),
        (avro("a"), "BINARY", b"\x02x"),
        (proto("string a = 1"), "JSON", OLD),
        (proto("string a = 1"), "BINARY", b"\x0a\x01x"),
    ],
    ids=["avro json", "avro binary", "protobuf json", "protobuf binary"],
)
def test_accepted_messages_say_what_they_fit(given: Any, encoding: str, payload: bytes) -> None:
    desk = Desk()
    made = desk.create(given)
    desk.topic(encoding=encoding)
    subscription = desk.subscribe()
    desk.publish(payload)
    [received] = desk.received(subscription)
    assert received.data == payload
    assert dict(received.attributes) == {
        "k": "v",
        "googclient_schemaencoding": encoding,
        "googclient_schemaname": NAME,
        "googclient_schemarevisionid": made.revision_id,
    }


@spec("SCH-12")
def test_an_encoding_that_is_not_said_is_json() -> None:
    desk = Desk()
    desk.create(avro("a"))
    desk.topic(encoding=0)
    assert desk.settings().encoding == 0
    subscription = desk.subscribe()
    desk.publish(OLD)
    assert desk.received(subscription)[0].attributes["googclient_schemaencoding"] == "JSON"
    assert refusal_of(lambda: desk.publish(b"\x02x")) == FAILED


@spec("SCH-40")
def test_the_attributes_count_in_filters_and_not_in_the_limit() -> None:
    desk = Desk()
    made = desk.create(avro("a"))
    desk.topic()
    wanted = f'attributes.googclient_schemarevisionid = "{made.revision_id}"'
    subscription = desk.subscribe(filter=wanted)
    message = pubsub.PubsubMessage(data=OLD, attributes={f"k{n}": "v" for n in range(100)})
    request = pubsub.PublishRequest(topic=TOPIC, messages=[message])
    desk.engine.publish(request, request.SerializeToString(), now=0)
    [received] = desk.received(subscription)
    assert len(received.attributes) == 103
    newer = desk.commit(avro("a"))
    desk.publish(OLD)
    assert newer.revision_id != made.revision_id
    assert desk.received(subscription) == []


@spec("SCH-41", "ERR-57")
@pytest.mark.parametrize(
    "key", ["googclient_schemaencoding", "googclient_schemaname", "googclient_schemarevisionid"]
)
def test_publishers_may_not_set_them(key: str) -> None:
    desk = Desk()
    desk.create(avro("a"))
    desk.topic()
    request = pubsub.PublishRequest(
        topic=TOPIC, messages=[pubsub.PubsubMessage(data=OLD, attributes={key: "x"})]
    )
    refused = refusal_of(lambda: desk.engine.publish(request, request.SerializeToString(), now=0))
    assert refused is not None
    assert key in refused.text


@spec("SCH-22")
def test_empty_data_is_an_empty_payload() -> None:
    desk = Desk()
    desk.create(proto("string a = 1"))
    desk.topic(encoding="BINARY")
    assert desk.publish(b"")
    desk.change("schema_settings.encoding", encoding="JSON")
    assert refusal_of(lambda: desk.publish(b"")) == FAILED


# --- revisions ---


@spec("SCH-20")
def test_without_bounds_every_revision_is_allowed_newest_first() -> None:
    desk, old, new = desk_with()
    subscription = desk.subscribe()
    desk.publish(OLD, NEW)
    ids = [each.attributes["googclient_schemarevisionid"] for each in desk.received(subscription)]
    assert ids == [old, new]
    newest = desk.rollback(old).revision_id  # committed later, and within an open end
    desk.publish(NEW)  # which the old one takes too: fields too many are no fault (AVR-06)
    [received] = desk.received(subscription)
    assert received.attributes["googclient_schemarevisionid"] == newest


@spec("SCH-20")
def test_bounds_are_inclusive() -> None:
    desk, _, _ = desk_with(first=True)
    assert desk.publish(NEW)
    assert refusal_of(lambda: desk.publish(OLD)) == FAILED
    desk, old, _ = desk_with(last=True)
    subscription = desk.subscribe()
    desk.publish(OLD, NEW)
    ids = {each.attributes["googclient_schemarevisionid"] for each in desk.received(subscription)}
    assert ids == {old}


@spec("SCH-20")
def test_a_revision_behind_the_last_is_not_allowed() -> None:
    desk = Desk()
    first = desk.create(proto("string a = 1"))
    desk.commit(proto("string a = 1", "string b = 2"))
    desk.topic(last_revision_id=first.revision_id)
    assert desk.publish(OLD)
    assert refusal_of(lambda: desk.publish(NEW)) == FAILED
    desk.change("schema_settings.last_revision_id", schema=NAME)
    assert desk.publish(NEW)


@spec("SCH-21")
def test_the_oldest_is_the_last_that_is_checked() -> None:
    desk, old, _ = desk_with()
    info = details(desk, b"{}")
    assert f"last checked revision: revision_id={old} failed" in info.metadata["revisionInfo"]


@spec("SCH-23")
def test_bounds_go_on_when_their_revisions_are_gone() -> None:
    desk = Desk()
    revisions = [desk.create(avro("a"))]
    revisions += [desk.commit(avro("a", **{letter: ""})) for letter in "bcd"]
    desk.topic(
        first_revision_id=revisions[1].revision_id, last_revision_id=revisions[2].revision_id
    )
    desk.delete_revision(revisions[1].revision_id)
    assert desk.publish(b'{"a": "x", "c": "y"}')
    assert refusal_of(lambda: desk.publish(b'{"a": "x", "b": "y"}')) == FAILED
    assert desk.settings().first_revision_id == revisions[1].revision_id
    # The settings may be sent again as they are shown, though the revision is gone.
    desk.change("schema_settings.encoding", encoding="JSON", schema=NAME)
    assert desk.publish(b'{"a": "x", "c": "y"}')
    desk.delete_revision(revisions[2].revision_id)
    assert refusal_of(lambda: desk.publish(b'{"a": "x", "c": "y"}')) == FAILED
    info = details(desk, OLD)
    assert "no revision is left" in info.metadata["revisionInfo"]
    assert info.reason == "INVALID_JSON_AVRO_MESSAGE"


@spec("SCH-07", "SCH-08", "SCH-20")
def test_rollbacks_and_deletions_take_effect_at_once() -> None:
    desk, _, new = desk_with(first=True)
    assert refusal_of(lambda: desk.publish(OLD)) == FAILED
    old = desk.revisions()[0][-1].revision_id
    desk.rollback(old)
    assert desk.publish(OLD)
    desk.delete_revision(desk.get().revision_id)
    assert refusal_of(lambda: desk.publish(OLD)) == FAILED
    assert desk.get().revision_id == new


# --- settings changed, schema gone ---


@spec("SCH-15", "UPD-05")
def test_a_schema_is_put_on_changed_and_taken_off() -> None:
    desk = Desk()
    desk.create(avro("a"))
    desk.create(proto("string b = 1"), "other")
    desk.engine.topics.create(pubsub.Topic(name=TOPIC), now=0)
    assert desk.publish(b"anything")
    desk.change(schema=NAME, encoding="JSON")
    assert refusal_of(lambda: desk.publish(b"anything")) == FAILED
    desk.change(schema="projects/p/schemas/other", encoding="JSON")
    assert refusal_of(lambda: desk.publish(OLD)) == FAILED
    assert desk.publish(b'{"b": "x"}')
    desk.change("labels")
    assert refusal_of(lambda: desk.publish(OLD)) == FAILED
    assert not desk.change().HasField("schema_settings")
    assert desk.publish(b"anything")


@spec("SCH-15", "TOP-07")
def test_a_schema_may_be_of_another_project() -> None:
    desk = Desk()
    desk.create(avro("a"))
    desk.topic("projects/q/topics/top")
    assert desk.publish(OLD, topic="projects/q/topics/top")
    assert refusal_of(lambda: desk.publish(b"{}", topic="projects/q/topics/top")) == FAILED


@spec("SCH-09", "NAM-18")
def test_a_deleted_schema_is_shown_and_nothing_can_be_published() -> None:
    desk = Desk()
    made = desk.create(avro("a"))
    desk.topic(first_revision_id=made.revision_id)
    desk.delete()
    assert desk.settings() == pubsub.SchemaSettings(
        schema="_deleted-schema_", encoding="JSON", first_revision_id=made.revision_id
    )
    gone = Refusal("NOT_FOUND", "Schema associated with topic deleted.")
    assert refusal_of(lambda: desk.publish(OLD)) == gone
    desk.create(avro("a"))  # another of the same name is another
    assert refusal_of(lambda: desk.publish(OLD)) == gone
    assert desk.settings().schema == "_deleted-schema_"
    desk.change(schema=NAME, encoding="JSON")
    assert desk.publish(OLD)


@spec("DLQ-03", "SCH-41")
def test_a_dead_letter_keeps_them() -> None:
    desk = Desk()
    made = desk.create(avro("a"))
    desk.topic()
    dead = "projects/p/topics/dead"
    desk.engine.topics.create(pubsub.Topic(name=dead), now=0)
    subscription = desk.subscribe(dead_letter_policy={"dead_letter_topic": dead})
    desk.engine.subscriptions.create(
        pubsub.Subscription(name="projects/p/subscriptions/dead", topic=dead), now=0
    )
    desk.publish(OLD)
    for _ in range(5):
        [leased] = desk.engine.lease(subscription, 1, now=0).value
        outcome = desk.engine.modify_ack_deadline(subscription, [leased.ack_id], 0, now=0)
    [effect] = [each for each in outcome.effects if hasattr(each, "content")]
    desk.engine.forward(effect, now=0)  # type: ignore[arg-type]
    [received] = desk.received("projects/p/subscriptions/dead")
    assert received.attributes["googclient_schemarevisionid"] == made.revision_id
