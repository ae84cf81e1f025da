"""The Java module of Testcontainers: its own command, pattern and consumer over our process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent / "testcontainers_java"
ROOT = SOURCE.parents[2]
BUILD = ROOT / "build" / "clients" / "testcontainers_java"
BUILD_LIMIT_S, HANG_LIMIT_S = 900, 120
MISSING = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]

pytestmark = [
    pytest.mark.maven,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


def test_it_waits_for_our_line(tmp_path: Path) -> None:
    shutil.copytree(SOURCE, BUILD, dirs_exist_ok=True)
    subprocess.run(
        ["mvn", "--batch-mode", "--quiet", "package", "dependency:copy-dependencies",
         "-DoutputDirectory=target/lib", "-DincludeScope=runtime"],
        cwd=BUILD, check=True, timeout=BUILD_LIMIT_S,
    )  # fmt: skip
    shim = [sys.executable, "-m", "emulator.cli.gcloud_shim"]
    command = [*shim, "beta", "emulators", "pubsub", "start", "--host-port", "127.0.0.1:0"]
    answer = subprocess.run(
        ["java", "-classpath", "target/classes:target/lib/*", "Waits", *command],
        cwd=BUILD,
        env={**os.environ, "PYTHONPATH": str(ROOT), "CLOUDSDK_CONFIG": str(tmp_path)},
        capture_output=True, text=True, timeout=HANG_LIMIT_S, check=True,
    )  # fmt: skip
    # What the module runs in a container is the command that ran here, but for its address.
    assert answer.stdout.splitlines() == [
        "command /bin/sh -c gcloud beta emulators pubsub start --host-port 0.0.0.0:8085",
        "pattern .*started.*$",
        "ready",
        "status 0",
    ]
