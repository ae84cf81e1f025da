"""What is wrong with a definition, or with a payload."""

from __future__ import annotations


class BadDefinition(ValueError):
    """A definition is not a schema; the text says why."""


class Interrupted(Exception):
    """The server stopped before a definition was compiled."""


class BadPayload(ValueError):
    """A payload does not fit its schema; the text says why."""
