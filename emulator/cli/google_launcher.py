"""`cloud-pubsub-emulator`: the command line of the launcher in Google's SDK.

    cloud-pubsub-emulator --host=localhost --port=8080 --projects=a,b

Other options are ignored, as there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from emulator.cli import command
from emulator.cli.words import split

DEFAULT_HOST, DEFAULT_PORT = "localhost", "8080"
_KNOWN = ("host", "port", "projects")


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve; return the exit status of `pubsub-emulator start`."""
    given = split(sys.argv[1:] if arguments is None else arguments, _KNOWN)
    options = {"host": DEFAULT_HOST, "port": DEFAULT_PORT} | given.options
    words = [f"--{name}={value}" for name, value in options.items() if name in _KNOWN and value]
    ignored = [f"--{name}" for name in given.options if name not in _KNOWN] + given.words
    return command.start_as_google(words, ignored)


if __name__ == "__main__":
    sys.exit(main())
