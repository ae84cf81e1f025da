"""Schemas: made, shown, revised, rolled back, deleted."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from emulator.api import iam, schema
from emulator.engine.resources.events import ResourceGone, RevisionAdded, RevisionGone
from emulator.engine.values.limits import SCHEMA_DEFINITION_BYTES
from tests.engine.schema_desk import NAME, PARENT, Desk, avro, compile_it, proto
from tests.engine.story import Refusal, invalid, refusal_of
from tests.spec import spec

BAD_NAME = (
    "Invalid resource name given (name={}). Refer to "
    "https://cloud.google.com/pubsub/docs/pubsub-basics#resource_names for more information."
)


def not_found(name: str) -> Refusal:
    return Refusal("NOT_FOUND", f"Resource not found (resource={name}).")


def argument(what: str) -> Refusal:
    return invalid(f"You have passed an invalid argument to the service (argument={what}).")


@spec("SCH-01", "SCH-02", "SCH-13", "NAM-20")
@pytest.mark.parametrize("given", [avro("a"), proto("string a = 1")], ids=["avro", "protobuf"])
def test_a_schema_is_made_with_its_first_revision(given: schema.Schema) -> None:
    desk = Desk()
    desk.now_s = 5
    given.name, given.revision_id = "ignored", "ignored"
    made = desk.create(given)
    assert (made.name, made.type, made.definition) == (NAME, given.type, given.definition)
    assert re.fullmatch(r"[0-9a-f]{8}", made.revision_id)
    assert made.revision_create_time.ToSeconds() == 5
    assert desk.get() == made == desk.get(f"{NAME}@{made.revision_id}")


@spec("SCH-13")
def test_revision_ids_are_repeatable_and_never_the_same() -> None:
    def ids() -> list[str]:
        desk = Desk()
        made = [desk.create(avro("a"), f"leaf{number}") for number in range(300)]
        return [each.revision_id for each in made]

    assert ids() == ids()
    assert len(set(ids())) == 300


@spec("SCH-02", "NAM-12", "NAM-15", "ERR-01")
@pytest.mark.parametrize(
    "leaf", ["", "ab", "1st", "goog-x", "a" * 256, "a/b", "ev@12345678", "ä" * 3]
)
def test_bad_ids(leaf: str) -> None:
    refused = refusal_of(lambda: Desk().create(avro("a"), leaf))
    assert refused == invalid(BAD_NAME.format(f"{PARENT}/schemas/{leaf}"))


@spec("SCH-02", "ERR-03")
def test_a_name_can_be_taken_once() -> None:
    desk = Desk()
    made = desk.create(avro("a"))
    assert refusal_of(lambda: desk.create(avro("b"))) == Refusal(
        "ALREADY_EXISTS", f"Resource already exists in the project (resource={NAME})."
    )
    assert desk.get() == made


@spec("SCH-01", "SCH-17", "SCH-14")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (schema.Schema(definition='"string"'), "schema.type"),
        (schema.Schema(type=9, definition='"string"'), "schema.type"),
        (
            schema.Schema(type="AVRO", compiled_proto_schema={"root_message": "M"}),
            "schema.type: compiled_proto_schema needs PROTOCOL_BUFFER",
        ),
        (
            schema.Schema(
                type="PROTOCOL_BUFFER",
                definition="message M {}",
                compiled_proto_schema={"root_message": "M", "compiled_bytes": b"x"},
            ),
            "schema: definition and compiled_proto_schema are both set",
        ),
        (
            schema.Schema(type="PROTOCOL_BUFFER", compiled_proto_schema={"root_message": "M"}),
            "schema.compiled_proto_schema: a part is missing",
        ),
        (
            schema.Schema(type="PROTOCOL_BUFFER", compiled_proto_schema={"compiled_bytes": b"x"}),
            "schema.compiled_proto_schema: a part is missing",
        ),
    ],
)
def test_what_is_not_worth_compiling(given: schema.Schema, said: str) -> None:
    engine = Desk().engine
    for call in (
        lambda: engine.schemas.check_new(PARENT, "event", given, now=0),
        lambda: engine.schemas.check_new_definition(PARENT, given, now=0),
    ):
        assert refusal_of(call) == argument(said)


@spec("SCH-14")
@pytest.mark.parametrize("kind", ["AVRO", "PROTOCOL_BUFFER"])
def test_a_definition_may_have_300_kb(kind: str) -> None:
    engine = Desk().engine
    given = schema.Schema(type=kind, definition="ä" * (SCHEMA_DEFINITION_BYTES // 2))
    engine.schemas.check_new(PARENT, "event", given, now=0)
    given.definition += "x"
    refused = refusal_of(lambda: engine.schemas.check_new(PARENT, "event", given, now=0))
    assert refused == invalid(
        "The value for definition_size is too large. You passed 300001 in the request, but the "
        "maximum value is 300000."
    )


@spec("SCH-14")
def test_a_compiled_definition_may_have_300_kb() -> None:
    engine = Desk().engine
    compiled = {"root_message": "M", "compiled_bytes": b"x" * SCHEMA_DEFINITION_BYTES}
    given = schema.Schema(type="PROTOCOL_BUFFER", compiled_proto_schema=compiled)
    engine.schemas.check_new(PARENT, "event", given, now=0)
    given.compiled_proto_schema.compiled_bytes += b"x"
    assert refusal_of(lambda: engine.schemas.check_new(PARENT, "event", given, now=0))


@spec("SCH-14", "QUO-01")
def test_a_project_may_have_ten_thousand_schemas(monkeypatch: pytest.MonkeyPatch) -> None:
    from emulator.engine.values import limits

    assert limits.SCHEMAS_PER_PROJECT == 10_000
    monkeypatch.setattr(limits, "SCHEMAS_PER_PROJECT", 3)
    desk = Desk()
    for number in range(3):
        desk.create(avro("a"), f"leaf{number}")
    assert refusal_of(lambda: desk.create(avro("a"))) == Refusal(
        "RESOURCE_EXHAUSTED",
        'Your project has exceeded a limit: (type="schemas-per-project", current=3, maximum=3).',
    )
    desk.engine.schemas.create("projects/q", "other", avro("a"), compile_it(avro("a")), now=0)


# --- show ---


@spec("SCH-04", "SCH-05", "LST-07")
@pytest.mark.parametrize(
    ("view", "in_get", "in_lists"),
    [(schema.SCHEMA_VIEW_UNSPECIFIED, True, False), (schema.BASIC, False, False),
     (schema.FULL, True, True)],
)  # fmt: skip
def test_views(view: int, in_get: bool, in_lists: bool) -> None:
    desk = Desk()
    made = desk.create(avro("a"))
    basic = schema.Schema()
    basic.CopyFrom(made)
    basic.ClearField("definition")
    assert desk.get(NAME, view) == (made if in_get else basic)
    shown = made if in_lists else basic
    assert desk.list(view) == ([shown], "")
    assert desk.revisions(view) == ([shown], "")


@spec("SCH-17")
def test_a_compiled_definition_is_shown_as_it_was_given() -> None:
    desk = Desk()
    given = schema.Schema(type="PROTOCOL_BUFFER")
    given.compiled_proto_schema.root_message = "M"
    given.compiled_proto_schema.compiled_bytes = b"as given"
    engine = desk.engine
    made = engine.schemas.create(PARENT, "event", given, compile_it(proto()), now=0).value
    assert made.compiled_proto_schema == given.compiled_proto_schema
    assert desk.get(NAME, schema.FULL) == made
    assert not desk.get(NAME, schema.BASIC).HasField("compiled_proto_schema")


def test_an_unknown_view_is_refused() -> None:
    desk = Desk()
    desk.create(avro("a"))
    for call in (lambda: desk.get(NAME, 9), lambda: desk.list(9), lambda: desk.revisions(9)):
        assert refusal_of(call) == argument("view")


@spec("SCH-05")
def test_lists_have_the_latest_revision_of_each() -> None:
    desk = Desk()
    desk.create(avro("a"), "zulu")
    desk.create(avro("a"))
    newer = desk.commit(avro("a", b=""))
    found, _ = desk.list(schema.FULL)
    assert [each.name.rpartition("/")[2] for each in found] == ["event", "zulu"]
    assert found[0] == newer


@spec("SCH-05", "LST-02", "LST-03", "LST-05")
def test_revisions_come_newest_first_in_pages() -> None:
    desk = Desk()
    ids = [desk.create(avro("a")).revision_id]
    for second in range(1, 12):
        desk.now_s = second
        ids.append(desk.commit(avro("a")).revision_id)
    wanted = ids[::-1]
    found: list[str] = []
    token = ""
    while True:
        page, token = desk.revisions(size=5, token=token)
        found += [each.revision_id for each in page]
        if not token:
            break
    assert found == wanted
    assert refusal_of(lambda: desk.revisions(size=-1))
    assert refusal_of(lambda: desk.revisions(token="nonsense"))
    _, token = desk.list(size=1)
    assert token == ""


@spec("SCH-03", "ERR-04", "LST-01", "NAM-20")
def test_what_is_not_there() -> None:
    desk = Desk()
    made = desk.create(avro("a"))
    missing = "projects/p/schemas/missing"
    schemas = desk.engine.schemas
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: desk.get(missing), missing),
        (lambda: desk.get(f"{missing}@00000000"), missing),
        (lambda: desk.get(f"{NAME}@00000000"), f"{NAME}@00000000"),
        (lambda: desk.commit(avro("a"), missing), missing),
        (lambda: desk.rollback("00000000"), f"{NAME}@00000000"),
        (lambda: desk.rollback("nonsense"), f"{NAME}@nonsense"),
        (lambda: schemas.rollback(missing, made.revision_id, now=0), missing),
        (lambda: desk.delete_revision("00000000"), f"{NAME}@00000000"),
        (lambda: schemas.list_revisions(missing, 0, 0, "", now=0), missing),
        (lambda: desk.delete(missing), missing),
    ]
    for call, name in calls:
        assert refusal_of(call) == not_found(name)


@spec("NAM-15", "NAM-20", "SCH-08")
@pytest.mark.parametrize(
    "name",
    ["", "event", "projects/p/topics/event", f"{NAME}@", f"{NAME}@1234567", f"{NAME}@1234567G",
     f"{NAME}@12345678@12345678", f"{NAME}@ABCDEF01"],
)  # fmt: skip
def test_bad_names(name: str) -> None:
    desk = Desk()
    desk.create(avro("a"))
    schemas = desk.engine.schemas
    for call in (
        lambda: desk.get(name),
        lambda: schemas.delete_revision(name, now=0),
        lambda: desk.commit(avro("a"), name),
        lambda: schemas.list_revisions(name, 0, 0, "", now=0),
        lambda: desk.delete(name),
    ):
        assert refusal_of(call) == invalid(BAD_NAME.format(name))


@spec("NAM-16", "ERR-05")
def test_projects_outside_the_allowed_ones() -> None:
    desk = Desk(allowed_projects=frozenset({"q"}))
    for call in (
        lambda: desk.create(avro("a")),
        desk.get,
        desk.list,
        lambda: desk.engine.schemas.check_new_definition(PARENT, avro("a"), now=0),
    ):
        refused = refusal_of(call)
        assert refused is not None
        assert refused.text.startswith("Requested project not found")


# --- revise ---


@spec("SCH-06")
def test_a_commit_makes_the_latest_revision() -> None:
    desk = Desk()
    first = desk.create(avro("a"))
    desk.now_s = 7
    given = avro("a", b="")
    given.name = "projects/p/schemas/another"
    second = desk.commit(given)
    assert second.name == NAME
    assert second.definition == given.definition
    assert second.revision_id != first.revision_id
    assert second.revision_create_time.ToSeconds() == 7
    assert desk.get() == second
    assert desk.get(f"{NAME}@{first.revision_id}") == first


@spec("SCH-06")
def test_the_same_definition_makes_a_revision_too() -> None:
    desk = Desk()
    first, second = desk.create(avro("a")), desk.commit(avro("a"))
    assert first.revision_id != second.revision_id
    assert first.definition == second.definition


@spec("SCH-34")
def test_the_type_stays() -> None:
    desk = Desk()
    desk.create(avro("a"))
    said = "schema.type: the type of a schema cannot change"
    assert refusal_of(lambda: desk.commit(proto("string a = 1"))) == argument(said)


@spec("SCH-32", "SCH-33", "ERR-61")
def test_an_incompatible_avro_revision_is_not_made() -> None:
    desk = Desk()
    first = desk.create(avro("a"))
    assert refusal_of(lambda: desk.commit(avro("a", "b"))) == invalid(
        "Compatibility checking failed to commit a schema revision. Revision is incompatible with "
        f"previous revision: {first.revision_id}. Event.b of type string has no default and is not "
        "in Event."
    )
    assert desk.revisions()[0][0].revision_id == first.revision_id


@spec("SCH-30", "SCH-31", "ERR-61")
def test_older_revisions_count_too() -> None:
    desk = Desk()
    first = desk.create(proto("string a = 1", "int32 b = 2"))
    second = desk.commit(proto("string a = 1"))
    again = proto("string a = 1", "string b = 2")
    assert refusal_of(lambda: desk.commit(again)) == invalid(
        "Compatibility checking failed to commit a schema revision. Revision is incompatible with "
        f"previous revision: {first.revision_id}. Event.b of type string is not compatible with "
        "Event.b of type int32."
    )
    desk.delete_revision(first.revision_id)
    assert desk.commit(again).revision_id not in (first.revision_id, second.revision_id)


@spec("SCH-07")
def test_a_rollback_is_a_new_revision_of_old_content() -> None:
    desk = Desk()
    first = desk.create(avro("a"))
    desk.commit(avro("a", b=""))
    desk.now_s = 9
    third = desk.rollback(first.revision_id)
    assert third.definition == first.definition
    assert third.revision_create_time.ToSeconds() == 9
    assert desk.get() == third
    assert len(desk.revisions()[0]) == 3
    assert refusal_of(lambda: desk.rollback("")) == argument("revision_id")


@spec("SCH-08")
def test_deleting_revisions() -> None:
    desk = Desk()
    first = desk.create(avro("a"))
    second = desk.commit(avro("a", b=""))
    third = desk.commit(avro("a", c=""))
    assert desk.delete_revision(second.revision_id) == third
    assert desk.delete_revision(third.revision_id) == first == desk.get()
    refused = refusal_of(lambda: desk.delete_revision(first.revision_id))
    assert refused is not None
    assert refused.code == "FAILED_PRECONDITION"
    assert desk.get() == first


@spec("SCH-08")
def test_deleting_a_revision_needs_its_id_in_the_name() -> None:
    desk = Desk()
    desk.create(avro("a"))
    schemas = desk.engine.schemas
    assert refusal_of(lambda: schemas.delete_revision(NAME, now=0)) == invalid(
        BAD_NAME.format(NAME)
    )


@spec("SCH-14")
def test_a_schema_may_have_20_revisions_at_a_time() -> None:
    desk = Desk()
    first = desk.create(avro("a"))
    for _ in range(19):
        desk.commit(avro("a"))
    full = Refusal(
        "RESOURCE_EXHAUSTED",
        'Your project has exceeded a limit: (type="revisions-per-schema", current=20, maximum=20).',
    )
    assert refusal_of(lambda: desk.commit(avro("a"))) == full
    assert refusal_of(lambda: desk.rollback(first.revision_id)) == full
    desk.delete_revision(first.revision_id)
    desk.commit(avro("a"))
    assert refusal_of(lambda: desk.commit(avro("a"))) == full


# --- gone, and checked against ---


@spec("SCH-09")
def test_a_deleted_schema_is_gone_with_all_its_revisions() -> None:
    desk = Desk()
    first = desk.create(avro("a"))
    desk.engine.policies.set(NAME, iam.Policy(bindings=[{"role": "r"}]), now=0)
    desk.delete()
    for name in (NAME, f"{NAME}@{first.revision_id}"):
        assert refusal_of(lambda name=name: desk.get(name)) == not_found(NAME)
    assert desk.list() == ([], "")
    again = desk.create(avro("b"))
    assert again.revision_id != first.revision_id
    assert not desk.engine.policies.get(NAME, now=0).value.bindings


def test_a_reset_forgets_schemas() -> None:
    desk = Desk()
    desk.create(avro("a"))
    desk.engine.reset(nonce=b"another", now=0)
    assert refusal_of(desk.get) == not_found(NAME)


@spec("SCH-11", "SCH-12", "SCH-18", "SCH-21", "ERR-60")
def test_messages_are_checked_against_the_latest_or_the_named_revision() -> None:
    desk = Desk()
    first = desk.create(avro("a"))
    desk.commit(avro("a", b=""))

    def check(name: str, text: bytes, encoding: int = schema.JSON) -> Refusal | None:
        request = schema.ValidateMessageRequest(
            parent=PARENT, name=name, message=text, encoding=encoding
        )
        return refusal_of(lambda: desk.engine.schemas.check_message(request, None, now=0))

    failed = invalid("Invalid data in message: Message failed schema validation.")
    assert check(NAME, b'{"a": "x", "b": "y"}') is None
    assert check(NAME, b'{"a": "x"}') == failed
    assert check(f"{NAME}@{first.revision_id}", b'{"a": "x"}') is None
    assert check(NAME, b"\x02x\x02y", schema.BINARY) is None
    assert check(NAME, b"\x02x", schema.BINARY) == failed
    assert check(NAME, b"{}", schema.ENCODING_UNSPECIFIED) == argument("encoding")
    assert check(NAME, b"{}", 9) == argument("encoding")
    assert check("projects/p/schemas/missing", b"{}") == not_found("projects/p/schemas/missing")
    assert check("", b"{}") == invalid(BAD_NAME.format(""))


@spec("IAM-01", "IAM-02", "IAM-05")
def test_policies_of_schemas() -> None:
    desk = Desk()
    missing = refusal_of(lambda: desk.engine.policies.get(NAME, now=0))
    assert missing == not_found(NAME)
    desk.create(avro("a"))
    policies = desk.engine.policies
    policies.set(NAME, iam.Policy(bindings=[{"role": "r"}]), now=0)
    assert policies.get(NAME, now=0).value.bindings[0].role == "r"
    assert policies.test(NAME, ["pubsub.schemas.get"], now=0).value == ["pubsub.schemas.get"]


# --- events ---


def test_what_happens_to_schemas_is_recorded() -> None:
    desk = Desk()
    engine, text = desk.engine, avro("a")
    compiled = compile_it(text)
    assert engine.schemas.create(PARENT, "unheard", text, compiled, now=0).events == ()
    engine.recording.is_on = True
    outcome = engine.schemas.create(PARENT, "event", text, compiled, now=5)
    assert outcome.events == (RevisionAdded(outcome.value, 2),)
    second = engine.schemas.commit(NAME, text, compiled, now=6)
    assert second.events == (RevisionAdded(second.value, 3),)
    third = engine.schemas.rollback(NAME, second.value.revision_id, now=7)
    assert third.events == (RevisionAdded(third.value, 4),)
    gone = engine.schemas.delete_revision(f"{NAME}@{third.value.revision_id}", now=8)
    assert gone.events == (RevisionGone(NAME, third.value.revision_id),)
    assert engine.schemas.delete(NAME, now=9).events == (ResourceGone(NAME, 9),)
