"""What is a protobuf schema and what is none; what hostile ones bring about."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from google.protobuf import descriptor_pb2

from emulator.api import schema
from emulator.engine.resources.schema import Compiled
from emulator.engine.values.errors import InvalidArgument
from emulator.schemas.compiling import Compiling
from emulator.schemas.failures import BadDefinition, Interrupted
from emulator.schemas.protobuf import compiler, descriptors
from emulator.schemas.protobuf.compiler import Compiler
from tests.schemas.protobuf import EDITION, PROTO2, PROTO3, compile_text
from tests.spec import spec
from tests.wire import until


def compiled(given: schema.Schema) -> Compiled:
    compiling = Compiling()
    try:
        return asyncio.run(compiling.compile(given))
    finally:
        compiling.close()


def of_text(definition: str) -> Compiled:
    return compiled(schema.Schema(type="PROTOCOL_BUFFER", definition=definition))


def of_set(descriptor_set: bytes, root: str) -> Compiled:
    given = schema.Schema(type="PROTOCOL_BUFFER")
    given.compiled_proto_schema.root_message = root
    given.compiled_proto_schema.compiled_bytes = descriptor_set
    return compiled(given)


@spec("PRO-01")
@pytest.mark.parametrize(
    "definition",
    [
        PROTO3,
        PROTO2,
        EDITION,
        "message A {}",
        'syntax = "proto3"; enum E { A = 0; } message M { E e = 1; } enum F { B = 0; }',
        'syntax = "proto3"; package a.b.c; option java_package = "x"; message M { M m = 1; }',
        'syntax = "proto3"; message M { reserved 2, 5 to 10; reserved "old"; // ü\n int32 a = 1; }',
    ],
    ids=lambda text: text[:60],
)
def test_good_definitions(definition: str) -> None:
    of_text(definition)


@spec("PRO-01", "PRO-04", "ERR-62")
@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ("", "exactly one top-level message type, not 0"),
        ("message A {} message B {}", "exactly one top-level message type, not 2"),
        ("enum E { A = 0; }", "exactly one top-level message type, not 0"),
        ("message A { optional int32 a = 1 }", '1:34: Expected ";".'),
        ('syntax = "proto3"; message A { int32 a = x; }', "1:42: Expected field number."),
        ('syntax = "proto3"; message A { Nope a = 1; }', '"Nope" is not defined'),
        ('syntax = "proto3"; message A { required int32 a = 1; }', "Required fields are not"),
        ('syntax = "proto3"; message A { int32 a = 1; int32 b = 1; }', "already been used"),
        ('syntax = "proto4"; message A {}', "Unrecognized syntax"),
        ('edition = "1999"; message A {}', "dition"),
        ('import "google/protobuf/timestamp.proto"; message A {}', "imports of other files"),
        ('import "schema.proto"; message A {}', "imports"),
        ('import "/etc/passwd"; message A {}', "imports of other files"),
        ("message A {} service S { rpc Do(A) returns (A); }", "services are not allowed"),
        ("message A { extensions 100; } extend A { optional int32 a = 100; }", "extensions"),
        ("message A { extensions 9; extend A { optional int32 a = 9; } }", "extensions"),
        ('{"type": "string"}', "Expected top-level statement"),
        ("\x00\x01", "1:1"),
    ],
    ids=lambda text: text[:60],
)
def test_bad_definitions(definition: str, said: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        of_text(definition)
    assert refused.value.message.startswith("Invalid schema definition: Could not parse schema. ")
    assert said in refused.value.message
    assert "/tmp" not in refused.value.message
    assert "absl" not in refused.value.message


def fields(count: int) -> str:
    return "".join(f"int32 f{number} = {number};" for number in range(1, count))


@pytest.mark.parametrize(
    "definition",
    [
        "message M { message " * 40_000,
        "message M {" * 20_000 + "}" * 20_000,
        "message A { optional int32 a = 1 [default = " + "-" * 290_000 + "1]; }",
        "message A { optional string a = 1 [" + ",".join(["(x) = 1"] * 30_000) + "]; }",
        "message A { " + "repeated " * 30_000 + "}",
        "/*" * 140_000,
        "message A { oneof a { " + fields(12_000) + "} ",
        "message A { reserved " + ",".join(map(str, range(1, 60_000))),
    ],
    ids=lambda text: text[:30],
)
def test_hostile_definitions_end_in_an_error(definition: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        of_text(definition[:300_000])
    assert len(refused.value.message) < 2_000


def test_a_huge_definition_is_compiled() -> None:
    definition = 'syntax = "proto3"; message A { ' + fields(13_000) + "}"
    assert of_text(definition).check_json(b'{"f12999": 1}') is None


@pytest.fixture
def started() -> Iterator[Compiler]:
    made = Compiler()
    yield made
    made.close()


def children() -> list[psutil.Process]:
    """The compilers that this process has started and not seen the end of."""
    script = str(compiler.compiler_child.__file__)
    return [each for each in psutil.Process().children() if script in each.cmdline()]


def test_what_takes_too_long_is_ended(started: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "TIME_LIMIT_S", 0.0)
    with pytest.raises(BadDefinition, match="more time or memory"):
        asyncio.run(started.compile("message A {}"))
    assert children() == []


def test_what_wants_too_much_memory_is_ended(
    started: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The limits hold in the child: a script of ours in its place runs into them."""
    source = Path(compiler.compiler_child.__file__).read_text()
    greedy = tmp_path / "greedy.py"
    call = 'return compile_text(folder) if action == "compile"'
    assert call in source
    greedy.write_text(source.replace(call, 'return len(b"x" * (2 << 30)) if action == "compile"'))
    monkeypatch.setattr(compiler.compiler_child, "__file__", str(greedy))
    with pytest.raises(BadDefinition, match="MemoryError"):
        asyncio.run(started.compile("message A {}"))


