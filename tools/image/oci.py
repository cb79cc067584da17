"""An OCI archive of one index, sorted and dated: equal files give an equal digest.

The index has the image of each architecture. ``ctr images import``, ``docker load`` (25 and newer),
``podman load`` and ``skopeo copy --all oci-archive:FILE`` take the archive, and ``crane push
--index`` the folder that it unpacks to.
"""

import gzip
import hashlib
import io
import json
import stat
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from policyd.json_types import JSONObject

_INDEX = "application/vnd.oci.image.index.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer: the digest of its files, and what is stored."""

    what: str
    diff_id: str
    packed: bytes
    size: int


@dataclass(slots=True)
class Image:
    """The image of one architecture: ``settings`` is the configuration for the runtime."""

    name: str
    tag: str
    settings: JSONObject
    epoch: int
    layers: list[Layer] = field(default_factory=list)
    architecture: str = "amd64"


def layer(what: str, root: Path, entries: Iterable[Path], epoch: int) -> Layer:
    """A layer of these files, links and folders (without what is in them) below ``root``."""
    raw = archived(root, entries, epoch)
    return Layer(what, _digest(raw), gzip.compress(raw, 9, mtime=0), len(raw))


def archived(root: Path, entries: Iterable[Path], epoch: int) -> bytes:
    """A tar archive of them, of root, sorted and dated."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(set(entries)):
            _add(archive, path, str(path.relative_to(root)), epoch)
    return written.getvalue()


def write(images: Sequence[Image], archive: Path) -> dict[str, str]:
    """Write the archive; the digest of each image by architecture, and that of the ``index``."""
    first, blobs = images[0], dict[str, bytes]()
    manifests = [_manifest(each, blobs) for each in images]
    listed: JSONObject = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": [*manifests]}
    index = _stored(blobs, _INDEX, _json(listed))
    index["annotations"] = {
        "io.containerd.image.name": f"docker.io/library/{first.name}:{first.tag}",
        "org.opencontainers.image.ref.name": first.tag,
    }
    layout: JSONObject = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": [index]}
    partial = archive.with_suffix(".part")
    with tarfile.open(partial, "w") as tar:
        _file(tar, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}), first.epoch)
        _file(tar, "index.json", _json(layout), first.epoch)
        for digest, data in sorted(blobs.items()):
            _file(tar, f"blobs/{digest.replace(':', '/')}", data, first.epoch)
    partial.replace(archive)
    architectures = [each.architecture for each in images]
    found = zip(["index", *architectures], [index, *manifests], strict=True)
    return {name: str(each["digest"]) for name, each in found}


def _manifest(image: Image, blobs: dict[str, bytes]) -> JSONObject:
    """Store an image, and describe its manifest for an index."""
    created = datetime.fromtimestamp(image.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    platform: JSONObject = {"architecture": image.architecture, "os": "linux"}
    config: JSONObject = {
        **platform,
        "created": created,
        "config": image.settings,
        "rootfs": {"type": "layers", "diff_ids": [each.diff_id for each in image.layers]},
        "history": [{"created": created, "created_by": each.what} for each in image.layers],
    }
    manifest: JSONObject = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": _stored(blobs, _CONFIG, _json(config)),
        "layers": [_stored(blobs, _LAYER, each.packed) for each in image.layers],
    }
    return {**_stored(blobs, _MANIFEST, _json(manifest)), "platform": platform}


def _add(archive: tarfile.TarFile, path: Path, name: str, epoch: int) -> None:
    information = archive.gettarinfo(str(path), name)
    information.uid = information.gid = 0
    information.uname = information.gname = ""
    information.mtime = epoch
    information.mode = _mode(information)
    if information.islnk():  # a second name of a file that has been added
        information.type, information.linkname = tarfile.REGTYPE, ""
        information.size = path.stat().st_size
    if information.isfile():
        with path.open("rb") as data:
            archive.addfile(information, data)
    else:
        archive.addfile(information)


def _mode(information: tarfile.TarInfo) -> int:
    """The same whatever the umask of the machine: only what is executable or sticky matters."""
    if information.issym():
        return 0o777
    if information.isdir():
        return 0o1777 if information.mode & stat.S_ISVTX else 0o755
    return 0o755 if information.mode & stat.S_IXUSR else 0o644


def _file(archive: tarfile.TarFile, name: str, data: bytes, epoch: int) -> None:
    information = tarfile.TarInfo(name)
    information.size, information.mode, information.mtime = len(data), 0o644, epoch
    archive.addfile(information, io.BytesIO(data))


def _stored(blobs: dict[str, bytes], media_type: str, data: bytes) -> JSONObject:
    digest = _digest(data)
    blobs[digest] = data
    return {"mediaType": media_type, "digest": digest, "size": len(data)}


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _json(document: JSONObject) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
