"""What is wrong with a definition, or with a payload."""

from __future__ import annotations


class BadDefinition(ValueError):
    """A definition is not a schema; the text says why."""


class BadPayload(ValueError):
    """A payload does not fit its schema; the text says why."""
