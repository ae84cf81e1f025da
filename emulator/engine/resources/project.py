"""What runs on one project's time: leases, backoffs, alarms and chores."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from emulator.engine.delivery.backlog import Backlog
from emulator.engine.delivery.deadlines import Deadlines
from emulator.engine.delivery.events import Recording
from emulator.engine.delivery.outcome import Effect
from emulator.engine.log.message_log import MessageLog
from emulator.engine.resources.alarms import Alarms
from emulator.engine.resources.events import ChoreDone


class Chore(Protocol):
    """Work that can wait and is done in slices, most of it giving back memory."""

    def reclaim(self, budget: int) -> int:
        """Do up to `budget` pieces; return how many, less than `budget` when all are done."""
        ...


class Project:
    """What runs on one project's time: the leases of its subscriptions, and its chores."""

    __slots__ = ("_freeing", "alarms", "backoffs", "chores", "id", "leases", "recording")

    def __init__(self, project_id: str, recording: Recording) -> None:
        self.id = project_id
        self.recording = recording
        self.leases: Deadlines[Backlog] = Deadlines()
        self.backoffs: Deadlines[Backlog] = Deadlines()
        self.alarms = Alarms(recording)
        self.chores: deque[Chore] = deque()
        self._freeing: set[MessageLog] = set()

    def free(self, log: MessageLog) -> None:
        """Have the entries of a log that nobody reads any more freed, in slices."""
        if log.garbage and log not in self._freeing:
            self._freeing.add(log)
            self.chores.append(log)

    def do_chores(self, budget: int) -> list[Effect]:
        """Do up to about `budget` pieces of them; return what they brought about."""
        effects: list[Effect] = []
        while self.chores and budget > 0:
            chore = self.chores[0]
            done = chore.reclaim(budget)
            if isinstance(chore, Backlog):
                effects += chore.take_effects()
            if done < budget:
                self.chores.popleft()
                if self.recording.is_on:
                    self.recording.add(ChoreDone(self.id))
                if isinstance(chore, MessageLog):
                    self._freeing.discard(chore)
            budget -= done
        return effects

    def __repr__(self) -> str:
        return f"<Project {self.id}, {self.leases!r}, {len(self.chores)} chores>"
