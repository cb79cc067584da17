"""Install Go from the module proxy, which serves toolchains as modules, into a folder.

``python3 tools/install_go.py FOLDER`` for machines without Go; the command is FOLDER/bin/go. The
proxy is the first of ``$GOPROXY``, else proxy.golang.org. Uses the standard library only.
"""

import base64
import hashlib
import io
import os
import platform
import shutil
import sys
import urllib.request
import zipfile
from pathlib import Path

VERSION = "1.26.8"
PROXY = "https://proxy.golang.org"
# Machine of Python: name of Go, and the checksum in sum.golang.org of golang.org/toolchain.
PLATFORMS = {
    "x86_64": ("linux-amd64", "ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM="),
    "aarch64": ("linux-arm64", "sYL/O6MqS68ML0kjsQ36WoYIpJqkw60TxizWUYUKQMc="),
}
PROGRAMS = ("bin", "pkg/tool")
TIMEOUT = 60  # seconds that the proxy may be silent


def main(arguments: list[str]) -> int:
    """Install, unless a former call did."""
    (folder,) = (Path(each).absolute() for each in arguments)
    if platform.system() != "Linux" or platform.machine() not in PLATFORMS:
        print(f"no Go is known for {platform.system()} on {platform.machine()}", file=sys.stderr)
        return 1
    if not (folder / "bin" / "go").exists():
        name, checksum = PLATFORMS[platform.machine()]
        install(download(proxy(), f"v0.0.1-go{VERSION}.{name}"), checksum, folder)
    print(folder / "bin" / "go")
    return 0


def proxy() -> str:
    """The first proxy of the list in $GOPROXY; ``direct`` and ``off`` are none."""
    first = os.environ.get("GOPROXY", "").replace("|", ",").split(",")[0]
    return PROXY if first in ("", "direct", "off") else first.rstrip("/")


def download(server: str, version: str) -> zipfile.ZipFile:
    address = f"{server}/golang.org/toolchain/@v/{version}.zip"
    with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
        return zipfile.ZipFile(io.BytesIO(answer.read()))


def install(module: zipfile.ZipFile, checksum: str, folder: Path) -> None:
    """Unpack a toolchain as the go command itself does; ValueError for another checksum.

    A module has neither modes nor nested go.mod files, which are named _go.mod.
    """
    if (found := module_hash(module)) != checksum:
        raise ValueError(f"the toolchain has the checksum {found}, not {checksum}")
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    module.extractall(partial)
    (root,) = (partial / "golang.org").iterdir()
    for path in list(root.rglob("_go.mod")):
        shutil.copy(path, path.with_name("go.mod"))
    for path in (each for below in PROGRAMS for each in (root / below).rglob("*")):
        path.chmod(0o755)
    shutil.rmtree(folder, ignore_errors=True)
    root.rename(folder)
    shutil.rmtree(partial)


def module_hash(module: zipfile.ZipFile) -> str:
    """The hash ``h1`` of Go's checksum database: of the hashes and names of all files."""
    total = hashlib.sha256()
    for name in sorted(each for each in module.namelist() if not each.endswith("/")):
        total.update(f"{hashlib.sha256(module.read(name)).hexdigest()}  {name}\n".encode())
    return base64.b64encode(total.digest()).decode()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
