"""Names of resources on the command line: ids alone, or full."""

from __future__ import annotations

import os

_VARIABLES = ("PUBSUB_PROJECT_ID", "GOOGLE_CLOUD_PROJECT")


class NoProject(Exception):
    """An id was given, and nothing says in which project."""

    def __init__(self) -> None:
        super().__init__(
            "which project? Give --project or set PUBSUB_PROJECT_ID or GOOGLE_CLOUD_PROJECT"
        )


def project_of_environment() -> str | None:
    """The project that the variables name."""
    return next((os.environ[name] for name in _VARIABLES if os.environ.get(name)), None)


def project(option: str | None) -> str:
    """The project by option or environment; raises NoProject."""
    found = option or project_of_environment()
    if not found:
        raise NoProject
    return found


def full(text: str, collection: str, option: str | None) -> str:
    """`projects/P/{collection}/{text}`, unless `text` is a full name already."""
    return text if "/" in text else f"projects/{project(option)}/{collection}/{text}"
