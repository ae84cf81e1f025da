"""Command lines as gcloud reads them: options may stand anywhere, with `=` or a space."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple


class Given(NamedTuple):
    """`words` in their order, and `options` without their dashes; None for one without value."""

    words: list[str]
    options: dict[str, str | None]


def split(arguments: Sequence[str], with_value: Collection[str]) -> Given:
    """Take a command line apart; the options `with_value` may have theirs behind a space."""
    given = Given([], {})
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-") or argument == "-":
            given.words.append(argument)
            continue
        name, has_value, value = argument.lstrip("-").partition("=")
        if has_value:
            given.options[name] = value
        elif name in with_value and rest:
            given.options[name] = rest.pop(0)
        else:
            given.options[name] = None
    return given
