"""A closed loop of workers: each starts its next operation when its last is done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

Operation = Callable[[], Awaitable[int]]
"""One call or exchange; returns how many messages it has moved."""


async def for_seconds(seconds: float, workers: int, operation: Operation) -> int:
    """Repeat the operation until the time is over; return the messages moved."""
    end = time.monotonic() + seconds
    return await _crew(workers, operation, lambda: time.monotonic() < end)


async def for_times(times: int, workers: int, operation: Operation) -> int:
    """Repeat the operation so many times in all; return the messages moved."""
    tickets = iter(range(times))
    return await _crew(workers, operation, lambda: next(tickets, None) is not None)


async def _crew(workers: int, operation: Operation, goes_on: Callable[[], bool]) -> int:
    async with asyncio.TaskGroup() as group:
        crew = [group.create_task(_work(operation, goes_on)) for _ in range(workers)]
    return sum(task.result() for task in crew)


async def _work(operation: Operation, goes_on: Callable[[], bool]) -> int:
    moved = 0
    while goes_on():
        moved += await operation()
    return moved
