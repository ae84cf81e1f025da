"""`pubsub-emulator env`: the variables that point clients at the emulator."""

from __future__ import annotations

import shlex
from argparse import Namespace

from emulator.cli.names import project_of_environment


def run(parsed: Namespace) -> int:
    """Print lines for a shell's `eval`: the host always, the project where one is known."""
    # Not quoted, so that simple readers need not unquote: a checked host has nothing to quote.
    print(f"export PUBSUB_EMULATOR_HOST={parsed.host_port.for_clients()}")
    project = parsed.project or project_of_environment()
    if project:
        print(f"export PUBSUB_PROJECT_ID={shlex.quote(project)}")
    return 0
