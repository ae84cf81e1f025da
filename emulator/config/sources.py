"""Where a server finds its start-up resources; cheap to ask when there are none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from emulator.config.resources import Resources

FILE_VARIABLE = "PUBSUB_EMULATOR_CONFIG"
DEFAULT_FILE = "/etc/pubsub-emulator.yaml"
PUBSUBC_FILE_VARIABLE, PUBSUBC_FILE = "PUBSUBC_CONFIG", "/etc/pubsubc/config.json"


class Sources(NamedTuple):
    """`file` is a file of start-up resources, if there is one; `pubsubc` are the variables of
    public images, if they say anything."""

    file: str | None = None
    pubsubc: Mapping[str, str] | None = None

    def __bool__(self) -> bool:
        return self.file is not None or self.pubsubc is not None

    def load(self) -> Resources:
        """Read everything; raises ConfigError."""
        from emulator.config import document, pubsubc
        from emulator.config.resources import Resources

        found = Resources()
        if self.file is not None:
            found.add(document.load(self.file))
        if self.pubsubc is not None:
            found.add(pubsubc.collect(self.pubsubc))
        return found


NO_SOURCES = Sources()


def find(option: str | None, variables: Mapping[str, str]) -> Sources:
    """Return the sources that an option and the environment name."""
    file = option or variables.get(FILE_VARIABLE)
    if not file and os.path.exists(DEFAULT_FILE):
        file = DEFAULT_FILE
    pubsubc_file = variables.get(PUBSUBC_FILE_VARIABLE) or PUBSUBC_FILE
    is_used = bool(variables.get("PUBSUB_PROJECT1")) or os.path.exists(pubsubc_file)
    return Sources(file or None, dict(variables) if is_used else None)
