"""Re-create `protos/` byte for byte from pinned, published packages.

Run `python -m scripts.vendor_protos`. Each archive is fetched with its registry's ordinary client
(`pip download`, `npm pack`, `mvn dependency:copy`) and refused unless its SHA-256 is the pinned
one. `google/protobuf` is not vendored: those files come with the pinned grpcio-tools that compiles
the others.
"""

import argparse
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PROTOS = Path(__file__).resolve().parent.parent / "protos"


@dataclass(frozen=True)
class Source:
    """One published package and the files taken from it."""

    registry: str
    package: str
    version: str
    sha256: str
    files: dict[str, str]
    """Path below `protos/` -> path inside the archive."""


def _same(*paths: str) -> dict[str, str]:
    return {path: path for path in paths}


SOURCES = (
    Source(
        registry="mvn",
        package="com.google.api.grpc:proto-google-cloud-pubsub-v1",
        version="1.160.0",
        sha256="4485892107f90e7cf149f5fac790836921fbfcb38b938f30cfc1c4c03e8b0c52",
        files=_same("google/pubsub/v1/pubsub.proto", "google/pubsub/v1/schema.proto"),
    ),
    Source(
        registry="pip",
        package="googleapis-common-protos",
        version="1.76.0",
        sha256="59e13344a9f3651aa201a03e2bee815a3bf43a4baf1f9ff8a9b62a840ce25fac",
        files=_same(
            "google/api/annotations.proto",
            "google/api/client.proto",
            "google/api/field_behavior.proto",
            "google/api/http.proto",
            "google/api/launch_stage.proto",
            "google/api/resource.proto",
            "google/rpc/code.proto",
            "google/rpc/error_details.proto",
            "google/rpc/status.proto",
            "google/type/expr.proto",
        )
        | {"LICENSE": "googleapis_common_protos-1.76.0.dist-info/licenses/LICENSE"},
    ),
    Source(
        registry="pip",
        package="grpc-google-iam-v1",
        version="0.14.6",
        sha256="042705a3ce306f289b9c6eafc3453b23f953bab955adcac3c36545758ccd681a",
        files=_same(
            "google/iam/v1/iam_policy.proto",
            "google/iam/v1/options.proto",
            "google/iam/v1/policy.proto",
        ),
    ),
    Source(
        registry="npm",
        package="grpc-health-check",
        version="2.1.0",
        sha256="9d522a0c92f07d83820fbe36b53e69d3c45a8fffb65b32d19d8992e926a06d1e",
        files={"grpc/health/v1/health.proto": "package/proto/health/v1/health.proto"},
    ),
)

README = """\
# Vendored interface files

Written by `python -m scripts.vendor_protos`; do not edit. The files are unchanged copies from the
published packages below. All are under the Apache License 2.0 (`LICENSE` in this folder is the
text the packages carry; each file's head names its copyright holder).

| package | registry | version | SHA-256 of the archive |
|---|---|---|---|
{packages}

| file | package |
|---|---|
{files}

`google/protobuf/*.proto` are not kept here: they come with the pinned grpcio-tools that
`scripts/generate_api.py` runs.
"""


def main() -> int:
    """Fetch every source and replace the vendored tree; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=PROTOS, help="folder to write (protos/)")
    target: Path = parser.parse_args().to
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "protos"
        for source in SOURCES:
            _copy_files(source, _fetch(source, Path(scratch)), tree)
        (tree / "README.md").write_text(_readme(), encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(tree, target)
    return 0


def _fetch(source: Source, scratch: Path) -> Path:
    """Download the archive of `source`; raise ValueError when it is not the pinned one."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    pin = {"pip": "==", "npm": "@", "mvn": ":"}[source.registry]
    wanted = f"{source.package}{pin}{source.version}"
    if source.registry == "pip":
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary", ":all:", "--dest", str(folder), wanted]
    elif source.registry == "npm":
        command = ["npm", "pack", "--silent", "--pack-destination", str(folder), wanted]
    else:
        command = ["mvn", "--quiet", "dependency:copy", f"-Dartifact={wanted}"]
        command += [f"-DoutputDirectory={folder}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.iterdir()
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != source.sha256:
        raise ValueError(f"{wanted}: SHA-256 is {digest}, expected {source.sha256}")
    return archive


def _copy_files(source: Source, archive: Path, tree: Path) -> None:
    if archive.suffix in (".whl", ".jar"):
        with zipfile.ZipFile(archive) as zipped:
            _write_all(source, zipped.read, tree)
    else:
        with tarfile.open(archive) as tarball:
            _write_all(source, lambda name: _read_member(tarball, name), tree)


def _read_member(tarball: tarfile.TarFile, name: str) -> bytes:
    member = tarball.extractfile(name)
    if member is None:
        raise ValueError(f"{name} is not a plain file")
    return member.read()


def _write_all(source: Source, read: Callable[[str], bytes], tree: Path) -> None:
    for kept_as, name in source.files.items():
        path = tree / kept_as
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(read(name))


def _readme() -> str:
    packages = (f"| {s.package} | {s.registry} | {s.version} | `{s.sha256}` |" for s in SOURCES)
    files = sorted((name, source.package) for source in SOURCES for name in source.files)
    return README.format(
        packages="\n".join(packages),
        files="\n".join(f"| `{name}` | {package} |" for name, package in files),
    )


if __name__ == "__main__":
    sys.exit(main())
