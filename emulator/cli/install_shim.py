"""`pubsub-emulator install-gcloud-shim DIR`."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path


def run(parsed: Namespace) -> int:
    """Write the script; return 1 with a line if it cannot be written."""
    from emulator.cli.gcloud_shim import install

    try:
        file = install(Path(parsed.folder))
    except OSError as error:
        print(f"pubsub-emulator install-gcloud-shim: {error}", file=sys.stderr)
        return 1
    print(f"{file} is there. Put its folder before others: export PATH={parsed.folder}:$PATH")
    return 0
