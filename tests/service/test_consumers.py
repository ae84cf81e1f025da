"""Consumers in the moment between the end of their wait and their hearing of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from emulator.api import pubsub
from emulator.service.core import Core
from emulator.service.pull import WaitingPull
from emulator.service.stream import Stream
from tests.spec import spec

TOPIC = "projects/p/topics/top"
SUBSCRIPTION = "projects/p/subscriptions/sub"


def make_core() -> Core:
    core = Core()
    core.perform(TOPIC, core.engine.topics.create, pubsub.Topic(name=TOPIC))
    given = pubsub.Subscription(name=SUBSCRIPTION, topic=TOPIC)
    core.perform(SUBSCRIPTION, core.engine.subscriptions.create, given)
    return core


def publish(core: Core) -> None:
    request = pubsub.PublishRequest(topic=TOPIC, messages=[{"data": b"x"}])
    encoded = request.SerializeToString()
    core.perform(TOPIC, core.engine.publish, request, encoded)


def available(core: Core) -> int:
    return core.engine._world.subscriptions[SUBSCRIPTION].backlog.available


async def begin(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Start `work`; return when it waits."""
    task = asyncio.create_task(work)
    await asyncio.sleep(0)
    return task


def time_out(pull: WaitingPull, task: asyncio.Task[Any]) -> None:
    pull.answer(None)


def go_away(pull: WaitingPull, task: asyncio.Task[Any]) -> None:
    task.cancel()


@spec("PUL-03", "PUL-06")
@pytest.mark.parametrize("end", [time_out, go_away])
def test_a_pull_whose_wait_is_over_takes_no_message(
    end: Callable[[WaitingPull, asyncio.Task[Any]], None],
) -> None:
    async def story() -> None:
        core = make_core()
        pull = WaitingPull(core, SUBSCRIPTION, 10)
        task = await begin(pull.wait(60))
        end(pull, task)
        publish(core)
        await asyncio.gather(task, return_exceptions=True)
        assert available(core) == 1
        core.close()

    asyncio.run(story())


@spec("STR-11", "DLV-06")
def test_a_message_that_meets_a_ping_is_not_lost() -> None:
    async def story() -> None:
        core = make_core()
        first = pubsub.StreamingPullRequest(
            subscription=SUBSCRIPTION, stream_ack_deadline_seconds=10, protocol_version=1
        )
        stream = Stream(core, first)
        await stream.next_response()  # the answer to the first request
        task = await begin(stream.next_response())
        stream.receive(pubsub.StreamingPullRequest())
        publish(core)
        responses = [await task]
        assert available(core) == 1  # not leased to nobody meanwhile
        responses.append(await stream.next_response())
        decoded = [pubsub.StreamingPullResponse.FromString(each) for each in responses]
        assert [len(each.received_messages) for each in decoded] == [0, 1]
        stream.close()
        core.close()

    asyncio.run(story())


@spec("STR-05")
def test_a_stream_that_is_gone_takes_no_message() -> None:
    async def story() -> None:
        core = make_core()
        first = pubsub.StreamingPullRequest(
            subscription=SUBSCRIPTION, stream_ack_deadline_seconds=10
        )
        stream = Stream(core, first)
        task = await begin(stream.next_response())
        task.cancel()
        publish(core)
        await asyncio.gather(task, return_exceptions=True)
        stream.close()
        assert available(core) == 1
        core.close()

    asyncio.run(story())


@spec("SUB-21", "STR-13")
def test_a_stream_that_the_server_ended_takes_no_message() -> None:
    async def story() -> None:
        core = make_core()
        first = pubsub.StreamingPullRequest(
            subscription=SUBSCRIPTION, stream_ack_deadline_seconds=10
        )
        stream = Stream(core, first)
        publish(core)
        given = pubsub.Subscription(name=SUBSCRIPTION, bigquery_config={"table": "p.d.t"})
        core.perform(SUBSCRIPTION, core.engine.subscriptions.update, given, ["bigquery_config"])
        assert stream.lease(10, 1) is None
        stream.close()
        core.close()

    asyncio.run(story())
