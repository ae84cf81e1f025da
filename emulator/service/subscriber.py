"""The Subscriber service: one method an RPC, for every transport."""

from __future__ import annotations

from emulator.api import pubsub
from emulator.api.wkt import Empty
from emulator.engine.delivery.leases import Lease
from emulator.engine.values.errors import PubsubError
from emulator.service import features
from emulator.service.call import Call
from emulator.service.core import Core
from emulator.service.pull import WaitingPull
from emulator.service.splice import pull_response
from emulator.service.stream import Stream

#: How long a Pull waits for a message when its caller would wait for ever (PUL-03).
PULL_WAIT_S = 90.0


class Subscriber:
    def __init__(self, core: Core) -> None:
        self._core = core

    def create_subscription(self, request: pubsub.Subscription, call: Call) -> pubsub.Subscription:
        features.check(request)
        core = self._core
        name = request.name or request.topic  # NAM-19: a made-up name lies in the topic's project
        return core.perform(name, core.engine.subscriptions.create, request)

    def get_subscription(
        self, request: pubsub.GetSubscriptionRequest, call: Call
    ) -> pubsub.Subscription:
        core, name = self._core, request.subscription
        return core.perform(name, core.engine.subscriptions.get, name)

    def update_subscription(
        self, request: pubsub.UpdateSubscriptionRequest, call: Call
    ) -> pubsub.Subscription:
        paths = request.update_mask.paths
        features.check(request.subscription, paths)
        core, name = self._core, request.subscription.name
        return core.perform(name, core.engine.subscriptions.update, request.subscription, paths)

    def list_subscriptions(
        self, request: pubsub.ListSubscriptionsRequest, call: Call
    ) -> pubsub.ListSubscriptionsResponse:
        core = self._core
        subscriptions, token = core.perform(
            request.project,
            core.engine.subscriptions.list,
            request.project,
            request.page_size,
            request.page_token,
        )
        return pubsub.ListSubscriptionsResponse(subscriptions=subscriptions, next_page_token=token)

    def delete_subscription(self, request: pubsub.DeleteSubscriptionRequest, call: Call) -> Empty:
        core, name = self._core, request.subscription
        core.perform(name, core.engine.subscriptions.delete, name)
        return Empty()

    async def pull(self, request: pubsub.PullRequest, call: Call) -> bytes:
        """Answer with what is available, or wait for it; the response is encoded already."""
        core, name, limit = self._core, request.subscription, request.max_messages
        taken = core.perform(name, core.engine.holders.pull, name, limit)
        if not taken.leases and not request.return_immediately:
            waiting = WaitingPull(core, name, limit)
            taken = await waiting.wait(_wait_s(call.remaining_s())) or taken
        if taken.leases:
            self._guard(name, taken.leases, call)
            return pull_response(taken.leases, is_attempt_shown=taken.is_attempt_shown)
        return b""

    def _guard(self, subscription: str, leases: list[Lease], call: Call) -> None:
        """See that messages do not stay leased to a caller who never got them (PUL-06)."""
        call.on_abandoned(lambda: self._core.release(subscription, leases))

    def streaming_pull(self, first: pubsub.StreamingPullRequest, call: Call) -> Stream:
        """Open a stream with its first request; the transport carries what goes both ways."""
        return Stream(self._core, first)

    def acknowledge(self, request: pubsub.AcknowledgeRequest, call: Call) -> Empty:
        core, name = self._core, request.subscription
        failure = core.perform(
            name,
            core.engine.acknowledge,
            name,
            request.ack_ids,
            size_bytes=call.limited_bytes,
        )
        _raise(failure)
        return Empty()

    def modify_ack_deadline(self, request: pubsub.ModifyAckDeadlineRequest, call: Call) -> Empty:
        core, name = self._core, request.subscription
        failure = core.perform(
            name,
            core.engine.modify_ack_deadline,
            name,
            request.ack_ids,
            request.ack_deadline_seconds,
            size_bytes=call.limited_bytes,
        )
        _raise(failure)
        return Empty()

    def seek(self, request: pubsub.SeekRequest, call: Call) -> pubsub.SeekResponse:
        core, name = self._core, request.subscription
        core.perform(name, core.engine.seeking.seek, request)
        return pubsub.SeekResponse()

    # --- snapshots ---

    def create_snapshot(self, request: pubsub.CreateSnapshotRequest, call: Call) -> pubsub.Snapshot:
        core = self._core
        name = request.name or request.subscription  # NAM-19: in the subscription's project
        return core.perform(name, core.engine.snapshots.create, request)

    def get_snapshot(self, request: pubsub.GetSnapshotRequest, call: Call) -> pubsub.Snapshot:
        core, name = self._core, request.snapshot
        return core.perform(name, core.engine.snapshots.get, name)

    def list_snapshots(
        self, request: pubsub.ListSnapshotsRequest, call: Call
    ) -> pubsub.ListSnapshotsResponse:
        core = self._core
        snapshots, token = core.perform(
            request.project,
            core.engine.snapshots.list,
            request.project,
            request.page_size,
            request.page_token,
        )
        return pubsub.ListSnapshotsResponse(snapshots=snapshots, next_page_token=token)

    def update_snapshot(self, request: pubsub.UpdateSnapshotRequest, call: Call) -> pubsub.Snapshot:
        core, name = self._core, request.snapshot.name
        paths = request.update_mask.paths
        return core.perform(name, core.engine.snapshots.update, request.snapshot, paths)

    def delete_snapshot(self, request: pubsub.DeleteSnapshotRequest, call: Call) -> Empty:
        core, name = self._core, request.snapshot
        core.perform(name, core.engine.snapshots.delete, name)
        return Empty()


def _raise(failure: PubsubError | None) -> None:
    """Raise what some ids of a request met with; the others have been processed (EOD-03)."""
    if failure is not None:
        raise failure


def _wait_s(remaining_s: float | None) -> float:
    """Wait as long as the caller does, less what it takes to answer in time (PUL-03)."""
    if remaining_s is None:
        return PULL_WAIT_S
    return min(max(remaining_s - min(1.0, remaining_s / 10), 0.0), PULL_WAIT_S)
