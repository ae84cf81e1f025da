"""Message ids: sixteen decimal digits that are unique, repeatable and unfit for sorting
(PUB-07)."""

from __future__ import annotations

_LOWEST = 10**15
_COUNT = 9 * 10**15
#: Has no factor in common with `_COUNT`, so that counting by it visits every id once before any
#: comes again.
_STRIDE = 5_567_890_123_456_789


def message_id(number: int) -> bytes:
    """The id, as ASCII, of the `number`-th message that an engine accepted."""
    return b"%d" % (_LOWEST + number * _STRIDE % _COUNT)
