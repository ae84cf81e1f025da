"""A naive model of every guarantee of delivery.

A subscription is the list of all messages it ever had, in the order of publishing, and each rule
is looked up in that list as the specification words it. The model does not predict which messages
a lease takes: it says which ones it may take, and when it took too few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from emulator.api import pubsub
from emulator.engine.log.message_ids import message_id
from emulator.engine.values.durations import to_timestamp

SECOND_US = 1_000_000
INVALID = "PERMANENT_FAILURE_INVALID_ACK_ID"
UNORDERED = "TRANSIENT_FAILURE_UNORDERED_ACK_ID"

WAITING, LEASED, DELAYED = "waiting", "leased", "delayed"
ACKED = "acked"  # comes again if an earlier one of its key fails (ORD-02)
GONE = "gone"  # for good


class ModelMessage:
    """`until_us` is when the lease or the backoff ends; `holder` is who has it.

    `counted` are the failures under the present dead-letter policy.
    """

    def __init__(self, content: pubsub.PubsubMessage) -> None:
        self.content = content
        self.state = WAITING
        self.ack_id = ""
        self.failures = 0
        self.counted = 0
        self.until_us = 0
        self.holder: object = None

    @property
    def size(self) -> int:
        return self.content.ByteSize()

    @property
    def key(self) -> str:
        return self.content.ordering_key

    @property
    def is_unsettled(self) -> bool:
        return self.state in (WAITING, LEASED, DELAYED)

    def end(self, state: str) -> None:
        self.state = state
        self.holder = None

    def __repr__(self) -> str:
        return f"<{self.content.data!r} {self.key!r} {self.state}>"


class Window(NamedTuple):
    """What a consumer may take at once; limits of 0 are none."""

    holder: object
    max_messages: int = 0
    max_bytes: int = 0


class ModelSubscription:
    def __init__(
        self,
        name: str,
        topic: str,
        ack_deadline_s: int,
        *,
        is_ordered: bool = False,
        is_exactly_once: bool = False,
        passes: Callable[[Any], bool] = lambda attributes: True,
    ) -> None:
        self.name = name
        self.topic: str | None = topic
        self.ack_deadline_s = ack_deadline_s
        self.is_ordered = is_ordered
        self.is_exactly_once = is_exactly_once
        self.is_detached = False
        self.passes = passes
        self.backoff_s: tuple[int, int] | None = None
        self.max_attempts = 0
        self.target = ""  # of dead letters; empty when it was deleted
        self.messages: list[ModelMessage] = []
        self.acked_ids: set[str] = set()
        self.now = 0
        self.streams: dict[object, Window] = {}  # by their holders
        self.kept: dict[str, tuple[object, int]] = {}  # key -> the stream that nacked it, until

    # --- what there is ---

    def of_state(self, state: str) -> list[ModelMessage]:
        return [message for message in self.messages if message.state == state]

    def lane(self, message: ModelMessage) -> list[ModelMessage]:
        """All messages that are in order with `message`, itself included."""
        if not self.is_ordered or not message.key:
            return [message]
        return [m for m in self.messages if m.key == message.key]

    def before(self, message: ModelMessage) -> list[ModelMessage]:
        lane = self.lane(message)
        return lane[: lane.index(message)]

    def behind(self, message: ModelMessage) -> list[ModelMessage]:
        lane = self.lane(message)
        return lane[lane.index(message) + 1 :]

    def is_held_back(self, message: ModelMessage) -> bool:
        """Whether a backoff of its own, or of one of its key, keeps a message (ORD-08)."""
        return any(m.state == DELAYED for m in self.lane(message))

    def counts(self) -> tuple[int, int, int]:
        """How many are available, leased and delayed."""
        here = self.of_state(WAITING) + self.of_state(DELAYED)
        held_back = sum(map(self.is_held_back, here))
        return len(here) - held_back, len(self.of_state(LEASED)), held_back

    def held_by(self, holder: object) -> list[ModelMessage]:
        return [m for m in self.of_state(LEASED) if m.holder == holder]

    def named(self, ack_id: str) -> ModelMessage | None:
        return next((m for m in self.messages if ack_id and m.ack_id == ack_id), None)

    def running(self, ack_ids: Iterable[str]) -> list[ModelMessage]:
        found = (self.named(ack_id) for ack_id in dict.fromkeys(ack_ids))
        return [m for m in found if m is not None and m.state == LEASED]

    # --- leases ---

    def may_go(self, message: ModelMessage, holder: object) -> bool:
        """Whether `holder` may get a message now (ORD-01, ORD-04, ORD-05, ORD-08)."""
        if message.state != WAITING or self.is_held_back(message):
            return False
        if any(m.state == WAITING for m in self.before(message)):
            return False
        lane = [m for m in self.lane(message) if m.state == LEASED]
        if not lane and self.is_kept(message, holder):
            return False
        return all(m.holder == holder for m in self.lane(message) if m.state == LEASED)

    def is_kept(self, message: ModelMessage, holder: object) -> bool:
        """Whether a key waits for the stream that nacked it, which has room, and no other's."""
        if message.key not in self.kept or not self.is_ordered:
            return False
        stream, until_us = self.kept[message.key]
        window = self.streams[stream]
        room = window.max_messages - len(self.held_by(stream)) if window.max_messages else 1
        return stream != holder and self.now < until_us and room > 0

    def forget_empty_keys(self) -> None:
        here = {m.key for m in self.messages if m.state in (WAITING, LEASED, DELAYED)}
        self.kept = {key: kept for key, kept in self.kept.items() if key in here}

    def lease(
        self, taken: Sequence[tuple[str, str]], limit: int, deadline_us: int, window: Window
    ) -> list[ModelMessage]:
        """Check a lease, given as message and ack ids in order, and do it too."""
        held = self.held_by(window.holder)
        room = window.max_bytes - sum(m.size for m in held) if window.max_bytes else 10**9
        if window.max_messages:
            limit = min(limit, max(window.max_messages - len(held), 0))
        may_be_large = not held and limit > 0
        assert len(taken) <= limit
        leased = []
        for new_id, ack_id in taken:
            [message] = [m for m in self.messages if m.content.message_id == new_id]
            assert self.may_go(message, window.holder), f"{message} for {window.holder}"
            message.state, message.ack_id, message.holder = LEASED, ack_id, window.holder
            message.until_us = deadline_us
            self.kept.pop(message.key, None)
            leased.append(message)
            room -= message.size
        assert room >= 0 or not leased or (may_be_large and len(leased) == 1)
        left = [m for m in self.messages if self.may_go(m, window.holder)]
        if left and len(leased) < limit:
            assert leased or not may_be_large, "nothing, though there was room"
            assert max(m.size for m in left) > room, "less than there was room for"
        return leased

    def release(self, ack_ids: Iterable[str]) -> None:
        """Leases end as if they had not been made (PUL-06)."""
        returned = self.running(ack_ids)
        for message in returned:
            message.end(WAITING)
            message.ack_id = ""
        self._rewind(returned)

    # --- acknowledgements ---

    def acknowledge(self, ack_ids: Sequence[str]) -> dict[str, str]:
        """Settle; return the ids that failed and why."""
        if self.is_exactly_once:
            return self._acknowledge_exactly(ack_ids)
        for ack_id in ack_ids:
            message = self.named(ack_id)
            if message is not None and self._may_settle(message):
                self._settle(message)
        return {}

    def _may_settle(self, message: ModelMessage) -> bool:
        """Late acks count for the next of a key only (DLV-23)."""
        return message.state == LEASED or not any(
            m.state in (WAITING, DELAYED) for m in self.before(message)
        )

    def _settle(self, message: ModelMessage) -> None:
        message.end(ACKED)
        message.ack_id = ""
        self.forget_empty_keys()

    def _acknowledge_exactly(self, ack_ids: Sequence[str]) -> dict[str, str]:
        failed = {}
        order = {m.ack_id: number for number, m in enumerate(self.messages)}
        for ack_id in sorted(dict.fromkeys(ack_ids), key=lambda i: order.get(i, -1)):
            message = self.named(ack_id)
            if message is None or message.state != LEASED:
                if ack_id not in self.acked_ids:
                    failed[ack_id] = INVALID
            elif any(m.is_unsettled for m in self.before(message)):
                failed[ack_id] = UNORDERED
            else:
                self._settle(message)
                self.acked_ids.add(ack_id)
        return failed

    # --- deadlines ---

    def modify(self, ack_ids: Sequence[str], deadline_us: int) -> dict[str, str]:
        failed = self._not_running(ack_ids)
        for message in self.running(ack_ids):
            message.until_us = deadline_us
        return failed

    def nack(
        self, ack_ids: Sequence[str], now: int
    ) -> tuple[dict[str, str], list[pubsub.PubsubMessage]]:
        """End leases; return the ids that failed and the dead letters."""
        failed = self._not_running(ack_ids)
        running = self.running(ack_ids)
        holders = {m.key: m.holder for m in running if self.is_ordered and m.key}
        dead = self.fail(running, now)
        keys = {m.key for m in running if m.state in (WAITING, DELAYED)}
        for key, holder in holders.items():
            if key in keys and holder in self.streams:
                self.kept[key] = holder, now + 10 * SECOND_US
        self.forget_empty_keys()
        return failed, dead

    def _not_running(self, ack_ids: Sequence[str]) -> dict[str, str]:
        if not self.is_exactly_once:
            return {}
        running = {m.ack_id for m in self.running(ack_ids)}
        return {ack_id: INVALID for ack_id in ack_ids if ack_id not in running}

    def fail(self, failed: Sequence[ModelMessage], now: int) -> list[pubsub.PubsubMessage]:
        """Leases ended without an ack; return the dead letters (DLQ-02)."""
        dead, kept = [], []
        for message in failed:
            message.failures += 1
            message.counted += 1
            message.end(WAITING)
            if self.max_attempts and self.target and message.counted >= self.max_attempts:
                message.end(GONE)
                message.ack_id = ""
                dead.append(self._dead_letter(message))
            else:
                kept.append(message)
        for message in self._rewind(kept):
            if self._delay_us(message.failures):
                message.state = DELAYED
                message.until_us = now + self._delay_us(message.failures)
        return dead

    def _delay_us(self, failures: int) -> int:
        if self.backoff_s is None:
            return 0
        minimum_s, maximum_s = self.backoff_s
        return min(minimum_s * 2 ** (failures - 1), maximum_s) * SECOND_US

    def _rewind(self, ended: Sequence[ModelMessage]) -> list[ModelMessage]:
        """Take every key back to the first of its messages whose leases ended (ORD-02, ORD-03).

        Return those first messages, and all without a key.
        """
        firsts = [m for m in ended if not any(other in ended for other in self.before(m))]
        for message in ended:
            if message not in firsts:
                message.ack_id = ""
        for first in firsts:
            for message in self.behind(first):
                if message.state == ACKED:
                    message.state = GONE if self.is_exactly_once else WAITING
                elif message.state == LEASED:
                    message.end(WAITING)
                    message.ack_id = ""
                elif message.state == DELAYED:
                    message.state = WAITING
        return firsts

    def _dead_letter(self, message: ModelMessage) -> pubsub.PubsubMessage:
        _, project, _, subscription = self.name.split("/")
        copy = pubsub.PubsubMessage()
        copy.CopyFrom(message.content)
        copy.ClearField("message_id")
        copy.ClearField("publish_time")
        source = "CloudPubSubDeadLetterSource"
        time = message.content.publish_time.ToDatetime()
        copy.attributes[f"{source}DeliveryCount"] = str(message.counted)
        copy.attributes[f"{source}Subscription"] = subscription
        copy.attributes[f"{source}SubscriptionProject"] = project
        copy.attributes[f"{source}TopicPublishTime"] = (
            time.isoformat(timespec="milliseconds") + "+00:00"
        )
        return copy

    # --- time ---

    def due(self, state: str, now: int) -> list[ModelMessage]:
        return [m for m in self.of_state(state) if m.until_us <= now]

    # --- rules ---

    def set_policy(self, target: str, max_attempts: int) -> None:
        """Have a dead-letter policy; 0 attempts for none (DLQ-11)."""
        if max_attempts and not self.max_attempts:
            for message in self.messages:
                message.counted = 0
        self.target, self.max_attempts = target, max_attempts


