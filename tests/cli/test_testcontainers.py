"""Testcontainers' own waiting code over our process: all of a module but the container engine."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Launch
from tests.cli.process import HANG_LIMIT_S, Process
from tests.cli.test_google_shapes import SHIM, WAITED_FOR

strategies: Any = pytest.importorskip("testcontainers.core.wait_strategies")


class Container:
    """What a wait strategy asks of a container."""

    status = "running"

    def __init__(self, process: Process) -> None:
        self._process = process

    def get_logs(self) -> tuple[bytes, bytes]:
        return b"", "\n".join(self._process.take()).encode()

    def get_wrapped_container(self) -> Container:
        return self

    def reload(self) -> None:
        """Its state is always current."""

    def get_container_host_ip(self) -> str:
        return "127.0.0.1"

    def get_exposed_port(self, port: int) -> int:
        return port


@pytest.fixture
def container(launch: Launch, temporary: Path) -> Container:
    # As the module's command is, but for the port.
    command = "beta emulators pubsub start --project=test-project --host-port=127.0.0.1:0"
    variables = {"CLOUDSDK_CONFIG": str(temporary)}
    return Container(launch(*command.split(), python=SHIM, variables=variables))


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in WAITED_FOR.values()], ids=WAITED_FOR)
def test_the_log_is_waited_for(container: Container, pattern: str) -> None:
    strategy = strategies.LogMessageWaitStrategy(re.compile(pattern, re.MULTILINE))
    strategy.with_startup_timeout(timedelta(seconds=HANG_LIMIT_S)).wait_until_ready(container)


def test_http_and_port_are_waited_for(container: Container) -> None:
    log = strategies.LogMessageWaitStrategy("Server started, listening on")
    log.with_startup_timeout(timedelta(seconds=HANG_LIMIT_S)).wait_until_ready(container)
    _, logged = container.get_logs()
    port = int(logged.decode().split()[-1])
    for strategy in (
        strategies.HttpWaitStrategy(port, "/").for_status_code(200),
        strategies.PortWaitStrategy(port),
    ):
        strategy.with_startup_timeout(timedelta(seconds=HANG_LIMIT_S)).wait_until_ready(container)
