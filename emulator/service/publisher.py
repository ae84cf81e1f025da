"""The Publisher service: one method an RPC, for every transport."""

from __future__ import annotations

from emulator.api import pubsub
from emulator.api.wkt import Empty
from emulator.service import features
from emulator.service.call import Call
from emulator.service.core import Core


class Publisher:
    def __init__(self, core: Core) -> None:
        self._core = core

    def create_topic(self, request: pubsub.Topic, call: Call) -> pubsub.Topic:
        features.check(request)
        core = self._core
        return core.perform(request.name, core.engine.topics.create, request)

    def update_topic(self, request: pubsub.UpdateTopicRequest, call: Call) -> pubsub.Topic:
        paths = request.update_mask.paths
        features.check(request.topic, paths)
        core, name = self._core, request.topic.name
        return core.perform(name, core.engine.topics.update, request.topic, paths)

    def publish(self, request: pubsub.PublishRequest, call: Call) -> pubsub.PublishResponse:
        core, topic = self._core, request.topic
        ids = core.perform(topic, core.engine.publish, request, call.encoded)
        return pubsub.PublishResponse(message_ids=ids)

    def get_topic(self, request: pubsub.GetTopicRequest, call: Call) -> pubsub.Topic:
        core = self._core
        return core.perform(request.topic, core.engine.topics.get, request.topic)

    def list_topics(
        self, request: pubsub.ListTopicsRequest, call: Call
    ) -> pubsub.ListTopicsResponse:
        core = self._core
        topics, token = core.perform(
            request.project,
            core.engine.topics.list,
            request.project,
            request.page_size,
            request.page_token,
        )
        return pubsub.ListTopicsResponse(topics=topics, next_page_token=token)

    def list_topic_subscriptions(
        self, request: pubsub.ListTopicSubscriptionsRequest, call: Call
    ) -> pubsub.ListTopicSubscriptionsResponse:
        core = self._core
        names, token = core.perform(
            request.topic,
            core.engine.topics.list_subscriptions,
            request.topic,
            request.page_size,
            request.page_token,
        )
        return pubsub.ListTopicSubscriptionsResponse(subscriptions=names, next_page_token=token)

    def detach_subscription(
        self, request: pubsub.DetachSubscriptionRequest, call: Call
    ) -> pubsub.DetachSubscriptionResponse:
        core, name = self._core, request.subscription
        core.perform(name, core.engine.subscriptions.detach, name)
        return pubsub.DetachSubscriptionResponse()

    def list_topic_snapshots(
        self, request: pubsub.ListTopicSnapshotsRequest, call: Call
    ) -> pubsub.ListTopicSnapshotsResponse:
        core = self._core
        names, token = core.perform(
            request.topic,
            core.engine.snapshots.list_of_topic,
            request.topic,
            request.page_size,
            request.page_token,
        )
        return pubsub.ListTopicSnapshotsResponse(snapshots=names, next_page_token=token)

    def delete_topic(self, request: pubsub.DeleteTopicRequest, call: Call) -> Empty:
        core = self._core
        core.perform(request.topic, core.engine.topics.delete, request.topic)
        return Empty()
