"""The image, built and run without a container engine: `pytest -m image`, or `make image`."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD_LIMIT_S = 900
HANG_LIMIT_S = 120
TOOLS = ("mmdebstrap", "buildah", "python3.11", "dpkg")
MISSING = [tool for tool in TOOLS if shutil.which(tool) is None]
MOST_BYTES = 40_000_000

pytestmark = [
    pytest.mark.image,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.skipif(not MISSING and os.geteuid() != 0, reason="building needs root"),
]

ENVIRONMENT = {**os.environ, "STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}


def run(*words: str, limit_s: float = HANG_LIMIT_S) -> str:
    done = subprocess.run(
        words, cwd=ROOT, env=ENVIRONMENT, timeout=limit_s, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def architecture() -> str:
    return run("dpkg", "--print-architecture").strip()


def archive_of(arch: str) -> Path:
    return ROOT / f"build/image/pubsub-emulator-{arch}.tar"


def build(arch: str) -> str:
    """Build the image; return its id, a digest of all that is in it."""
    run("image/build.sh", arch, limit_s=BUILD_LIMIT_S)
    return archive_of(arch).with_suffix(".id").read_text().strip()


def settings_of(arch: str) -> dict[str, Any]:
    """The settings in an image's archive, and its architecture beside them."""
    with tarfile.open(archive_of(arch)) as archive:
        [name] = [name for name in archive.getnames() if name.endswith(".json") and len(name) > 60]
        opened = archive.extractfile(name)
        assert opened is not None
        content = opened.read()
    assert hashlib.sha256(content).hexdigest() == name.removesuffix(".json")
    found: dict[str, Any] = json.loads(content)
    return found


@pytest.fixture(scope="module")
def image() -> str:
    return build(architecture())


@pytest.fixture
def container(image: str) -> Iterator[str]:
    loaded = run("buildah", "pull", "--quiet", f"docker-archive:{archive_of(architecture())}")
    name = run("buildah", "from", loaded.split()[-1]).strip()
    yield name
    run("buildah", "rm", name)


def words_in(container: str, *words: str) -> list[str]:
    return ["buildah", "run", "--isolation", "chroot", container, "--", *words]


@pytest.mark.parametrize(
    ("command", "start"),
    [
        (["/usr/local/bin/entrypoint", "--port", "0"], ""),
        (["/usr/local/bin/entrypoint", "start", "--host-port=127.0.0.1:0"], ""),
        # Testcontainers for Java, Go and Node; and for .NET, which makes gcloud the entry point.
        (["/usr/local/bin/entrypoint", "/bin/sh", "-c",
          "gcloud beta emulators pubsub start --host-port 0.0.0.0:0 --project=test"],
         "[pubsub] INFO: "),
        (["gcloud", "beta", "emulators", "pubsub", "start", "--host-port", "0.0.0.0:0"],
         "[pubsub] INFO: "),
        (["cloud-pubsub-emulator", "--host=127.0.0.1", "--port=0"], "[pubsub] INFO: "),
    ],
)  # fmt: skip
def test_it_serves_however_it_is_started(container: str, command: list[str], start: str) -> None:
    server = subprocess.Popen(
        words_in(container, *command), env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    try:
        for line in server.stderr:
            found = re.search(r"^(.*)Server started, listening on ([0-9]+)$", line)
            if found:
                break
        else:
            raise AssertionError("it ended before it served")
        assert found[1] == start
        url = f"http://127.0.0.1:{found[2]}"
        assert urllib.request.urlopen(url).read() == b"Ok\n"
        # The health check, for another port.
        run(*words_in(container, "pubsub-emulator", "wait", "--host-port", url[7:]))
        urllib.request.urlopen(f"{url}/shutdown", data=b"").read()
        assert server.wait(HANG_LIMIT_S) == 0
    finally:
        server.kill()
        server.wait()
        server.stderr.close()


def test_it_is_a_small_place_of_an_ordinary_user(container: str, image: str) -> None:
    assert run(*words_in(container, "/bin/sh", "-c", "echo $PATH; umask")).startswith("/usr/local")
    who = "import os; print(os.getuid(), os.getgid(), os.access('/usr', os.W_OK))"
    assert run(*words_in(container, "python3.11", "-c", who)).split() == ["65532", "65532", "False"]
    for tool in ("cc", "gcc", "apt-get", "dpkg", "pip"):
        assert run(*words_in(container, "/bin/sh", "-c", f"command -v {tool} || echo none")) == (
            "none\n"
        )
    archive = archive_of(architecture())
    compressed = subprocess.run(["gzip", "-6", "-c", archive], capture_output=True, check=True)
    assert len(compressed.stdout) <= MOST_BYTES


def test_its_settings(image: str) -> None:
    settings = settings_of(architecture())["config"]
    assert settings["User"] == "65532:65532"
    assert settings["Entrypoint"] == ["/usr/local/bin/entrypoint"]
    assert list(settings["ExposedPorts"]) == ["8085"]
    assert settings["Healthcheck"]["Test"][:3] == ["CMD", "pubsub-emulator", "wait"]


def test_the_same_inputs_make_the_same_image(image: str) -> None:
    assert build(architecture()) == image


def test_the_other_architecture_can_be_built() -> None:
    other = "arm64" if architecture() == "amd64" else "amd64"
    build(other)
    assert settings_of(other)["architecture"] == other
