"""`pubsub-emulator wait`: returns once an emulator answers."""

from __future__ import annotations

import os
import sys
from argparse import Namespace

from emulator.cli.grpc_log import silence_grpc
from emulator.cli.host_port import HostPort

RETRY_MS = 100
"""Time between two tries to connect."""


def run(parsed: Namespace) -> int:
    """Return 0 as soon as a server speaks gRPC there, 1 with one line after the timeout."""
    try:
        target = (parsed.host_port or _of_environment()).for_clients()
    except ValueError as error:
        print(f"pubsub-emulator wait: PUBSUB_EMULATOR_HOST: {error}", file=sys.stderr)
        return 2
    if _is_ready(target, parsed.timeout):
        return 0
    waited = f"{parsed.timeout:g} s"
    print(f"pubsub-emulator wait: no emulator answered at {target} in {waited}", file=sys.stderr)
    return 1


def _of_environment() -> HostPort:
    text = os.environ.get("PUBSUB_EMULATOR_HOST")
    return HostPort.parse(text) if text else HostPort()


def _is_ready(target: str, timeout_s: float) -> bool:
    silence_grpc()
    import grpc

    options = (
        ("grpc.enable_http_proxy", 0),
        ("grpc.initial_reconnect_backoff_ms", RETRY_MS),
        ("grpc.min_reconnect_backoff_ms", RETRY_MS),
        ("grpc.max_reconnect_backoff_ms", RETRY_MS),
    )
    with grpc.insecure_channel(target, options) as channel:
        try:
            # Ready means that the server's first words of HTTP/2 came, not only a connection.
            grpc.channel_ready_future(channel).result(timeout_s)
        except grpc.FutureTimeoutError:
            return False
    return True