def test_closing_kills_what_runs(started: Compiler) -> None:
    failures: list[BaseException] = []

    def compile_it() -> None:
        try:
            asyncio.run(started.compile("message A {}"))
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=compile_it)
    thread.start()
    until(lambda: bool(started._running) or not thread.is_alive())
    started.close()
    thread.join(30)
    assert not thread.is_alive()
    assert children() == []
    assert all(isinstance(error, Interrupted) for error in failures)
    with pytest.raises(Interrupted):
        asyncio.run(started.compile("message B {}"))


def test_the_same_definition_is_compiled_once(started: Compiler) -> None:
    async def twice() -> tuple[bytes, bytes]:
        first = await started.compile("message A {}")
        started._run = None  # type: ignore[assignment, method-assign]  # no second run
        return first, await started.compile("message A {}")

    first, second = asyncio.run(twice())
    assert first == second


def test_the_loop_goes_on_while_a_definition_is_compiled(started: Compiler) -> None:
    async def beat() -> int:
        task = asyncio.create_task(started.compile("message Beat {}"))
        beats = 0
        while not task.done():
            beats += 1
            await asyncio.sleep(0.001)
        await task
        return beats

    assert asyncio.run(beat()) > 5


# --- compiled_proto_schema ---


def file_set(*files: tuple[str, str, list[str]]) -> bytes:
    """A descriptor set of files by name, text and imports; the text's message is as compiled."""
    made = descriptor_pb2.FileDescriptorSet()
    for name, text, imports in files:
        [file] = descriptor_pb2.FileDescriptorSet.FromString(compile_text(text)).file
        file.name = name
        file.dependency.extend(imports)
        made.file.append(file)
    return made.SerializeToString()


BASE = ("base.proto", 'syntax = "proto3"; package base; message Base { string a = 1; }', [])
OTHER = ("other.proto", 'syntax = "proto3"; package other; message Other { int32 b = 1; }', [])


