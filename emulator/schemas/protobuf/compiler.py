"""Has definitions compiled in child processes, which hostile ones may take with them.

Each definition gets a process of its own, for at most `TIME_LIMIT_S`; the loop never waits. What
was compiled is kept, so that tests that make the same schema again and again pay for it once.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from emulator.schemas.failures import BadDefinition, Interrupted
from emulator.schemas.protobuf import compiler_child
from emulator.schemas.protobuf.compiler_child import BAD, BROKEN, FOLDER_FILE, GOOD, RESULT_FILE

TIME_LIMIT_S = 15.0
_PROCESSES = 2
_KEPT = 100
_KEPT_BYTES = 64 * 1024
_REASON_CHARACTERS = 1_000
_COMPLAINT_BYTES = 16 * 1024
#: What the compiler's libraries log, which is about no definition in particular.
_LOG_LINE = re.compile(r"WARNING: All log messages|[WIEF]\d{4} ")


class _Job(NamedTuple):
    """`content` is a .proto file's text to compile, or a descriptor set to try with its `root`."""

    action: str
    content: bytes
    root: str = ""


class Compiler:
    """Nothing is started before it is needed; `close` kills what still runs."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._running: set[subprocess.Popen[bytes]] = set()
        self._kept: OrderedDict[_Job, bytes] = OrderedDict()
        self._is_closed = False

    async def compile(self, text: str) -> bytes:
        """Return the descriptor set of a .proto file; raise BadDefinition (PRO-01)."""
        return await self._do(_Job("compile", text.encode()))

    async def try_set(self, descriptor_set: bytes, root: str) -> bytes:
        """Return a descriptor set that can be loaded; raise BadDefinition (SCH-17)."""
        return await self._do(_Job("try", descriptor_set, root))

    async def _do(self, job: _Job) -> bytes:
        if job in self._kept:
            self._kept.move_to_end(job)
            return self._kept[job]
        self._check_open()
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_PROCESSES, "emulator-compiler")
        loop = asyncio.get_running_loop()
        result = await loop.run_in_executor(self._threads, self._run, job)
        if len(job.content) + len(result) <= _KEPT_BYTES:
            self._kept[job] = result
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return result

    def _run(self, job: _Job) -> bytes:
        """Run one child, on a thread of its own."""
        with tempfile.TemporaryDirectory(prefix="pubsub-schema-") as name:
            folder = Path(name)
            given = folder / (FOLDER_FILE if job.action == "compile" else RESULT_FILE)
            given.write_bytes(job.content)
            status, complaint = self._run_child(job, folder)
            if status == GOOD:
                return (folder / RESULT_FILE).read_bytes()
        self._check_open()
        if status == BAD:
            raise BadDefinition(_reason(complaint, name))
        if status == BROKEN:
            raise RuntimeError(complaint.strip())
        raise BadDefinition("it takes more time or memory to compile than it may")

    def _run_child(self, job: _Job, folder: Path) -> tuple[int, str]:
        """Return the exit status and the beginning of what the child says is wrong."""
        self._check_open()
        script = str(compiler_child.__file__)
        words = [sys.executable, "-I", script, job.action, str(folder), json.dumps(sys.path)]
        complaint = folder / "complaint"
        with complaint.open("wb") as errors:
            child = subprocess.Popen(
                [*words, job.root],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,  # Ctrl-C is for the server, which ends its children
            )
        self._running.add(child)
        try:
            if self._is_closed:  # meanwhile
                child.kill()
            child.wait(TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        finally:
            self._running.discard(child)
        with complaint.open("rb") as said:
            return child.returncode, said.read(_COMPLAINT_BYTES).decode("utf-8", "replace")

    def _check_open(self) -> None:
        if self._is_closed:
            raise Interrupted

    def close(self) -> None:
        """Kill what still runs; nothing can be compiled any more."""
        self._is_closed = True
        for child in tuple(self._running):
            child.kill()
        if self._threads is not None:
            self._threads.shutdown(wait=False)


def _reason(complaint: str, folder: str) -> str:
    """What the compiler says, without the names of our files."""
    lines = complaint.replace(f"{folder}/", "").splitlines()
    reason = " ".join(
        line.removeprefix(f"{FOLDER_FILE}:") for line in lines if not _LOG_LINE.match(line)
    ).strip()
    if 'Import "' in reason:
        reason = f"imports of other files are not allowed: {reason}"  # PRO-01, PRO-04
    return reason[:_REASON_CHARACTERS] or "it is not a .proto file"
