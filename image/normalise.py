"""Write a docker archive anew without what differs from build to build; print the image's id.

    image/normalise.py FROM.tar TO.tar

buildah notes the working container in the image's settings. The id of an image is the digest of
its settings, which hold the digests of its layers: with the same content it is the same.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
from typing import Any

_TAG = "pubsub-emulator:latest"


def main(source: str, target: str) -> str:
    """Return the id of the image that was written."""
    with tarfile.open(source) as archive:
        [image] = json.loads(_read(archive, "manifest.json"))
        config: dict[str, Any] = json.loads(_read(archive, image["Config"]))
        layers = {name: _read(archive, name) for name in image["Layers"]}
    for key in ("container", "container_config"):
        config.pop(key, None)
    config["config"]["Hostname"] = ""
    settings = json.dumps(config, sort_keys=True, separators=(",", ":")).encode()
    image_id = hashlib.sha256(settings).hexdigest()
    manifest = [{"Config": f"{image_id}.json", "RepoTags": [_TAG], "Layers": list(layers)}]
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in layers.items():
            _add(archive, name, content)
        _add(archive, f"{image_id}.json", settings)
        _add(archive, "manifest.json", json.dumps(manifest).encode())
    return image_id


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    opened = archive.extractfile(name)
    assert opened is not None, name
    return opened.read()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


if __name__ == "__main__":
    print(main(sys.argv[1], sys.argv[2]))
