"""The order of measuring: A B C, C B A, so that a busy moment of the machine meets all alike."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Iterator, Sequence

import grpc
import grpc.aio

from scripts.bench.catalogue import Row
from scripts.bench.measurement import Measurement
from scripts.bench.programs import Program
from scripts.bench.report import number
from scripts.bench.results import Failure, Results
from scripts.bench.target import Target, running


class NotOfferedError(Exception):
    """The server does not implement an RPC that the row needs."""


async def measure(
    rows: Sequence[Row], programs: Sequence[Program], rounds: int, seconds: float
) -> Results:
    """Measure every row on every program it is for, in rounds."""
    results = Results()
    given_up: set[tuple[str, str]] = set()
    for row, program, label in _schedule(rows, programs, rounds):
        if (row.name, program.kind) in given_up:
            continue
        print(f"{label} {row.name} {program.kind}", end="", file=sys.stderr, flush=True)
        try:
            measured = await _measure_one(row, program, seconds)
        except NotOfferedError:
            given_up.add((row.name, program.kind))
            print(": not offered", file=sys.stderr)
        except Exception as error:
            given_up.add((row.name, program.kind))
            results.failures.append(Failure(row.name, program.kind, str(error)))
            print(f": failed: {error}", file=sys.stderr)
        else:
            results.add(program.kind, measured)
            print(f": {_brief(measured)}", file=sys.stderr)
    return results


def _schedule(
    rows: Sequence[Row], programs: Sequence[Program], rounds: int
) -> Iterator[tuple[Row, Program, str]]:
    """Yield each measurement with a word on how far it is."""
    most = max(row.rounds or rounds for row in rows)
    for done, row in itertools.product(range(most), rows):
        wanted = row.rounds or rounds
        for program in programs if done % 2 == 0 else reversed(programs):
            if done < wanted and program.kind in row.kinds:
                yield row, program, f"[{done + 1}/{wanted}]"


async def _measure_one(row: Row, program: Program, seconds: float) -> dict[str, Measurement]:
    async with running(program) as target:
        try:
            async with asyncio.timeout(row.limit_s):
                return await row.run(target, seconds)
        except Exception as error:
            raise await _explained(error, row, target) from error


async def _explained(error: Exception, row: Row, target: Target) -> Exception:
    """Return an exception whose text is the reason, in one line."""
    cause: BaseException = error
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    if death := await target.server.death():
        return RuntimeError(death)
    if isinstance(cause, grpc.aio.AioRpcError):
        if cause.code() is grpc.StatusCode.UNIMPLEMENTED:
            return NotOfferedError()
        return RuntimeError(f"{cause.code().name}: {cause.details()}")
    if isinstance(cause, TimeoutError):
        return RuntimeError(f"did not end within {row.limit_s:.0f} s")
    return RuntimeError(str(cause) or type(cause).__name__)


def _brief(measured: dict[str, Measurement]) -> str:
    return ", ".join(f"{key} {number(sample.value)}" for key, sample in measured.items())
