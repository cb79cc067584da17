"""The programs and images that the node is made of, built once into ``build/node``. No tests here.

``python -m tests.node.programs`` builds all of them; ``$POLICYD_NODE_BIN`` names a folder that has
the programs already, ``$POLICYD_NODE_IMAGE`` an archive of policyd's image. The images of the node
itself are one program each: ``pause``, in which every Pod waits, and Debian's busybox.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.shared import ROOT
from tools.image import oci, settings

BIN = "POLICYD_NODE_BIN"
IMAGE = "POLICYD_NODE_IMAGE"
SCRIPTS = Path(__file__).parent / "cluster"
BUILT = ROOT / "build/node"
IMAGES = BUILT / "images"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def programs() -> Path:
    """The folder of the programs."""
    return Path(os.environ.get(BIN) or BUILT / "bin").resolve()


def images() -> list[Path]:
    """The archives of all images, built if need be."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    return [pause(), busybox(), policyd()]


def pause() -> Path:
    archive = IMAGES / "pause.tar"
    if not archive.exists():
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(programs() / "pause", Path(folder, "pause"))
            pack("pause", Path(folder), archive, Entrypoint=["/pause"], User="65535:65535")
    return archive


def busybox() -> Path:
    archive = IMAGES / "busybox.tar"
    if not archive.exists():
        with tempfile.TemporaryDirectory() as folder:
            download = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download"]
            subprocess.run([*download, "busybox-static"], cwd=folder, check=True)
            (package,) = Path(folder).glob("*.deb")
            subprocess.run(["dpkg", "-x", package.name, "package"], cwd=folder, check=True)
            root = Path(folder, "root")
            (root / "bin").mkdir(parents=True)
            (root / "tmp").mkdir()
            (root / "tmp").chmod(0o1777)
            program = root / "bin/busybox"
            shutil.copy(Path(folder, "package/bin/busybox"), program)
            listed = subprocess.run([program, "--list"], check=True, capture_output=True, text=True)
            for applet in {*listed.stdout.split()} - {"busybox"}:
                (root / "bin" / applet).symlink_to("busybox")
            pack("busybox", root, archive, Cmd=["sh"])
    return archive


def pack(name: str, root: Path, archive: Path, **config: Any) -> None:
    """An image of one layer; ``config`` has fields such as ``Entrypoint``."""
    image = oci.Image(name, "node", {"Env": [f"PATH={PATH}"], **config}, 0)
    image.layers.append(oci.layer(name, root, root.rglob("*"), 0))
    oci.write([image], archive)


def policyd() -> Path:
    """policyd's own image, as ``make image`` builds it."""
    named = os.environ.get(IMAGE)
    if named:
        return Path(named).resolve(strict=True)
    subprocess.run([sys.executable, "-m", "tools.image"], cwd=ROOT, check=True)
    return settings.BUILD / f"policyd-{settings.version()}.oci.tar"


def main() -> None:
    """Build everything, and print how long each part took."""
    if BIN not in os.environ:
        subprocess.run([SCRIPTS / "programs.sh"], check=True)
    begin = time.monotonic()
    for archive in images():
        sys.stdout.write(f"{archive}\n")
    sys.stdout.write(f"images: {time.monotonic() - begin:.0f} s\n")


if __name__ == "__main__":
    main()
