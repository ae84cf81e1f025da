"""`export` and `apply`: resources from one endpoint to another; their options."""

from __future__ import annotations

import argparse

from emulator.cli.checked import checked, names
from emulator.cli.everyday import add_place


def add_export(parser: argparse.ArgumentParser) -> None:
    """Add the options of `export`."""
    parser.set_defaults(run=_run_export)
    add_place(parser)
    parser.add_argument(
        "--projects",
        action="extend",
        type=checked(names),
        metavar="A,B",
        help="several projects, in place of --project",
    )
    parser.add_argument(
        "--format",
        choices=("yaml", "gcloud", "terraform"),
        default="yaml",
        help="a file for --config and apply, a script, or a .tf file (default: %(default)s)",
    )
    parser.add_argument(
        "--with-imports",
        action="store_true",
        help="with terraform: import what exists already under its name",
    )


def add_apply(parser: argparse.ArgumentParser) -> None:
    """Add the options of `apply`."""
    parser.set_defaults(run=_run_apply)
    parser.add_argument("file", metavar="FILE", help="YAML or JSON, as for start --config")
    parser.add_argument(
        "--endpoint",
        metavar="E",
        help="host:port or a URL (default: PUBSUB_EMULATOR_HOST, else localhost:8085)",
    )
    parser.add_argument(
        "--access-token-file",
        metavar="FILE",
        help='for the real service: what `gcloud auth print-access-token` prints; "-" reads it'
        " from standard input",
    )


def _run_export(parsed: argparse.Namespace) -> int:
    from emulator.cli import movers

    return movers.run_export(parsed)


def _run_apply(parsed: argparse.Namespace) -> int:
    from emulator.cli import movers

    return movers.run_apply(parsed)
