"""The garbage collector, set for a process that holds a server and nothing else.

Only reference cycles are its work. Messages and their records make none: they go when the last
reference does. But a full collection walks all of them, and none may stop the event loop for long:
walking 1,000,000 messages took 170 to 480 ms. Yet it cannot be switched off, because gRPC's tasks
and errors do make cycles.

So what has survived a full collection in great number is *frozen*: later ones do not walk it
again, and each has only to do with what came since. The price is that a cycle among what was
frozen is never found; those are few, as many as there were calls open at such a moment.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any

YOUNG_THRESHOLD = 5_000
"""Net new objects that start a collection of the youngest."""
OLD_THRESHOLDS = (10, 1)
"""Collections of a generation that start one of the next: a full one after 110,000 objects."""
FREEZE_OBJECTS = 50_000
"""Survivors of a full collection that are frozen; walking so many takes about 10 ms."""


def tune_garbage_collector() -> None:
    """Exempt what was imported from collection, and later whatever proves to stay."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_THRESHOLD, *OLD_THRESHOLDS)
    if _freeze_survivors not in gc.callbacks:
        gc.callbacks.append(_freeze_survivors)


def _freeze_survivors(phase: str, info: Mapping[str, Any]) -> None:
    is_full = phase == "stop" and info["generation"] == 2
    if is_full and len(gc.get_objects(generation=2)) >= FREEZE_OBJECTS:
        gc.freeze()
