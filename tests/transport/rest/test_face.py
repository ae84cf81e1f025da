"""What the face makes of handlers: those that answer, that fail, and whose answers JSON has not."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from emulator.api import pubsub, wkt
from emulator.engine.values.errors import NotFound
from emulator.service.call import Call
from emulator.transport.http_server import make_server
from emulator.transport.web_guard import WebGuard
from tests.spec import spec
from tests.transport.rest.client import NoControl

Run = Callable[[Coroutine[Any, Any, None]], None]
Ask = Callable[[Callable[..., Any]], tuple[int, Any]]


@pytest.fixture
def ask(run: Run) -> Ask:
    """Ask for a topic, which the given handler answers; return status and JSON."""

    async def exchange(handler: Callable[..., Any]) -> bytes:
        handlers = {"/google.pubsub.v1.Publisher/GetTopic": handler}
        server = make_server(NoControl(), handlers, WebGuard())
        listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*listener.sockets[0].getsockname())
        writer.write(
            b"GET /v1/projects/p/topics/t HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        )
        answer = await reader.read()
        writer.close()
        listener.close()
        await server.shutdown(1)
        return answer

    def asked(handler: Callable[..., Any]) -> tuple[int, Any]:
        answers: list[bytes] = []

        async def main() -> None:
            answers.append(await exchange(handler))

        run(main())
        head, _, body = answers[0].partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(body)

    return asked


def topic(request: pubsub.GetTopicRequest, call: Call) -> pubsub.Topic:
    assert request == pubsub.GetTopicRequest.FromString(call.encoded)
    return pubsub.Topic(name=request.topic)


async def topic_later(request: pubsub.GetTopicRequest, call: Call) -> pubsub.Topic:
    await asyncio.sleep(0)
    return topic(request, call)


def encoded_topic(request: pubsub.GetTopicRequest, call: Call) -> bytes:
    return topic(request, call).SerializeToString()


@pytest.mark.parametrize("handler", [topic, topic_later, encoded_topic])
def test_any_kind_of_handler(ask: Ask, handler: Callable[..., Any]) -> None:
    assert ask(handler) == (200, {"name": "projects/p/topics/t"})


@spec("RST-50")
def test_a_refusal_is_no_failure(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(request: Any, call: Call) -> None:
        raise NotFound("Gone.")

    error = {"code": 404, "message": "Gone.", "status": "NOT_FOUND"}
    assert ask(refuse) == (404, {"error": error})
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


def test_a_failure_is_logged_and_not_told(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    def fail(request: Any, call: Call) -> None:
        raise KeyError("secret")

    status, answer = ask(fail)
    assert (status, answer["error"]["status"]) == (500, "INTERNAL")
    assert "secret" not in answer["error"]["message"]
    [record] = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert record.getMessage() == "/google.pubsub.v1.Publisher/GetTopic failed."
    assert record.exc_info is not None


@spec("PUL-06")
def test_an_answer_that_json_cannot_say_is_given_back(ask: Ask) -> None:
    abandoned: list[bool] = []

    def unspeakable(request: Any, call: Call) -> pubsub.Topic:
        call.on_abandoned(lambda: abandoned.append(True))
        return pubsub.Topic(message_retention_duration=wkt.Duration(nanos=2_000_000_000))

    assert ask(unspeakable)[0] == 500
    assert abandoned == [True]


def test_an_answer_that_arrives_is_kept(ask: Ask) -> None:
    abandoned: list[bool] = []

    def guarded(request: Any, call: Call) -> pubsub.Topic:
        call.on_abandoned(lambda: abandoned.append(True))
        return topic(request, call)

    assert ask(guarded)[0] == 200
    assert abandoned == []
