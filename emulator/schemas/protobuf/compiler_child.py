"""Compiles one .proto file, or tries out one descriptor set, in a process that may die of it.

Run as a script, by its path, with the folder to work in and the caller's module path: it imports
nothing of the emulator. What is wrong is said on stderr, and by the exit status.
"""

import json
import sys

FOLDER_FILE = "schema.proto"
RESULT_FILE = "schema.binpb"
#: Exit statuses: all is well, the definition is bad, the tools are missing.
GOOD, BAD, BROKEN = 0, 1, 3
_CPU_S = 5
_MEMORY_BYTES = 1 << 30
_FILE_BYTES = 64 << 20


def main() -> int:
    action, folder, path = sys.argv[1:4]
    sys.path[:] = json.loads(path)
    _limit()
    return compile_text(folder) if action == "compile" else try_set(folder, sys.argv[4])


def _limit() -> None:
    """Take no more than a definition can need; where there are no limits, the caller's time is."""
    try:
        import resource
    except ImportError:  # Windows
        return
    wanted = (
        (resource.RLIMIT_CPU, _CPU_S),
        (resource.RLIMIT_AS, _MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, _FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    )
    for kind, most in wanted:
        _, hard = resource.getrlimit(kind)
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (limit, limit))
        except (OSError, ValueError):  # macOS refuses some
            continue


def compile_text(folder: str) -> int:
    """Compile the file in `folder` into a descriptor set there."""
    try:
        from grpc_tools import protoc  # type: ignore[import-untyped]
    except ImportError as error:
        print(f"grpcio-tools cannot be imported: {error}", file=sys.stderr)
        return BROKEN
    result = f"--descriptor_set_out={folder}/{RESULT_FILE}"
    status = protoc.main(["protoc", f"--proto_path={folder}", result, FOLDER_FILE])
    return BAD if status else GOOD


def try_set(folder: str, root: str) -> int:
    """Load the descriptor set in `folder` as the emulator will, and read a message with it."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    try:
        with open(f"{folder}/{RESULT_FILE}", "rb") as file:
            given = descriptor_pb2.FileDescriptorSet.FromString(file.read())
        for each in given.file:
            pool.AddSerializedFile(each.SerializeToString())
        message_factory.GetMessageClass(pool.FindMessageTypeByName(root)).FromString(b"")
    except Exception as error:
        print(error, file=sys.stderr)
        return BAD
    return GOOD


if __name__ == "__main__":
    sys.exit(main())
