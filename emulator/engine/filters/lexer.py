"""Tokens of the filter language (FLT-11, FLT-12, FLT-16).

Nothing is refused here: a character or a string that the language does not know becomes a token
that fits nowhere, and the parser refuses it where it stands. So the first fault of a text is the
one that is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple


class Kind(Enum):
    WORD = auto()  # a keyword or a bare key
    STRING = auto()  # a string literal, with its quotes
    OTHER = auto()  # a mark such as "(" or "!=", the end, or what the language does not know


class Token(NamedTuple):
    """A token as it is spelt in the text from `offset` on; the end is an empty one."""

    kind: Kind
    text: str
    offset: int


# A carriage return counts as white space, so that a text with CRLF reads like one with LF.
_SPACE = re.compile(r"[ \t\r\n]*")

# Code points only: no surrogates, nothing above U+10FFFF, and octals as far as one byte goes.
_ESCAPE = r"""\\(?:
    [\\"'abfnrtv]
    | x[0-9A-Fa-f]{2}
    | [0-3][0-7]{2}
    | u(?![Dd][89A-Fa-f])[0-9A-Fa-f]{4}
    | U(?!0000[Dd][89A-Fa-f])00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4}
)"""


def _pattern(word: str) -> re.Pattern[str]:
    """The token at a place where words look like `word`; it matches everywhere but at the end."""
    return re.compile(
        rf"""
        (?P<WORD> {word} )
        | (?P<STRING> "(?: [^"\\] | {_ESCAPE} )*" )
        | "(?: [^"\\] | \\. )*["\\]?    # a string with a bad escape, or without its end
        | !=
        | .
        """,
        re.VERBOSE | re.DOTALL,
    )


# Only a key may hold a hyphen; elsewhere a hyphen is the short spelling of NOT.
_TOKEN = _pattern("[A-Za-z0-9_]+")
_KEY = _pattern("[A-Za-z0-9_-]+")
_BEFORE_KEY = (".", ":")

_ESCAPED = re.compile(_ESCAPE, re.VERBOSE)
_CONTROLS = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))


def is_blank(text: str) -> bool:
    """Whether `text` has no token at all."""
    return _SPACE.fullmatch(text) is not None


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of `text`, and last the end."""
    pattern, offset = _TOKEN, _after_space(text, 0)
    while found := pattern.match(text, offset):
        kind = Kind[found.lastgroup] if found.lastgroup else Kind.OTHER
        yield Token(kind, found[0], offset)
        pattern = _KEY if found[0] in _BEFORE_KEY else _TOKEN
        offset = _after_space(text, found.end())
    yield Token(Kind.OTHER, "", offset)


def _after_space(text: str, offset: int) -> int:
    found = _SPACE.match(text, offset)
    return found.end() if found else offset


def unquoted(literal: str) -> str:
    r"""Return the value of a string literal: `"\x41\""` is `A"`."""
    return _ESCAPED.sub(_character, literal[1:-1])


def _character(escape: re.Match[str]) -> str:
    body = escape[0][1:]
    if body[0] in "xuU":
        return chr(int(body[1:], 16))
    if body[0] in "0123":
        return chr(int(body, 8))
    return _CONTROLS.get(body, body)
