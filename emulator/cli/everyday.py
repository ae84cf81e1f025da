"""The everyday commands over a running emulator: their options. What they do is in `hands`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from emulator.cli.checked import checked, count
from emulator.cli.host_port import HostPort


def add_place(parser: argparse.ArgumentParser) -> None:
    """Options that say where the emulator is, and in which project names are."""
    parser.add_argument(
        "--host-port",
        type=checked(HostPort.parse),
        metavar="H:P",
        help="where the emulator is (default: PUBSUB_EMULATOR_HOST, else localhost:8085)",
    )
    parser.add_argument(
        "--project",
        metavar="P",
        help="the project of names that are no full ones (default: PUBSUB_PROJECT_ID, else"
        " GOOGLE_CLOUD_PROJECT)",
    )


def _runner(name: str) -> Callable[[argparse.Namespace], int]:
    def run(parsed: argparse.Namespace) -> int:
        from emulator.cli import hands

        return hands.run(name, parsed)

    return run


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def add_topics(parser: argparse.ArgumentParser) -> None:
    """Add `topics list`."""
    _add_list(parser, "topics")


def add_subscriptions(parser: argparse.ArgumentParser) -> None:
    """Add `subscriptions list`."""
    _add_list(parser, "subscriptions")


def _add_list(outer: argparse.ArgumentParser, collection: str) -> None:
    actions = outer.add_subparsers(metavar="ACTION", required=True)
    parser = actions.add_parser("list", help=f"list a project's {collection}", allow_abbrev=False)
    parser.set_defaults(run=_runner(collection))
    add_place(parser)
    _add_json(parser)


def add_publish(parser: argparse.ArgumentParser) -> None:
    """Add the options of `publish`."""
    parser.set_defaults(run=_runner("publish"))
    add_place(parser)
    parser.add_argument("topic", metavar="TOPIC")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("-d", "--data", metavar="DATA", help="the message's data")
    source.add_argument("-f", "--file", metavar="FILE", help="a file with the data")
    source.add_argument(
        "stdin", nargs="?", choices=("-",), metavar="-", help="read the data from standard input"
    )
    parser.add_argument(
        "--lines", action="store_true", help="every line of the input is a message of its own"
    )
    parser.add_argument(
        "-a",
        "--attribute",
        action="append",
        type=checked(_pair),
        default=[],
        metavar="K=V",
        help="an attribute; may be repeated",
    )
    parser.add_argument("--key", metavar="K", help="the ordering key")
    parser.add_argument(
        "-n", type=checked(count), default=1, metavar="N", help="publish it N times (default: 1)"
    )
    _add_json(parser)


def add_pull(parser: argparse.ArgumentParser) -> None:
    """Add the options of `pull`."""
    parser.set_defaults(run=_runner("pull"))
    add_place(parser)
    parser.add_argument("subscription", metavar="SUB")
    parser.add_argument("--ack", action="store_true", help="acknowledge what was shown")
    parser.add_argument(
        "-n", type=checked(count), metavar="N", help="at most N (default: 10; no end with --follow)"
    )
    parser.add_argument("--follow", action="store_true", help="wait for more until Ctrl-C")
    _add_json(parser)


def add_seek(parser: argparse.ArgumentParser) -> None:
    """Add the options of `seek`."""
    parser.set_defaults(run=_runner("seek"))
    add_place(parser)
    parser.add_argument("subscription", metavar="SUB")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "--time",
        metavar="T",
        help='like 2024-01-31T12:00:00Z, or "start", "now", "10m" for ten minutes ago',
    )
    where.add_argument("--snapshot", metavar="S")


def add_reset(parser: argparse.ArgumentParser) -> None:
    """Add the options of `reset`."""
    parser.set_defaults(run=_runner("reset"))
    add_place(parser)


def _pair(text: str) -> tuple[str, str]:
    key, is_pair, value = text.partition("=")
    if not is_pair or not key:
        raise ValueError(f"{text!r} is not key=value")
    return key, value
