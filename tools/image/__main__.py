"""The command: see the package."""

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from policyd.json_types import JSONObject
from tools.image import (
    bytecode,
    debian,
    oci,
    plugin,
    provenance,
    sbom,
    settings,
    spdx,
    tree,
    wheels,
)

_HOME = f"/{tree.HOME}"
_SETTINGS = {
    "User": f"{tree.USER}:{tree.USER}",
    "ExposedPorts": {"8443/tcp": {}, "8080/tcp": {}},
    "Env": [
        f"PATH={_HOME}/bin:/usr/bin",
        "PYTHONUNBUFFERED=1",
        "PYTHONDONTWRITEBYTECODE=1",
        f"OPENSSL_CONF=/{tree.OPENSSL_CONFIGURATION}",
    ],
    "Entrypoint": ["policyd"],
    "Cmd": ["serve", "--policies", "/policies"],
    "WorkingDir": "/",
    "Labels": {
        "org.opencontainers.image.title": "policyd",
        "org.opencontainers.image.version": settings.version(),
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.description": "A Kubernetes admission webhook",
    },
}


def main() -> None:
    """Make the image, write the lock file again, or print the version."""
    parser = argparse.ArgumentParser(prog="python -m tools.image")
    parser.add_argument("command", nargs="?", choices=("build", "lock", "version"), default="build")
    parser.add_argument("--output", type=Path, default=settings.BUILD, help="the folder")
    parser.add_argument(
        "--wheel", type=Path, default=settings.WHEELS, help="a folder with policyd's wheels"
    )
    parser.add_argument("--keep-root", type=Path, help="a new folder for the files of amd64")
    parser.add_argument("--source", default="", help="the address of the repository")
    parser.add_argument("--builder", default=provenance.BUILDER, help="what builds, as a URI")
    parser.add_argument("--plugin", metavar="URL", help="also make plugins of kubectl, for Krew")
    arguments = parser.parse_args()
    if arguments.command == "lock":
        settings.LOCK.write_text(wheels.lock(), encoding="utf-8")
        return
    if arguments.command == "version":
        print(settings.version())
        return
    began = time.monotonic()
    os.umask(0o022)  # modes of files are in wheels, and the hashes of wheels in the image
    documents: dict[str, JSONObject] = {}
    with tempfile.TemporaryDirectory(prefix="policyd-image-") as scratch:
        images = [*made(Path(scratch), arguments.wheel, documents)]
        if arguments.keep_root:
            root = Path(scratch, settings.AMD64.architecture)
            shutil.copytree(root, arguments.keep_root, symlinks=True)
        arguments.output.mkdir(parents=True, exist_ok=True)
        if arguments.plugin:
            file = arguments.output / f"policyd-{settings.version()}.krew.yaml"
            file.write_text(plugin.write_all(Path(scratch), arguments.output, arguments.plugin))
    archive: Path = arguments.output / f"policyd-{settings.version()}.oci.tar"
    digests = oci.write(images, archive)
    predicate = provenance.predicate(documents, arguments.source, arguments.builder)
    _write(arguments.output / f"policyd-{settings.version()}.provenance.json", predicate)
    for architecture, document in documents.items():
        name = f"policyd-{settings.version()}-{architecture}"
        _write(arguments.output / f"{name}.cdx.json", document)
        _write(arguments.output / f"{name}.spdx.json", spdx.document(document, architecture))
    for image in images:
        unpacked, packed = (
            sum(each) / 1e6 for each in zip(*map(_sizes, image.layers), strict=True)
        )
        digest = digests[image.architecture]
        print(f"{image.architecture} {digest}: {packed:.0f} MB, {unpacked:.0f} MB unpacked")
    print(f"policyd:{settings.version()} {digests['index']}")
    print(f"{archive} after {time.monotonic() - began:.0f} s")


def made(scratch: Path, folder: Path, documents: dict[str, JSONObject]) -> Iterator[oci.Image]:
    """The image of each architecture that there is a wheel for, in ``folder`` or built here; the
    files are in ``scratch``. Adds the bills of materials to ``documents``.
    """
    runnable = scratch / settings.AMD64.architecture
    for platform in settings.PLATFORMS:
        own = wheels.given(folder, platform)
        if own is None and platform is settings.AMD64:
            own = wheels.own(settings.BUILD / "wheels")
        if own is None:
            print(f"{platform.architecture} is left out: {folder} has no wheel for it")
            continue
        print(f"{platform.architecture}: {own.name} of {own.parent}")
        root = scratch / platform.architecture
        image, documents[platform.architecture] = build(root, platform, own, runnable)
        yield image


def build(
    root: Path, platform: settings.Platform, own: Path, runnable: Path
) -> tuple[oci.Image, JSONObject]:
    """Make the files of one image below ``root``; the image, and its bill of materials."""
    cache = settings.BUILD
    others = wheels.locked(cache / "wheels", platform)
    packages_of = cache / f"debian-{platform.architecture}"
    archives = debian.download(
        packages_of,
        [f"{name}:{platform.architecture}" for name in settings.PACKAGES],
        debian.options_for(packages_of / "apt", platform.architecture),
    )
    packages = debian.unpack(archives, root)
    tree.system(root)
    modified = settings.epoch()
    image = oci.Image(
        "policyd",
        settings.version(),
        dict(_SETTINGS),
        modified,
        architecture=platform.architecture,
    )

    def add(what: str, *folders: str) -> None:
        if folders:
            bytecode.compile_all(runnable, root, *folders)
        found = set(root.rglob("*"))
        image.layers.append(oci.layer(what, root, found - seen, modified))
        seen.update(found)

    seen: set[Path] = set()
    add("Python and its libraries, from Debian packages", f"usr/lib/python{settings.PYTHON}")
    for wheel in others:
        tree.install(wheel, root)
    add("what policyd depends on, from wheels", tree.PACKAGES)
    tree.install(own, root)
    tree.launcher(root, "policyd")
    document = sbom.document(root, packages, [own, *others], runnable)
    _write(root / sbom.place(), document)
    add("policyd", f"{tree.PACKAGES}/policyd")
    return image, document


def _write(file: Path, document: JSONObject) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _sizes(layer: oci.Layer) -> tuple[int, int]:
    return layer.size, len(layer.packed)


if __name__ == "__main__":
    main()
