"""The line of lanes that anybody may take from, the first to become ready in front."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from emulator.engine.delivery.delivery import Lane
from emulator.engine.delivery.events import Recording
from emulator.engine.delivery.holder import Holder

_SLACK = 64
#: How many lanes kept for others one lease passes over.
_MOST_PASSED = 100


class ReadyLanes:
    """Some that stand here may have nothing to give any more: they leave when they are in front.

    `moves` says what became of those in front in this lease, one after another: whether each left,
    or else went to the back. It is kept while somebody records events.
    """

    __slots__ = (
        "_recording",
        "line",
        "moves",
    )

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.line: deque[Lane] = deque()
        self.moves: list[bool] = []

    def __len__(self) -> int:
        return len(self.line)

    def __contains__(self, lane: Lane) -> bool:
        return lane in self.line

    def add(self, lane: Lane, ready_at: int) -> None:
        """Let a lane stand at the back, if it does not stand here.

        Messages without a key below position `ready_at` of the log go before it.
        """
        if not lane.is_ready:
            lane.is_ready = True
            lane.ready_at = ready_at
            self.line.append(lane)

    def put_first(self, lane: Lane) -> None:
        """Let a lane, which stands at the back if it is ready, stand in front of all (PUL-06)."""
        if lane.is_ready:
            lane.ready_at = 0
            self.line.rotate()

    def first_for(self, holder: Holder | None, now: int) -> Lane | None:
        """The first lane that `holder`, or a pull, may take from; it stands in front then."""
        line = self.line
        passed = 0
        while passed < min(len(line), _MOST_PASSED):
            lane = line[0]
            if not lane.pending or lane.is_delayed or lane.leased:
                self.leave(lane)
            elif lane.is_kept_from(holder, now):
                line.rotate(-1)
                passed += 1
                if self._recording.is_on:
                    self.moves.append(False)
            else:
                return lane
        return None

    def leave(self, lane: Lane) -> None:
        """The lane in front is ready no more."""
        lane.is_ready = False
        self.line.popleft()
        if self._recording.is_on:
            self.moves.append(True)

    def take_moves(self) -> tuple[bool, ...]:
        moves, self.moves = tuple(self.moves), []
        return moves

    def tidy(self, lanes: int, is_there: Callable[[Lane], bool]) -> None:
        """Be no longer than `lanes`, more or less: late acks can empty lanes that nobody takes
        from."""
        if len(self.line) > 2 * lanes + _SLACK:
            self.line = deque(lane for lane in self.line if is_there(lane))

    def free(self, budget: int) -> int:
        """Free up to `budget` after the end; return how many."""
        count = min(budget, len(self.line))
        for _ in range(count):
            self.line.pop()
        return count

    def __repr__(self) -> str:
        return f"<ReadyLanes, {len(self.line)}>"
