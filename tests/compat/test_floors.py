"""The environment of oldest.txt holds exactly the lower bounds that pyproject.toml promises."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]


def promised() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [Requirement(text) for text in project["dependencies"]]


def oldest() -> dict[str, Requirement]:
    lines = (ROOT / "tests" / "compat" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {pin.name: pin for pin in pins}


@pytest.mark.parametrize("requirement", promised(), ids=str)
def test_the_lower_bound_is_what_is_tested(requirement: Requirement) -> None:
    [floor] = [bound.version for bound in requirement.specifier if bound.operator == ">="]
    [pin] = oldest()[requirement.name].specifier
    assert pin.operator == "=="
    assert pin.version in (floor, f"{floor}.0")
