"""Messages by their age, for retention; put in order only when the first one comes of age."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

Item = TypeVar("Item")

NO_TIME_US = sys.maxsize  # after any time there is


class Ages(Generic[Item]):
    """Items with the publish times, in microseconds, that they had when they came in."""

    def __init__(self, items: Iterable[tuple[int, Item]]) -> None:
        self._pushes = 0
        self._heap: list[tuple[int, int, Item]] = []
        for time_us, item in items:
            self._pushes += 1
            self._heap.append((time_us, self._pushes, item))
        heapify(self._heap)

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def oldest_us(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def add(self, time_us: int, item: Item) -> None:
        self._pushes += 1
        heappush(self._heap, (time_us, self._pushes, item))

    def until(self, cutoff_us: int) -> Iterator[Item]:
        """Take out what was published at `cutoff_us` or before, the oldest first."""
        while self._heap and self._heap[0][0] <= cutoff_us:
            yield heappop(self._heap)[2]
