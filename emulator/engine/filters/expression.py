"""What a filter says, as a tree. `attributes.k != "v"` is the negation of an Equals (FLT-21)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Has:
    """`attributes:key` (FLT-20)."""

    key: str


@dataclass(frozen=True, slots=True)
class Equals:
    """`attributes.key = "value"` (FLT-21)."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class HasPrefix:
    """`hasPrefix(attributes.key, "prefix")` (FLT-22)."""

    key: str
    prefix: str


@dataclass(frozen=True, slots=True)
class Not:
    operand: Expression


@dataclass(frozen=True, slots=True)
class And:
    """Two or more operands, all of which hold."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Two or more operands, one of which holds."""

    operands: tuple[Expression, ...]


Expression = Has | Equals | HasPrefix | Not | And | Or
