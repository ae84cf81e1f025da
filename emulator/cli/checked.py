"""Reading of option values, with errors that argparse shows."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


def checked(parse: Callable[[str], Value]) -> Callable[[str], Value]:
    """Make argparse show what `parse` says in its ValueError, which it would hide."""

    def check(text: str) -> Value:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return check


def count(text: str) -> int:
    """Return a positive whole number."""
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise ValueError(f"{text!r} is not a number from 1")
    return int(text)


def names(text: str) -> list[str]:
    """Return the projects of a comma list."""
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise ValueError(f"{text!r} names an empty project")
    return found


def seconds(text: str) -> float:
    """Return a positive number of seconds."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise ValueError(f"{text!r} is not a positive number of seconds")
    return found
