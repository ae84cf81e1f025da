"""`export` and `apply`: resources from one endpoint to another; their options."""

from __future__ import annotations

import argparse
from typing import Any

from emulator.cli.checked import checked, names
from emulator.cli.everyday import add_place

Commands = Any  # argparse has no public name for what add_subparsers returns


def add_to(commands: Commands) -> None:
    """Add both commands."""
    _add_export(commands)
    _add_apply(commands)


def _add_export(commands: Commands) -> None:
    parser = commands.add_parser(
        "export",
        help="print a project's resources, to be made elsewhere",
        description="Print the topics, subscriptions and schemas of projects; what the server"
        " fills in by itself is left out, and messages are no part of it.",
        allow_abbrev=False,
    )
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


def _add_apply(commands: Commands) -> None:
    parser = commands.add_parser(
        "apply",
        help="make the resources of a file at any endpoint",
        description="Create what is missing and update what differs; nothing is deleted.",
        allow_abbrev=False,
    )
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
