"""Where Google's emulator may be on this machine; nothing here needs it to be anywhere."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "PUBSUB_GOOGLE_EMULATOR_JAR"
_IN_SDK = "platform/pubsub-emulator/lib"
_PATTERN = "cloud-pubsub-emulator-*-all.jar"


class NotFoundError(Exception):
    """The file that was named does not exist, or there is no Java to run it."""


def find(named: Path | None) -> Path | None:
    """Return the jar: the named one, the variable's, or that of a Cloud SDK; None without one."""
    wanted = named or _from_environment()
    jar = wanted or next(_in_usual_places(), None)
    if wanted is not None and not wanted.is_file():
        raise NotFoundError(f"no such file: {wanted}")
    if wanted is not None and not shutil.which("java"):
        raise NotFoundError("Google's emulator was named, but there is no `java` on the PATH")
    return jar if shutil.which("java") else None


def version(jar: Path) -> str:
    """Return the version that the file's name tells, `?` if it tells none."""
    match = re.search(r"\d+(\.\d+)+", jar.name)
    return match[0] if match else "?"


def _from_environment() -> Path | None:
    value = os.environ.get(VARIABLE)
    return Path(value) if value else None


def _in_usual_places() -> Iterator[Path]:
    for root in _sdk_roots():
        # The last by name is the newest of several.
        yield from sorted((root / _IN_SDK).glob(_PATTERN), reverse=True)


def _sdk_roots() -> Iterator[Path]:
    if root := os.environ.get("CLOUDSDK_ROOT_DIR"):
        yield Path(root)
    yield Path("/usr/lib/google-cloud-sdk")
    yield Path("/usr/share/google-cloud-sdk")
    yield Path.home() / "google-cloud-sdk"
    if command := shutil.which("gcloud"):
        yield Path(command).resolve().parent.parent
