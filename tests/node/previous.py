"""The image to upgrade from. No tests here.

``$POLICYD_NODE_FROM`` names an archive of the last release, which must have the tag ``previous``; the
default is the image of this tree with that tag and a label more, so that no digest is the same.
"""

import json
import os
import tarfile
from pathlib import Path
from typing import Any

from tests.node import programs
from tools.image import oci

FROM = "POLICYD_NODE_FROM"
TAG = "previous"


def archive() -> Path:
    """The archive, made if need be."""
    named = os.environ.get(FROM)
    if named:
        return Path(named).resolve(strict=True)
    made = programs.IMAGES / "previous.tar"
    with tarfile.open(programs.policyd()) as tar:
        files = {each.name: read(tar, each) for each in tar if each.isfile()}
    index = json.loads(files["index.json"])
    listed = json.loads(blob(files, index["manifests"][0]))
    manifest = json.loads(blob(files, listed["manifests"][0]))  # amd64 is the first
    config = json.loads(blob(files, manifest["config"]))
    settings = {**config["config"], "Labels": {"previous": "yes"}}
    image = oci.Image("policyd", TAG, settings, 0)
    for described, identity in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
        image.layers.append(oci.Layer("previous", identity, blob(files, described), 0))
    oci.write([image], made)
    return made


def read(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(entry)
    assert file is not None
    return file.read()


def blob(files: dict[str, bytes], described: dict[str, Any]) -> bytes:
    return files[f"blobs/{described['digest'].replace(':', '/')}"]
