"""Topics that come to be when they are first used (`--auto-create`); the service never does this.

Only names that a topic may have make one, and only in a project that exists; whatever else is
wrong with a request is still refused.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from emulator.api import pubsub
from emulator.engine.values.errors import AlreadyExists, NotFound
from emulator.service.call import Call

if TYPE_CHECKING:
    from emulator.service.service import Handler

log = logging.getLogger("emulator")

_CREATE = "/google.pubsub.v1.Publisher/CreateTopic"
#: Path of a method -> the topics that its requests use.
_USES: Mapping[str, Callable[[Any], tuple[str, ...]]] = {
    "/google.pubsub.v1.Publisher/Publish": lambda request: (request.topic,),
    "/google.pubsub.v1.Subscriber/CreateSubscription": lambda request: (
        request.topic,
        request.dead_letter_policy.dead_letter_topic,
    ),
}


def with_topics_made(handlers: Mapping[str, Handler]) -> dict[str, Handler]:
    """Return the handlers, those that use topics making the ones that are missing."""
    made = dict(handlers)
    for path, topics_of in _USES.items():
        made[path] = _maker(handlers[path], topics_of, handlers[_CREATE])
    return made


def _maker(handler: Any, topics_of: Callable[[Any], tuple[str, ...]], create: Any) -> Handler:
    """Try a request again after its topics were made; transports tell by the function's kind
    whether they have to wait."""

    def handle(request: Any, call: Call) -> Any:
        # The way of every request but the first stays as short as it was.
        try:
            return handler(request, call)
        except NotFound:
            for name in filter(None, topics_of(request)):
                with _made(name):
                    create(pubsub.Topic(name=name), call)
            return handler(request, call)

    async def handle_waiting(request: Any, call: Call) -> Any:
        try:
            return await _result(handler(request, call))
        except NotFound:
            for name in filter(None, topics_of(request)):
                with _made(name):
                    await _result(create(pubsub.Topic(name=name), call))
            return await _result(handler(request, call))

    is_waiting = any(inspect.iscoroutinefunction(each) for each in (handler, create))
    return handle_waiting if is_waiting else handle


@contextlib.contextmanager
def _made(name: str) -> Iterator[None]:
    """Log that a topic was made, unless it was there."""
    with contextlib.suppress(AlreadyExists):
        yield
        log.info("Topic %s did not exist and was made (--auto-create).", name)


async def _result(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer
