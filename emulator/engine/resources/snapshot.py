"""A snapshot: what was not acked in a subscription, and all that came after (SNP-01, SNP-08)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from emulator.api import pubsub
from emulator.engine.delivery.outcome import Due, Effect, Fired
from emulator.engine.log.message_log import Message, MessageLog
from emulator.engine.resources.alarms import HasAlarm
from emulator.engine.values import field_masks, labels

_MASKABLE = field_masks.Maskable(kind="Snapshot", hint="expire_time", mutable={"labels"})  # UPD-07


class Snapshot(HasAlarm):
    """`position` is where in `log` it begins; `unacked` are messages from before, in order.

    It holds all of them for as long as it is there, whatever becomes of the subscription. `delete`
    deletes the snapshot of a name, at a time.
    """

    due = Due.SNAPSHOT_EXPIRY

    def __init__(
        self,
        resource: pubsub.Snapshot,
        log: MessageLog,
        position: int,
        unacked: tuple[Message, ...],
        delete: Callable[[str, int], None],
    ) -> None:
        self._delete = delete
        self.resource = resource
        self.log = log
        self.unacked = unacked
        self.oldest_us = min((message.publish_time_us for message in unacked), default=None)
        self._reader = log.attach(position)
        self._remains: list[Message] = []

    @property
    def name(self) -> str:
        return self.resource.name

    @property
    def position(self) -> int:
        return self._reader.position

    def ring(self, now: int) -> tuple[list[Effect], int | None]:
        """Delete it, as it has expired (SNP-06)."""
        name = self.resource.name
        self._delete(name, now)
        return [Fired(now, Due.SNAPSHOT_EXPIRY, name, 1)], None

    def close(self) -> None:
        """Hold the log no more; the rest goes by `reclaim`."""
        self.log.detach(self._reader)
        # A feed may still go through the tuple.
        self._remains, self.unacked = list(self.unacked), ()

    def reclaim(self, budget: int) -> int:
        """Free up to `budget` messages that only a closed snapshot held; return how many."""
        count = min(budget, len(self._remains))
        if count:
            del self._remains[-count:]
        return count + self.log.reclaim(budget - count)

    def __repr__(self) -> str:
        return f"<Snapshot {self.resource.name} from {self.position}, {len(self.unacked)} before>"


def updated(
    current: pubsub.Snapshot, given: pubsub.Snapshot, paths: Iterable[str]
) -> pubsub.Snapshot:
    """Return what updating `current` by a mask makes: labels are merged (UPD-08)."""
    resource = field_masks.updated(current, given, paths, _MASKABLE)
    for key, value in current.labels.items():
        if key not in resource.labels:
            resource.labels[key] = value
    labels.check(resource.labels)
    return resource
