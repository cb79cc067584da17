"""The command: see the package."""

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

from tools.image import bytecode, debian, oci, sbom, settings, tree, wheels

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
    parser.add_argument("--keep-root", type=Path, help="a new folder for its files")
    arguments = parser.parse_args()
    if arguments.command == "lock":
        settings.LOCK.write_text(wheels.lock(), encoding="utf-8")
        return
    if arguments.command == "version":
        print(settings.version())
        return
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="policyd-image-") as scratch:
        root = Path(scratch) / "root"
        archive = build(root, arguments.output)
        if arguments.keep_root:
            shutil.copytree(root, arguments.keep_root, symlinks=True)
    print(f"{archive} after {time.monotonic() - began:.0f} s")


def build(root: Path, output: Path) -> Path:
    """Make the files below ``root``, and write the archive and its SBOM."""
    cache = settings.BUILD
    own, others = wheels.own(cache / "wheels"), wheels.locked(cache / "wheels")
    packages = debian.unpack(debian.download(cache / "debian"), root)
    tree.system(root)
    image = oci.Image("policyd", settings.version(), dict(_SETTINGS), settings.EPOCH)

    def add(what: str, *folders: str) -> None:
        if folders:
            bytecode.compile_all(root, *folders)
        found = set(root.rglob("*"))
        image.layers.append(oci.layer(what, root, found - seen, settings.EPOCH))
        seen.update(found)

    seen: set[Path] = set()
    add("Python and its libraries, from Debian packages", f"usr/lib/python{settings.PYTHON}")
    for wheel in others:
        tree.install(wheel, root)
    add("what policyd depends on, from wheels", tree.PACKAGES)
    tree.install(own, root)
    tree.launcher(root, "policyd")
    text = json.dumps(sbom.document(root, packages, [own, *others]), indent=1) + "\n"
    inside = root / sbom.place()
    inside.parent.mkdir(parents=True)
    inside.write_text(text, encoding="utf-8")
    add("policyd", f"{tree.PACKAGES}/policyd")
    output.mkdir(parents=True, exist_ok=True)
    archive = output / f"policyd-{settings.version()}.oci.tar"
    digest = oci.write(image, archive)
    (output / inside.name).write_text(text, encoding="utf-8")
    unpacked, packed = (sum(each) / 1e6 for each in zip(*map(_sizes, image.layers), strict=True))
    print(f"policyd:{settings.version()} {digest}: {packed:.0f} MB, {unpacked:.0f} MB unpacked")
    return archive


def _sizes(layer: oci.Layer) -> tuple[int, int]:
    return layer.size, len(layer.packed)


if __name__ == "__main__":
    main()
