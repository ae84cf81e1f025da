"""`pubsub-emulator env`: the variables that point clients at the emulator."""

from __future__ import annotations

import os
import shlex
from argparse import Namespace

_PROJECT_VARIABLES = ("PUBSUB_PROJECT_ID", "GOOGLE_CLOUD_PROJECT")


def run(parsed: Namespace) -> int:
    """Print lines for a shell's `eval`: the host always, the project where one is known."""
    # Not quoted, so that simple readers need not unquote: a checked host has nothing to quote.
    print(f"export PUBSUB_EMULATOR_HOST={parsed.host_port.for_clients()}")
    project = parsed.project or _project_of_environment()
    if project:
        print(f"export PUBSUB_PROJECT_ID={shlex.quote(project)}")
    return 0


def _project_of_environment() -> str | None:
    return next((os.environ[name] for name in _PROJECT_VARIABLES if os.environ.get(name)), None)
