"""Both faces answer alike, requests good and bad."""

from __future__ import annotations

import pytest

from tests.spec import spec
from tests.transport.rest.client import Rest
from tests.transport.rest.faces import Side, Step, ask_grpc, ask_rest
from tests.transport.rest.stories import STORIES
from tests.wire import Names, Wire


@spec("RST-52", "RST-51", "RST-62", "TOP-02", "SUB-13", "LST-05", "ERR-02", "ERR-03", "ERR-91")
@pytest.mark.parametrize("steps", STORIES.values(), ids=STORIES.keys())
def test_both_faces_tell_the_same_story(
    wire: Wire, rest: Rest, names: Names, steps: list[Step]
) -> None:
    by_grpc, by_rest = Side(f"{names.project}-grpc"), Side(f"{names.project}-rest")
    for number, (method, request) in enumerate(steps):
        expected = ask_grpc(wire, by_grpc, method, request(by_grpc))
        found = ask_rest(rest, by_rest, method, request(by_rest))
        assert found == expected, f"step {number}: {method}"


def test_the_stories_have_good_and_bad_ends(wire: Wire, names: Names) -> None:
    """So that the comparison is one of more than refusals."""
    side = Side(names.project)
    codes = [
        ask_grpc(wire, side, method, request(side)).status
        for story in ("topics", "publish", "leases", "lists")
        for method, request in STORIES[story]
    ]
    assert codes.count("OK") > 30
    assert {"INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS"} <= set(codes)
