"""Seek: acknowledge and un-acknowledge in bulk (SEK-*)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from operator import attrgetter

from emulator.api import pubsub
from emulator.engine.delivery.ages import NO_TIME_US
from emulator.engine.delivery.events import BacklogReplaced
from emulator.engine.delivery.feed import Feed, matches
from emulator.engine.delivery.outcome import Effect, Outcome
from emulator.engine.log.message_log import Message
from emulator.engine.resources.snapshot import Snapshot
from emulator.engine.resources.subscription import Subscription
from emulator.engine.resources.world import World
from emulator.engine.values import durations, errors, wellformed

#: So many feeds may carry over from one another before one of them has to be emptied at once.
_CHAINED = 50


class Seeking:
    def __init__(self, world: World) -> None:
        self._world = world

    def seek(self, request: pubsub.SeekRequest, *, now: int) -> Outcome[None]:
        """Effective when it returns (SEK-09); refusals change nothing."""
        found = self._world.subscription(request.subscription)
        wellformed.check(request)
        target = request.WhichOneof("target")
        if target is None:
            raise errors.no_seek_target()
        found.use(now)
        if found.resource.detached:
            raise errors.detached_subscription()
        if target == "time":
            effects = self._to_time(found, durations.timestamp_us(request.time))
        else:
            effects = self._to_snapshot(found, self._world.snapshot(request.snapshot))
        return self._world.outcome(None, effects)

    def _to_time(self, found: Subscription, time_us: int) -> tuple[Effect, ...]:
        """What was published before `time_us` is acked, what came then or later is not (SEK-03)."""
        _settle_feed(found)
        retained = found.retained_from
        position = max(found.log.position_at(time_us), found.log.floor)
        unread = found.backlog.log_position
        start = max(position, unread if retained is None else min(retained, unread))
        carried, count = found.backlog.unacked()
        kept = [found.backlog.oldest_us]
        if found.history is not None:
            kept.append(found.history.oldest_us)
            older = found.history.take_older()
            carried, count = _merged(found, older, carried), len(older) + count

        def wants(message: Message) -> bool:
            return message.publish_time_us >= time_us

        if self._world.recording.is_on:
            self._world.recording.add(BacklogReplaced(found.name, start, time_us, None))
        return _replace(found, start, carried, count, wants, kept)

    def _to_snapshot(self, found: Subscription, target: Snapshot) -> tuple[Effect, ...]:
        """What was not acked in the snapshot, or came after it, is not acked (SEK-06)."""
        if found.log is not target.log:
            raise errors.snapshot_of_another_topic(found.resource.topic, target.resource.topic)
        _settle_feed(found)
        backlog, passes = found.backlog, found.backlog.filter
        unacked = target.unacked
        if self._world.recording.is_on:
            event = BacklogReplaced(found.name, target.position, None, target.name)
            self._world.recording.add(event)
        if found.history is None:
            return _replace(
                found,
                target.position,
                iter(unacked),
                len(unacked),
                lambda message: matches(passes, message),
                [target.oldest_us],
            )
        # What is acked by this, that was not, is retained (SEK-11).
        positions = {message.position for message in unacked}
        others, count = backlog.unacked()
        found.history.reach_back(target.position)
        return _replace(
            found,
            target.position,
            chain(unacked, (m for m in others if m.position not in positions)),
            len(unacked) + count,
            lambda message: message.position in positions and matches(passes, message),
            [target.oldest_us, backlog.oldest_us],
        )


def _settle_feed(found: Subscription) -> None:
    """Have an earlier seek's feed carry no more, where what it drops must be known, or is much."""
    feed = found.backlog.feed
    if feed is not None and (found.history is not None or feed.chained >= _CHAINED):
        found.backlog.feed_carried()


def _merged(
    found: Subscription, older: dict[int, Message], unacked: Iterator[Message]
) -> Iterator[Message]:
    """Retained and unacked messages, each once; those of a key in their order (ORD-09)."""
    if older and found.resource.enable_message_ordering:
        older |= {message.position: message for message in unacked}
        yield from sorted(older.values(), key=attrgetter("position"))
        return
    for message in unacked:
        older.pop(message.position, None)
        yield message
    yield from older.values()


def _replace(
    found: Subscription,
    start: int,
    carried: Iterator[Message],
    count: int,
    wants: Callable[[Message], bool],
    kept: list[int | None],
) -> tuple[Effect, ...]:
    """Give a subscription a new backlog; leases end, and attempts start anew (SEK-13).

    `kept` are times before which nothing of `carried` was published.
    """
    oldest_us = min((time_us for time_us in kept if time_us is not None), default=NO_TIME_US)
    backlog = found.new_backlog(start)
    feed = Feed(
        carried,
        count,
        wants,
        start=start,
        oldest_us=oldest_us,
        log=found.log if backlog.is_indexed else None,
        former=found.backlog,
    )
    backlog.feed_from(feed)
    effects = found.replace_backlog(backlog)
    found.schedule()
    return effects
