"""Subscription filters: which messages a subscription takes, by their attributes (spec: filter.md).

The lexer makes tokens of a filter's text, the parser an expression of the tokens, and the predicate
is the expression as a function of attributes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.engine.filters import lexer, parser, predicate
from emulator.engine.filters.predicate import Predicate
from emulator.engine.values import errors, limits


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter as it was given, and the function that tells whether a message's attributes pass.

    `matches` is a field, not a method, so that a test costs no call but the predicate's own.
    """

    text: str
    matches: Predicate = field(repr=False, compare=False)


def compile_filter(text: str) -> Filter | None:
    """Return the filter of `text`; None if it is empty and so takes every message (FLT-02).

    Raises InvalidArgument: ERR-19 for a text that is too long, ERR-18 for one that does not parse.
    """
    size_bytes = len(text.encode())
    if size_bytes > limits.FILTER_BYTES:
        raise errors.long_filter(size_bytes, limits.FILTER_BYTES)
    if lexer.is_blank(text):
        return None
    return Filter(text, predicate.of(parser.parse(text)))
