"""The options of `pubsub-emulator start`."""

from __future__ import annotations

import argparse

from emulator.cli import web_access
from emulator.cli.checked import checked, names
from emulator.cli.host_port import HostPort, hosts, port
from emulator.config.defaults import DEFAULT_PORT


def add_to(start: argparse.ArgumentParser) -> None:
    """Add every option."""
    _add_addresses(start)
    _add_resources(start)
    _add_web_access(start)
    _add_tls(start)
    _add_rules(start)
    _add_log(start)


def _add_addresses(start: argparse.ArgumentParser) -> None:
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


def _add_resources(start: argparse.ArgumentParser) -> None:
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


def _add_web_access(start: argparse.ArgumentParser) -> None:
    start.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        type=checked(web_access.origin),
        metavar="O",
        help="web pages that may use REST besides this machine's own, like https://app.example, "
        "or * for all; may be repeated",
    )
    start.add_argument(
        "--allow-host",
        action="append",
        default=[],
        type=checked(web_access.host),
        metavar="NAME",
        help="a name with dots by which HTTP clients reach the emulator; may be repeated",
    )


def _add_tls(start: argparse.ArgumentParser) -> None:
    start.add_argument("--tls-cert", metavar="FILE", help="a certificate, to speak TLS as well")
    start.add_argument("--tls-key", metavar="FILE", help="its key")
    start.add_argument(
        "--tls-self-signed",
        metavar="DIR",
        help="speak TLS as well, with a certificate of an authority of our own: DIR/ca.pem is made"
        " if it is not there, for clients to trust",
    )


def _add_rules(start: argparse.ArgumentParser) -> None:
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


def _add_log(start: argparse.ArgumentParser) -> None:
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
