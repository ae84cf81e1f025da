"""Exactly-once delivery: which ids of a request failed, and why (EOD-*)."""

from __future__ import annotations

from collections import deque

from emulator.engine.values import errors
from emulator.engine.values.errors import PubsubError

_INVALID = "PERMANENT_FAILURE_INVALID_ACK_ID"
_UNORDERED = "TRANSIENT_FAILURE_UNORDERED_ACK_ID"

#: Acked ids that are remembered, so that acking twice is no failure (EOD-08). Only the newest: a
#: client repeats an acknowledgement within minutes.
_REMEMBERED = 65_536


class AckReport:
    """What became of the ids of one request."""

    __slots__ = ("invalid", "succeeded", "unordered")

    def __init__(self) -> None:
        self.succeeded: list[str] = []
        self.invalid: list[str] = []
        self.unordered: list[str] = []

    def failure(self) -> PubsubError | None:
        """The error that names the failing ids, and only those (EOD-02, EOD-03)."""
        codes = dict.fromkeys(self.invalid, _INVALID) | dict.fromkeys(self.unordered, _UNORDERED)
        return errors.exactly_once_failure(codes) if codes else None


class AckedIds:
    """The ids of the newest acknowledgements of one subscription."""

    __slots__ = ("_ids", "_oldest_first")

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._oldest_first: deque[str] = deque()

    def add(self, ack_id: str) -> None:
        """Remember an id, which is new here."""
        self._ids.add(ack_id)
        self._oldest_first.append(ack_id)
        if len(self._ids) > _REMEMBERED:
            self._ids.remove(self._oldest_first.popleft())

    def __contains__(self, ack_id: str) -> bool:
        return ack_id in self._ids
