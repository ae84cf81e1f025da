"""The command line: its sub-commands, their options, and what is refused.

Nothing of the server is imported here: `env` needs none of it, and `start` must first be ready for
signals.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import NoReturn

from emulator import __version__
from emulator.cli import everyday, moving
from emulator.cli.checked import checked, names, seconds
from emulator.cli.host_port import HostPort, hosts, port
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status: 0, 1 for a failure, 2 for wrong usage."""
    parsed = _parser().parse_args(arguments)
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
    parsed = _parser().parse_args(["start", *options])
    parsed.line_prefix = "[pubsub] "
    parsed.on_ready = on_ready
    parsed.notes = [f"{option} is accepted and has no effect." for option in ignored]
    run: Callable[[argparse.Namespace], int] = parsed.run
    return run(parsed)


def _parser() -> Parser:
    parser = Parser(
        prog="pubsub-emulator",
        description="A drop-in emulator of Google Cloud Pub/Sub.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_start(commands)
    _add_env(commands)
    _add_wait(commands)
    everyday.add_to(commands)
    moving.add_to(commands)
    _add_doctor(commands)
    _add_install_shim(commands)
    _add_completion(commands)
    return parser


def _add_start(commands: argparse._SubParsersAction[Parser]) -> None:
    start = commands.add_parser("start", help="serve until stopped", allow_abbrev=False)
    start.set_defaults(run=partial(_run_start, start), line_prefix="", on_ready=None, notes=())
    _add_addresses(start)
    _add_resources(start)
    start.add_argument(
        "--projects",
        action="extend",
        type=checked(names),
        metavar="A,B",
        help="the only projects that exist (default: every project does)",
    )
    start.add_argument(
        "--project", metavar="P", help="accepted for scripts that give one; has no effect"
    )
    start.add_argument(
        "--profile",
        choices=("relaxed", "strict"),
        default="relaxed",
        help="how close to the real service's limits to be (default: %(default)s)",
    )
    start.add_argument(
        "--log-level",
        type=str.lower,
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="the least severe lines to log (default: %(default)s)",
    )
    start.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="(default: %(default)s)"
    )


def _add_addresses(start: Parser) -> None:
    start.add_argument(
        "--host",
        action="extend",
        type=checked(hosts),
        metavar="H,H",
        help="where to listen; may be repeated (default: the IPv4 and the IPv6 loopback)",
    )
    start.add_argument(
        "--port",
        type=checked(port),
        metavar="N",
        help=f"0 takes any free one (default: {DEFAULT_PORT})",
    )
    start.add_argument(
        "--host-port",
        type=checked(HostPort.parse),
        metavar="H:P",
        help="host and port in one, like localhost:8085, [::1]:8085 or :8085",
    )


def _add_resources(start: Parser) -> None:
    start.add_argument(
        "--config",
        metavar="FILE",
        help="YAML or JSON of what exists from the start (default: PUBSUB_EMULATOR_CONFIG, else"
        " /etc/pubsub-emulator.yaml if it is there)",
    )
    start.add_argument(
        "--config-watch", action="store_true", help="apply the file again whenever it changes"
    )
    start.add_argument(
        "--ready-port",
        type=checked(port),
        metavar="N",
        help="a second port, opened when all resources exist",
    )
    start.add_argument(
        "--auto-create",
        action="store_true",
        help="make topics that are missing when they are published or subscribed to",
    )


def _add_env(commands: argparse._SubParsersAction[Parser]) -> None:
    env = commands.add_parser(
        "env",
        help='print what sets up clients: eval "$(pubsub-emulator env)"',
        description="Print export lines that point clients at an emulator.",
        allow_abbrev=False,
    )
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


def _add_wait(commands: argparse._SubParsersAction[Parser]) -> None:
    wait = commands.add_parser("wait", help="return once an emulator answers", allow_abbrev=False)
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


def _add_install_shim(commands: argparse._SubParsersAction[Parser]) -> None:
    install = commands.add_parser(
        "install-gcloud-shim",
        help="write a gcloud that starts this emulator",
        description="Write DIR/gcloud, which runs `gcloud beta emulators pubsub start` and"
        " `env-init` with this emulator and hands every other command on to the real gcloud.",
        allow_abbrev=False,
    )
    install.set_defaults(run=_run_install_shim)
    install.add_argument("folder", metavar="DIR", help="a folder of the PATH, before gcloud's")


def _add_doctor(commands: argparse._SubParsersAction[Parser]) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="find out why clients do not reach an emulator",
        description="Look at the environment and the address; exit status 1 if there is a problem.",
        allow_abbrev=False,
    )
    doctor.set_defaults(run=_run_doctor)
    doctor.add_argument(
        "address", nargs="?", metavar="HOST:PORT", help="(default: PUBSUB_EMULATOR_HOST)"
    )


def _run_doctor(parsed: argparse.Namespace) -> int:
    from emulator.cli import doctor

    return doctor.run(parsed)


def _add_completion(commands: argparse._SubParsersAction[Parser]) -> None:
    completion = commands.add_parser(
        "completion",
        help='complete commands in a shell: eval "$(pubsub-emulator completion bash)"',
        allow_abbrev=False,
    )
    completion.set_defaults(run=_run_completion)
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))


def _run_completion(parsed: argparse.Namespace) -> int:
    from emulator.cli.completion import script

    print(script(parsed.shell, _parser()), end="")
    return 0


def _run_install_shim(parsed: argparse.Namespace) -> int:
    from emulator.cli import install_shim

    return install_shim.run(parsed)


def _run_start(parser: Parser, parsed: argparse.Namespace) -> int:
    if parsed.host_port is not None:
        if parsed.host is not None or parsed.port is not None:
            parser.error("--host-port says all that --host and --port could say")
        parsed.host = parsed.host_port.host and [parsed.host_port.host]
        parsed.port = parsed.host_port.port
    if parsed.config_watch and not parsed.config and not os.environ.get("PUBSUB_EMULATOR_CONFIG"):
        parser.error("--config-watch needs a --config to watch")
    from emulator.cli import start

    return start.run(parsed)


def _run_env(parsed: argparse.Namespace) -> int:
    from emulator.cli import env

    return env.run(parsed)


def _run_wait(parsed: argparse.Namespace) -> int:
    from emulator.cli import wait

    return wait.run(parsed)