def with_import(root: str = "main.proto") -> bytes:
    """Main imports Base and stands before it."""
    main = descriptor_pb2.FileDescriptorProto(
        name=root, package="main", syntax="proto3", dependency=["base.proto"]
    )
    message = main.message_type.add(name="Main")
    message.field.add(name="base", number=1, type=11, label=1, type_name=".base.Base")
    base = descriptor_pb2.FileDescriptorSet.FromString(file_set(BASE)).file
    return descriptor_pb2.FileDescriptorSet(file=[main, *base]).SerializeToString()


@spec("SCH-17", "PRO-02", "PRO-03")
@pytest.mark.parametrize("root", ["main.Main", ".main.Main"])
def test_a_compiled_schema_may_import_within_itself(root: str) -> None:
    made = of_set(with_import(), root)
    assert made.check_json(b'{"base": {"a": "x"}}') is None
    assert made.check_json(b'{"base": {"b": 1}}')
    assert made.check_binary(bytes.fromhex("0a030a0178")) is None
    assert made.check_binary(bytes.fromhex("0a021001"))


@spec("SCH-17")
def test_a_compiled_schema_has_the_root_it_names() -> None:
    made = of_set(file_set(BASE, OTHER), "other.Other")
    assert made.check_json(b'{"b": 1}') is None
    assert made.check_json(b'{"a": "x"}')


@spec("SCH-17")
def test_known_types_come_with_the_set() -> None:
    from google.protobuf import timestamp_pb2

    time = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(time)
    main = descriptor_pb2.FileDescriptorProto(
        name="m.proto", syntax="proto3", dependency=[time.name]
    )
    field = main.message_type.add(name="M").field.add(name="at", number=1, type=11, label=1)
    field.type_name = ".google.protobuf.Timestamp"
    whole = descriptor_pb2.FileDescriptorSet(file=[main, time]).SerializeToString()
    assert of_set(whole, "M").check_json(b'{"at": "2024-01-02T03:04:05Z"}') is None
    assert of_set(whole, "M").check_json(b'{"at": "yesterday"}')
    assert of_set(whole, "M").check_json(b'{"at": 5}')


@spec("SCH-17", "ERR-62")
@pytest.mark.parametrize(
    ("descriptor_set", "root", "said"),
    [
        (lambda: b"\xff\xff", "A", "not a FileDescriptorSet"),
        (lambda: b"", "A", "A"),
        (lambda: file_set(BASE), "Base", "Base"),
        (lambda: file_set(BASE), "base.Nope", "base.Nope"),
        (lambda: file_set(BASE), "base", "base"),
        (lambda: file_set(BASE, BASE), "base.Base", "two files of one name"),
        (
            lambda: file_set(("a.proto", BASE[1], ["b.proto"])),
            "base.Base",
            'lacks the imported file "b.',
        ),
        (
            lambda: file_set(("a.proto", BASE[1], ["b.proto"]), ("b.proto", OTHER[1], ["a.proto"])),
            "base.Base",
            "imports itself",
        ),
        (
            lambda: file_set(("a.proto", BASE[1], []), ("b.proto", BASE[1], [])),
            "base.Base",
            "base.Base",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else None,
)
def test_bad_compiled_schemas(descriptor_set: Callable[[], bytes], root: str, said: str) -> None:
    with pytest.raises(InvalidArgument, match="Could not parse schema") as refused:
        of_set(descriptor_set(), root)
    assert said in refused.value.message


def test_many_files_that_import_each_other_are_put_in_order() -> None:
    files = [
        descriptor_pb2.FileDescriptorProto(
            name=f"{number}.proto", dependency=[f"{each}.proto" for each in range(number)]
        )
        for number in reversed(range(200))
    ]
    given = descriptor_pb2.FileDescriptorSet(file=files).SerializeToString()
    ordered = descriptor_pb2.FileDescriptorSet.FromString(descriptors.in_order(given)).file
    assert [file.name for file in ordered] == [f"{number}.proto" for number in range(200)]
