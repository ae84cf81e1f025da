"""The command line: its sub-commands, and what is refused.

Nothing of the server is imported here: `env` needs none of it, and `start` must first be ready for
signals. Of the sub-commands only the one that is called has its options made, which takes longer
than one would think.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, NoReturn

from emulator import __version__
from emulator.cli.checked import checked, seconds
from emulator.cli.host_port import HostPort
from emulator.config.defaults import DEFAULT_PORT

INTERRUPTED = 130
"""What a shell reports for a program ended by Ctrl-C: 128 and the signal's number."""
BROKEN_PIPE = 141
"""The same for one whose reader went away: 128 and the number of SIGPIPE."""
DEFAULT_TIMEOUT_S = 30.0


class Parser(argparse.ArgumentParser):
    """Refuses in one line instead of repeating the usage before it."""

    def error(self, message: str) -> NoReturn:
        """Exit with status 2, as for every usage error."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


class Command(NamedTuple):
    """`add_to` adds the options to the command's parser, and with them what it runs."""

    help: str
    add_to: Callable[[Parser], None]
    description: str | None = None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status: 0, 1 for a failure, 2 for wrong usage."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parsed = parser_for(arguments).parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = parsed.run
    try:
        return run(parsed)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our lines has had enough; nor is there anybody to be told at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def start_as_google(
    options: Sequence[str],
    ignored: Sequence[str] = (),
    on_ready: Callable[[int], None] | None = None,
) -> int:
    """Run `start` with lines as Google's emulator writes them; `ignored` is worth a debug line.

    `on_ready` is told the port before the line that says that the server has started.
    """
    arguments = ["start", *options]
    parsed = parser_for(arguments).parse_args(arguments)
    parsed.line_prefix = "[pubsub] "
    parsed.on_ready = on_ready
    parsed.notes = [f"{option} is accepted and has no effect." for option in ignored]
    run: Callable[[argparse.Namespace], int] = parsed.run
    return run(parsed)


def parser_for(arguments: Sequence[str] = ()) -> Parser:
    """The parser of a command line, with no more commands than it needs; of all without one."""
    parser = Parser(
        prog="pubsub-emulator",
        description="A drop-in emulator of Google Cloud Pub/Sub.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parsers = parser.add_subparsers(metavar="COMMAND", required=True)
    called = arguments[0] if arguments else ""
    for name in [called] if called in COMMANDS else COMMANDS:
        command = COMMANDS[name]
        made = parsers.add_parser(
            name,
            help=command.help,
            description=command.description,
            allow_abbrev=False,
        )
        command.add_to(made)
    return parser


def _options(module: str, name: str) -> Callable[[Parser], None]:
    """Options that are made by a function of another module, imported for it."""

    def add_to(parser: Parser) -> None:
        getattr(importlib.import_module(f"emulator.cli.{module}"), name)(parser)

    return add_to


def _add_start(start: Parser) -> None:
    from emulator.cli import start_options

    start.set_defaults(run=partial(_run_start, start), line_prefix="", on_ready=None, notes=())
    start_options.add_to(start)


def _add_env(env: Parser) -> None:
    env.set_defaults(run=_run_env)
    env.add_argument(
        "--host-port",
        type=checked(HostPort.parse),
        default=HostPort(),
        metavar="H:P",
        help=f"where the emulator is (default: localhost:{DEFAULT_PORT})",
    )
    env.add_argument(
        "--project",
        metavar="P",
        help="the project (default: PUBSUB_PROJECT_ID, else GOOGLE_CLOUD_PROJECT, else no line)",
    )


def _add_wait(wait: Parser) -> None:
    wait.set_defaults(run=_run_wait)
    wait.add_argument(
        "--host-port",
        type=checked(HostPort.parse),
        metavar="H:P",
        help=f"where to ask (default: PUBSUB_EMULATOR_HOST, else localhost:{DEFAULT_PORT})",
    )
    wait.add_argument(
        "--timeout",
        type=checked(seconds),
        default=DEFAULT_TIMEOUT_S,
        metavar="S",
        help="seconds after which to give up (default: %(default)g)",
    )


def _add_doctor(doctor: Parser) -> None:
    doctor.set_defaults(run=_run_doctor)
    doctor.add_argument(
        "address", nargs="?", metavar="HOST:PORT", help="(default: PUBSUB_EMULATOR_HOST)"
    )


def _add_install_shim(install: Parser) -> None:
    install.set_defaults(run=_run_install_shim)
    install.add_argument("folder", metavar="DIR", help="a folder of the PATH, before gcloud's")


def _add_completion(completion: Parser) -> None:
    completion.set_defaults(run=_run_completion)
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))


