"""The mark that ties a test to the rules it proves.

    @spec("PUB-21", "ERR-53")
    def test_a_request_may_have_ten_million_bytes() -> None: ...

The ids are those of spec_ids.toml; `python -m scripts.spec_coverage` reads them from the source of
the tests, so they are written out where they are used.
"""

from __future__ import annotations

import pytest


def spec(*ids: str) -> pytest.MarkDecorator:
    """Mark a test, a class or a parameter set with the rules it proves."""
    return pytest.mark.spec(*ids)
