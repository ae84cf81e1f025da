"""`pubsub-emulator doctor`: finds the usual mistakes, and says the cure of each in one line."""

from __future__ import annotations

import os
import re
import socket
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from emulator.cli import probes
from emulator.cli.host_port import HostPort
from emulator.cli.probes import Speech
from emulator.config.defaults import DEFAULT_PORT

_VARIABLE = "PUBSUB_EMULATOR_HOST"
_PROJECTS = ("GOOGLE_CLOUD_PROJECT", "PUBSUB_PROJECT_ID", "GCLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT")
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy", "all_proxy")
_CREDENTIALS = "GOOGLE_APPLICATION_CREDENTIALS"
_CLIENT, _OLDEST_CLIENT = "google-cloud-pubsub", (2, 22)
"""The oldest release that the emulator's own tests run with."""


class Finding(NamedTuple):
    """`cure` is empty for what is well; `is_note` for what is a mistake for some clients only."""

    text: str
    cure: str = ""
    is_note: bool = False

    def __str__(self) -> str:
        if not self.cure:
            return f"ok       {self.text}"
        return f"{'note    ' if self.is_note else 'PROBLEM '} {self.text}: {self.cure}"


def run(parsed: Namespace) -> int:
    """Print the findings; return 1 if one of them is a problem."""
    is_sick = False
    for finding in examine(parsed.address, os.environ):
        print(finding, flush=True)
        is_sick = is_sick or bool(finding.cure and not finding.is_note)
    return 1 if is_sick else 0


def examine(address: str | None, variables: Mapping[str, str]) -> Iterator[Finding]:
    """Look at everything; what depends on a thing that is missing is left out."""
    text = address
    if text is None:
        text = variables.get(_VARIABLE, "")
        yield from check_variable(text)
    target = target_of(text)
    if target is None:
        yield Finding(f"{text!r} is no address", "write it like localhost:8085 or [::1]:8085")
    else:
        yield from check_server(*target)
        yield from check_proxies(target[0], variables)
    yield from check_project(variables)
    yield from check_credentials(variables)
    yield from check_client()


def check_variable(text: str) -> Iterator[Finding]:
    """Whether PUBSUB_EMULATOR_HOST is as clients read it."""
    target = target_of(text)
    right = f"{_bracketed(target[0])}:{target[1]}" if target else f"localhost:{DEFAULT_PORT}"
    cure = f"export {_VARIABLE}={right}"
    if not text:
        yield Finding(f"{_VARIABLE} is not set, so clients go to the real service", cure)
    elif text.startswith("https://"):
        yield Finding(f"{_VARIABLE} has https://, and emulators are spoken to without TLS", cure)
    elif "://" in text or "/" in text:
        yield Finding(f"{_VARIABLE} is {text!r}: clients take no scheme and no path", cure)
    elif text != text.strip():
        yield Finding(f"{_VARIABLE} has blanks around it", cure)
    elif text.count(":") > 1 and not text.startswith("["):
        yield Finding(f"{_VARIABLE} is {text!r}: IPv6 needs brackets", cure)
    elif not re.search(r":[0-9]+$", text):
        yield Finding(f"{_VARIABLE} is {text!r}, without a port", cure)
    elif target is not None and target[0] in ("0.0.0.0", "::"):
        right = f"localhost:{target[1]}"
        yield Finding(
            f"{_VARIABLE} is an address to listen on, not to connect to",
            f"export {_VARIABLE}={right}",
        )
    else:
        yield Finding(f"{_VARIABLE} is {text}")


def target_of(text: str) -> tuple[str, int] | None:
    """The host and port that are meant, whatever is wrong with the writing."""
    bare = text.strip().rpartition("://")[2].partition("/")[0]
    if bare.count(":") > 1 and not bare.startswith("["):
        host, _, port = bare.rpartition(":")
        bare = f"[{host}]:{port}"
    try:
        found = HostPort.parse(bare) if bare else HostPort()
    except ValueError:
        return None
    return found.host or "localhost", found.port or DEFAULT_PORT


def check_server(host: str, port: int) -> Iterator[Finding]:
    """Whether an emulator is there, for all of the host's addresses."""
    where = f"{_bracketed(host)}:{port}"
    try:
        addresses = probes.resolve(host, port)
    except OSError:
        yield Finding(f"the host {host!r} is unknown", "is the name spelt right?")
        return
    refusals = {address: probes.connects(address, port) for _, address in addresses}
    reached = [each for each in addresses if not refusals[each[1]]]
    if not reached:
        reason = next(iter(refusals.values()))
        cure = "start it with `pubsub-emulator start`, in a container with --host 0.0.0.0"
        yield Finding(f"nothing listens at {where} ({reason})", cure)
        return
    yield from _check_families(host, addresses, reached)
    yield from _check_speech(where, reached[0][1], port)