class Model:
    def __init__(self) -> None:
        self.topics: dict[str, int] = {}  # with the time of the last message
        self.subscriptions: dict[str, ModelSubscription] = {}
        self.published = 0

    def attached(self, topic: str) -> list[ModelSubscription]:
        return [s for s in self.subscriptions.values() if s.topic == topic]

    def of_project(self, project: str) -> list[ModelSubscription]:
        prefix = f"projects/{project}/"
        return [
            s
            for s in self.subscriptions.values()
            if s.name.startswith(prefix) and not s.is_detached
        ]

    def delete_topic(self, topic: str) -> None:
        del self.topics[topic]
        for subscription in self.attached(topic):
            subscription.topic = None
        for subscription in self.subscriptions.values():
            if subscription.target == topic:
                subscription.target = ""

    def publish(self, topic: str, contents: Iterable[pubsub.PubsubMessage], now: int) -> list[str]:
        """Publish messages, without ids and times; return their ids."""
        ids = []
        self.topics[topic] = time_us = max(now - now % 1_000, self.topics[topic])
        for content in contents:
            message = pubsub.PubsubMessage()
            message.CopyFrom(content)
            message.message_id = message_id(self.published).decode()
            message.publish_time.CopyFrom(to_timestamp(time_us))
            self.published += 1
            ids.append(message.message_id)
            for subscription in self.attached(topic):
                if subscription.passes(message.attributes):
                    subscription.messages.append(ModelMessage(message))
        return ids

    def next_deadline(self, project: str) -> int | None:
        """When the first lease or backoff of a project ends."""
        deadlines = [
            message.until_us
            for subscription in self.of_project(project)
            for message in subscription.messages
            if message.state in (LEASED, DELAYED)
        ]
        return min(deadlines, default=None)
