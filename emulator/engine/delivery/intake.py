"""How messages come into a backlog: from a publish, or from what a seek brings back."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.api import pubsub
from emulator.engine.delivery.events import Fed, Filtered
from emulator.engine.delivery.feed import Feed
from emulator.engine.delivery.history import History
from emulator.engine.delivery.lanes import Lanes
from emulator.engine.delivery.queue import UnkeyedQueue
from emulator.engine.delivery.shared import Shared
from emulator.engine.filters import Filter
from emulator.engine.log.message_log import Message


class Intake:
    """Takes messages in that pass the filter, each into its lane or into the queue.

    `feed` brings those of a seek, until they are all here.
    """

    __slots__ = (
        "_fed",
        "_fed_acked",
        "_lanes",
        "_queue",
        "_shared",
        "feed",
        "filter",
    )

    def __init__(
        self, shared: Shared, queue: UnkeyedQueue, lanes: Lanes | None, filter: Filter | None
    ) -> None:
        self.filter = filter
        self.feed: Feed | None = None
        self._shared = shared
        self._queue = queue
        self._lanes = lanes
        self._fed: list[int] = []
        self._fed_acked: list[int] = []

    @property
    def history(self) -> History | None:
        return self._shared.history

    def index(self, messages: Sequence[Message], contents: Sequence[pubsub.PubsubMessage]) -> None:
        """Take in what was published; `contents` are the messages as sent (DLV-40)."""
        if self.feed is not None and self.feed.reads_the_log:
            return  # it comes to them in their turn
        if self.filter is None:
            for message in messages:
                self.put(message)
            return
        matches = self.filter.matches
        rejected = []
        for message, content in zip(messages, contents, strict=True):
            if matches(content.attributes):
                self.put(message)
            else:
                rejected.append(message)
        if rejected and self._shared.recording.is_on:
            positions = tuple(message.position for message in rejected)
            self._shared.recording.add(Filtered(self._shared.subscription, positions))

    def put(self, message: Message) -> None:
        """Take in one message that is for this subscription and is not settled."""
        if self._lanes is not None and message.ordering_key:
            self._lanes.put(message)
        else:
            self._queue.source.put(message)
        if self.feed is not None and self._shared.recording.is_on:
            self._fed.append(message.position)

    def note_acked(self, message: Message) -> None:
        """A message is acked by the seek whose feed has come to it."""
        if self._shared.recording.is_on:
            self._fed_acked.append(message.position)

    def feed_some(self, budget: int) -> int:
        """Bring up to `budget` messages that a seek made available; return how many it saw."""
        feed = self.feed
        if feed is None:
            return 0
        carried = feed.carried_seen
        seen = feed.bring(self, budget)
        if feed.is_done:
            self.feed = None
        if seen:
            self._shared.effects.append(self._shared.wake)
        self._record_fed(feed, carried)
        return seen

    def feed_carried(self) -> None:
        """Bring what a seek carries over, and leave what is in the log."""
        feed = self.feed
        if feed is not None:
            carried = feed.carried_seen
            feed.bring_carried(self)
            self._record_fed(feed, carried)

    def _record_fed(self, feed: Feed, carried_before: int) -> None:
        shared = self._shared
        if shared.recording.is_on:
            shared.recording.add(
                Fed(
                    shared.subscription,
                    feed.carried_seen - carried_before,
                    feed.log_position,
                    tuple(self._fed),
                    tuple(self._fed_acked),
                    feed.is_done,
                )
            )
            self._fed, self._fed_acked = [], []
