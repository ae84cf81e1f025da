"""Expressions as functions of a message's attributes, built once for each filter.

Negations are pushed down to the terms, where they cost nothing: a filter of one term is one call.
Attributes are only asked with `in` and `get`: to index a protobuf map would add the key to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

from emulator.engine.filters.expression import And, Equals, Expression, Has, HasPrefix, Not, Or

Predicate = Callable[[Mapping[str, str]], bool]


def of(expression: Expression, is_wanted: bool = True) -> Predicate:
    """Return the test whether `expression` is true, or with `is_wanted=False` whether it is not."""
    while isinstance(expression, Not):
        expression, is_wanted = expression.operand, not is_wanted
    match expression:
        case Has(key):
            return _has(key) if is_wanted else _lacks(key)
        case Equals(key, value):
            return _equals(key, value) if is_wanted else _differs(key, value)
        case HasPrefix(key, prefix):
            return _begins(key, prefix) if is_wanted else _begins_not(key, prefix)
        case And(operands) | Or(operands):
            is_and = isinstance(expression, And)
            # NOT (a AND b) is NOT a OR NOT b.
            join = _both if is_and == is_wanted else _either
            return reduce(join, [of(operand, is_wanted) for operand in operands])


def _has(key: str) -> Predicate:
    return lambda attributes: key in attributes


def _lacks(key: str) -> Predicate:
    return lambda attributes: key not in attributes


def _equals(key: str, value: str) -> Predicate:
    return lambda attributes: attributes.get(key) == value


def _differs(key: str, value: str) -> Predicate:
    return lambda attributes: attributes.get(key) != value


def _begins(key: str, prefix: str) -> Predicate:
    def begins(attributes: Mapping[str, str]) -> bool:
        value = attributes.get(key)
        return value is not None and value.startswith(prefix)

    return begins


def _begins_not(key: str, prefix: str) -> Predicate:
    def begins_not(attributes: Mapping[str, str]) -> bool:
        value = attributes.get(key)
        return value is None or not value.startswith(prefix)

    return begins_not


def _both(first: Predicate, second: Predicate) -> Predicate:
    return lambda attributes: first(attributes) and second(attributes)


def _either(first: Predicate, second: Predicate) -> Predicate:
    return lambda attributes: first(attributes) or second(attributes)