def _run_start(parser: Parser, parsed: argparse.Namespace) -> int:
    if parsed.host_port is not None:
        if parsed.host is not None or parsed.port is not None:
            parser.error("--host-port says all that --host and --port could say")
        parsed.host = parsed.host_port.host and [parsed.host_port.host]
        parsed.port = parsed.host_port.port
    from emulator.cli import start

    if parsed.config_watch and start.sources_of(parsed).file is None:
        parser.error("--config-watch needs a --config to watch")
    if (parsed.tls_cert is None) != (parsed.tls_key is None):
        parser.error("--tls-cert and --tls-key go together")
    if parsed.tls_cert and parsed.tls_self_signed:
        parser.error("--tls-self-signed makes its own --tls-cert")
    return start.run(parsed)


def _run_env(parsed: argparse.Namespace) -> int:
    from emulator.cli import env

    return env.run(parsed)


def _run_wait(parsed: argparse.Namespace) -> int:
    from emulator.cli import wait

    return wait.run(parsed)


def _run_doctor(parsed: argparse.Namespace) -> int:
    from emulator.cli import doctor

    return doctor.run(parsed)


def _run_install_shim(parsed: argparse.Namespace) -> int:
    from emulator.cli import install_shim

    return install_shim.run(parsed)


def _run_completion(parsed: argparse.Namespace) -> int:
    from emulator.cli.completion import script

    print(script(parsed.shell, parser_for()), end="")
    return 0


COMMANDS: Mapping[str, Command] = {
    "start": Command("serve until stopped", _add_start),
    "env": Command(
        'print what sets up clients: eval "$(pubsub-emulator env)"',
        _add_env,
        "Print export lines that point clients at an emulator.",
    ),
    "wait": Command("return once an emulator answers", _add_wait),
    "doctor": Command(
        "find out why clients do not reach an emulator",
        _add_doctor,
        "Look at the environment and the address; exit status 1 if there is a problem.",
    ),
    "topics": Command("list topics", _options("everyday", "add_topics")),
    "subscriptions": Command("list subscriptions", _options("everyday", "add_subscriptions")),
    "publish": Command("publish messages", _options("everyday", "add_publish")),
    "pull": Command("take messages of a subscription", _options("everyday", "add_pull")),
    "seek": Command(
        "move a subscription to a time or a snapshot", _options("everyday", "add_seek")
    ),
    "reset": Command("forget every topic and subscription", _options("everyday", "add_reset")),
    "export": Command(
        "print a project's resources, to be made elsewhere",
        _options("moving", "add_export"),
        "Print the topics, subscriptions and schemas of projects; what the server fills in by"
        " itself is left out, and messages are no part of it.",
    ),
    "apply": Command(
        "make the resources of a file at any endpoint",
        _options("moving", "add_apply"),
        "Create what is missing and update what differs; nothing is deleted.",
    ),
    "install-gcloud-shim": Command(
        "write a gcloud that starts this emulator",
        _add_install_shim,
        "Write DIR/gcloud, which runs `gcloud beta emulators pubsub start` and `env-init` with this"
        " emulator and hands every other command on to the real gcloud.",
    ),
    "completion": Command(
        'complete commands in a shell: eval "$(pubsub-emulator completion bash)"', _add_completion
    ),
}
