"""Seek: acknowledge and un-acknowledge in bulk (SEK-*)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from emulator.api import pubsub
from emulator.engine import durations, errors
from emulator.engine.backlog import NEVER
from emulator.engine.message_log import Message
from emulator.engine.outcome import Effect, Outcome
from emulator.engine.replay import Feed, matches
from emulator.engine.snapshot import Snapshot
from emulator.engine.subscription import Subscription
from emulator.engine.world import World


class Seeking:
    def __init__(self, world: World) -> None:
        self._world = world

    def seek(self, request: pubsub.SeekRequest, *, now: int) -> Outcome[None]:
        """Effective when it returns (SEK-09); refusals change nothing."""
        found = self._world.subscription(request.subscription)
        target = request.WhichOneof("target")
        if target is None:
            raise errors.no_seek_target()
        found.last_active_us = now
        if found.resource.detached:
            raise errors.detached_subscription()
        if target == "time":
            effects = self._to_time(found, durations.timestamp_us(request.time))
        else:
            effects = self._to_snapshot(found, self._world.snapshot(request.snapshot))
        return Outcome(None, effects)

    def _to_time(self, found: Subscription, time_us: int) -> tuple[Effect, ...]:
        """What was published before `time_us` is acked, what came then or later is not (SEK-03)."""
        retained = found.retained_from
        position = max(found.log.position_at(time_us), found.log.floor)
        unread = found.backlog.log_position
        start = max(position, unread if retained is None else min(retained, unread))

        def wants(message: Message) -> bool:
            # From `start` on the log has them.
            return message.publish_time_us >= time_us and message.position < start

        carried, count = self._carry(found)
        return self._replace(found, start, carried, count, wants)

    def _to_snapshot(self, found: Subscription, target: Snapshot) -> tuple[Effect, ...]:
        """What was not acked in the snapshot, or came after it, is not acked (SEK-06)."""
        if found.log is not target.log:
            raise errors.snapshot_of_another_topic(found.resource.topic, target.resource.topic)
        backlog = found.backlog

        def wants(message: Message) -> bool:
            return matches(backlog, message)

        carried = iter(target.unacked)
        return self._replace(found, target.position, carried, len(target.unacked), wants)

    def _carry(self, found: Subscription) -> tuple[Iterator[Message], int]:
        """The messages that are not the log's to give, retained acked ones included."""
        older: list[Message] = []
        if found.history is not None:
            older, found.history.older = found.history.older, []
        unacked, count = found.backlog.unacked()
        return _chain(older, unacked), len(older) + count

    def _replace(
        self,
        found: Subscription,
        start: int,
        carried: Iterator[Message],
        count: int,
        wants: Callable[[Message], bool],
    ) -> tuple[Effect, ...]:
        """Give a subscription a new backlog; leases end, and attempts start anew (SEK-13)."""
        former = found.backlog
        kept = [former.oldest_us, found.log.time_at(start)]
        if found.history is not None:
            kept.append(found.history.oldest_us)
        oldest_us = min((time_us for time_us in kept if time_us is not None), default=NEVER)
        backlog = found.new_backlog(start)
        backlog.feed = Feed(
            carried,
            count,
            wants,
            oldest_us=oldest_us,
            log=found.log,
            position=start if backlog.is_indexed else None,
            former=former,
        )
        effects = found.replace_backlog(backlog)
        found.schedule()
        return effects


def _chain(first: list[Message], rest: Iterator[Message]) -> Iterator[Message]:
    yield from first
    yield from rest