def _check_families(
    host: str,
    addresses: list[tuple[socket.AddressFamily, str]],
    reached: list[tuple[socket.AddressFamily, str]],
) -> Iterator[Finding]:
    families = {family for family, _ in addresses}
    if len(families) < 2 or len(reached) == len(addresses):
        return
    name = "IPv6" if reached[0][0] is socket.AF_INET6 else "IPv4"
    yield Finding(
        f"{host} has two addresses and only {name} answers, {reached[0][1]}",
        "start the emulator without --host, or give clients that address",
        is_note=name == "IPv4",
    )


def _check_speech(where: str, address: str, port: int) -> Iterator[Finding]:
    spoken = probes.speech(address, port)
    if spoken is Speech.TLS:
        yield Finding(f"{where} speaks TLS only", "clients of emulators do not: use a plain port")
    elif spoken is not Speech.EMULATOR:
        cure = "another program has the port: start the emulator with another --port"
        yield Finding(f"{where} answers with {spoken.value}, not as an emulator", cure)
    elif not probes.speaks_http2(address, port):
        cure = "what stands between, a proxy or an ingress, must pass HTTP/2 on"
        yield Finding(f"{where} answers REST, but not gRPC", cure)
    else:
        yield Finding(f"{where} answers REST and gRPC")


def check_proxies(host: str, variables: Mapping[str, str]) -> Iterator[Finding]:
    """Whether a proxy would catch what is meant for the emulator."""
    lower = {name.lower(): value for name, value in variables.items()}
    found = next((name for name in _PROXIES if lower.get(name)), None)
    if found is None or _is_exempt(host, lower):
        return
    yield Finding(
        f"{found} is set to {lower[found]}, and clients would look for {host} behind it",
        f"export NO_PROXY={host},localhost,127.0.0.1,::1",
    )


def _is_exempt(host: str, lower: Mapping[str, str]) -> bool:
    exempt = [
        part.strip().lstrip(".")
        for name in ("no_proxy", "no_grpc_proxy")
        for part in lower.get(name, "").split(",")
        if part.strip()
    ]
    return any(part in ("*", host) or host.endswith(f".{part}") for part in exempt)


def check_project(variables: Mapping[str, str]) -> Iterator[Finding]:
    """Whether clients know a project."""
    found = next((name for name in _PROJECTS if variables.get(name)), None)
    if found is None:
        yield Finding(
            "no variable names a project, which many clients want",
            "export GOOGLE_CLOUD_PROJECT=demo (any id will do)",
            is_note=True,
        )
    else:
        yield Finding(f"the project is {variables[found]}, by {found}")


def check_credentials(variables: Mapping[str, str]) -> Iterator[Finding]:
    """Whether clients that look for credentials in spite of the variable would find any."""
    file = variables.get(_CREDENTIALS)
    if file:
        if Path(file).is_file():
            yield Finding(f"{_CREDENTIALS} is a file; emulators check no credentials")
        else:
            cure = f"unset {_CREDENTIALS}"
            yield Finding(f"{_CREDENTIALS} names {file}, which is not there", cure)
        return
    home = variables.get("CLOUDSDK_CONFIG") or "~/.config/gcloud"
    if not (Path(home).expanduser() / "application_default_credentials.json").is_file():
        yield Finding(
            f"there are no credentials, and clients that do not read {_VARIABLE} (Java, and"
            " Python's REST transport) look for some",
            "give them NoCredentialsProvider or AnonymousCredentials()",
            is_note=True,
        )


def check_client() -> Iterator[Finding]:
    """Whether the Python client of this environment is one that was tested."""
    try:
        version = metadata.version(_CLIENT)
    except metadata.PackageNotFoundError:
        return
    yield from judge_client(version)


def judge_client(version: str) -> Iterator[Finding]:
    """Judge a version of the Python client."""
    numbers = tuple(int(part) for part in re.findall(r"[0-9]+", version)[:2])
    if numbers < _OLDEST_CLIENT:
        oldest = ".".join(map(str, _OLDEST_CLIENT))
        yield Finding(
            f"{_CLIENT} {version} is older than {oldest}, the oldest that is tested",
            f"{Path(sys.executable).name} -m pip install --upgrade {_CLIENT}",
        )
    else:
        yield Finding(f"{_CLIENT} {version}")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
