"""The limit of open descriptors: raised at the start, and shared out with a reserve."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from emulator.transport import descriptors
from emulator.transport.descriptors import UNLIMITED, DescriptorBudget, SpareDescriptor


@pytest.mark.parametrize(
    ("limit", "in_use", "capacity"),
    [
        (1024, 20, 1024 - 20 - descriptors.RESERVE),
        (64, 24, 30),  # a whole reserve would leave nothing
        (20, 30, 0),
        (None, 20, UNLIMITED),
    ],
)
def test_budget_leaves_a_reserve(
    monkeypatch: pytest.MonkeyPatch, limit: int | None, in_use: int, capacity: int
) -> None:
    monkeypatch.setattr(descriptors, "_soft_limit", lambda: limit)
    monkeypatch.setattr(descriptors, "_open_descriptors", lambda: in_use)
    budget = DescriptorBudget.of_process()
    assert (budget.capacity, budget.limit) == (capacity, limit)


def test_budget_counts() -> None:
    budget = DescriptorBudget(4)
    budget.take(3)
    assert budget.has_room(1)
    assert not budget.has_room(2)
    assert repr(budget) == "<DescriptorBudget 3 of 4 in use>"
    budget.give_back(3)
    assert budget.has_room(4)
    with pytest.raises(AssertionError):
        budget.give_back(1)


def test_spare_is_there_once_until_refilled() -> None:
    spare = SpareDescriptor()
    assert spare.release()
    assert not spare.release()
    spare.refill()
    spare.refill()
    assert spare.release()


@pytest.mark.skipif(sys.platform == "win32", reason="has no such limit")
@pytest.mark.parametrize(("soft", "hard"), [(200, 300), (300, 300)])
def test_soft_limit_is_raised_to_the_hard_one(soft: int, hard: int) -> None:
    code = (
        "import resource as r;"
        f"r.setrlimit(r.RLIMIT_NOFILE, ({soft}, {hard}));"
        "from emulator.transport.descriptors import raise_descriptor_limit;"
        "print(raise_descriptor_limit(), r.getrlimit(r.RLIMIT_NOFILE))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == f"{hard} ({hard}, {hard})"


def test_import_without_the_resource_module() -> None:
    code = (
        "import sys; sys.platform = 'win32'; sys.modules['resource'] = None;"
        "from emulator.transport import descriptors as d;"
        "assert d.raise_descriptor_limit() is None;"
        "assert d.DescriptorBudget.of_process().capacity == d.UNLIMITED"
    )
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=True)
