"""The event loops that servers run on."""

from __future__ import annotations

import asyncio
from typing import Any


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a loop of uvloop where there is a wheel of it, of asyncio's own elsewhere."""
    loop = _fastest()
    loop.set_exception_handler(_handle)
    return loop


def _fastest() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if not _is_lost_race(context):
        loop.default_exception_handler(context)


def _is_lost_race(context: dict[str, Any]) -> bool:
    """Tell whether gRPC woke several loops for one event, and this is one that came too late.

    All loops of a process on which grpc.aio is used read one socket without waiting. Whoever finds
    it empty has nothing to do, and nothing is lost; but releases of grpcio up to 1.59 at least let
    the error pass, thousands of times where several emulators run.
    """
    if not isinstance(context.get("exception"), BlockingIOError):
        return False
    # The callback is known by its text alone: it is a method of a class that cannot be imported.
    callback = repr(context.get("handle"))
    return "PollerCompletionQueue" in callback and "_handle_events" in callback
