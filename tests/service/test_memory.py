"""The garbage collector's settings, in a process of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HANG_LIMIT_S = 60


def run(code: str) -> list[int]:
    """Run code after the collector was tuned; return the numbers that it prints."""
    tuned = "import gc, emulator.service.memory as memory\nmemory.tune_garbage_collector()\n"
    done = subprocess.run(
        [sys.executable, "-c", tuned + code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANG_LIMIT_S,
        check=True,
    )
    return [int(word) for word in done.stdout.split()]


def test_what_was_imported_is_not_walked_again() -> None:
    frozen, left = run("print(gc.get_freeze_count(), len(gc.get_objects()))")
    assert frozen > 1_000
    assert left < 500


def test_no_collection_walks_all_that_stays() -> None:
    """The most objects that any collection begins with, of a million that are kept."""
    most, frozen = run(
        """
most = 0
def watch(phase, info):
    global most
    if phase == "start":
        most = max(most, sum(len(gc.get_objects(generation=g)) for g in range(3)))
gc.callbacks.append(watch)
kept = [[] for _ in range(1_000_000)]
print(most, gc.get_freeze_count())
"""
    )
    assert most < 250_000
    assert frozen > 750_000


def test_cycles_are_still_found() -> None:
    [left] = run(
        """
class Node: pass
for _ in range(500_000):
    node = Node()
    node.self = node
print(sum(type(each) is Node for each in gc.get_objects()))
"""
    )
    assert left < 10_000


def test_few_survivors_are_not_frozen() -> None:
    before, after = run(
        "before = gc.get_freeze_count()\n"
        "kept = [[] for _ in range(memory.FREEZE_OBJECTS // 2)]\n"
        "gc.collect()\n"
        "print(before, gc.get_freeze_count())"
    )
    assert after == before
