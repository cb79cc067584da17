"""Install Go from the module proxy, which serves toolchains as modules.

``python3 tools/install_go.py FOLDER``, for machines without Go; the command is then FOLDER/bin/go.
The proxy is the first one in ``$GOPROXY``, else proxy.golang.org. Uses only the standard library.
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
# The machine as Python names it: the name that Go uses, and the checksum of golang.org/toolchain in
# sum.golang.org.
PLATFORMS = {
    "x86_64": ("linux-amd64", "ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM="),
    "aarch64": ("linux-arm64", "sYL/O6MqS68ML0kjsQ36WoYIpJqkw60TxizWUYUKQMc="),
}
PROGRAMS = ("bin", "pkg/tool")
TIMEOUT = 60  # seconds without data from the proxy


def main(arguments: list[str]) -> int:
    """Install Go unless it is installed already."""
    (folder,) = (Path(each).absolute() for each in arguments)
    if platform.system() != "Linux" or platform.machine() not in PLATFORMS:
        print(f"no Go toolchain for {platform.system()} on {platform.machine()}", file=sys.stderr)
        return 1
    if not (folder / "bin" / "go").exists():
        name, checksum = PLATFORMS[platform.machine()]
        install(download(proxy(), f"v0.0.1-go{VERSION}.{name}"), checksum, folder)
    print(folder / "bin" / "go")
    return 0


def proxy() -> str:
    """The first proxy in $GOPROXY; ``direct`` and ``off`` are no proxies."""
    first = os.environ.get("GOPROXY", "").replace("|", ",").split(",")[0]
    return PROXY if first in ("", "direct", "off") else first.rstrip("/")


def download(server: str, version: str) -> zipfile.ZipFile:
    address = f"{server}/golang.org/toolchain/@v/{version}.zip"
    with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:  # noqa: S310 - its hash is checked
        return zipfile.ZipFile(io.BytesIO(answer.read()))


def install(module: zipfile.ZipFile, checksum: str, folder: Path) -> None:
    """Unpack a toolchain as the go command does; raises ValueError for a wrong checksum.

    Modules have neither file modes nor nested go.mod files, which are named _go.mod.
    """
    if (found := module_hash(module)) != checksum:
        raise ValueError(f"expected a toolchain with the checksum {checksum}, got {found}")
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
    """The ``h1`` hash of Go's checksum database, of the hashes and names of all files."""
    total = hashlib.sha256()
    for name in sorted(each for each in module.namelist() if not each.endswith("/")):
        total.update(f"{hashlib.sha256(module.read(name)).hexdigest()}  {name}\n".encode())
    return base64.b64encode(total.digest()).decode()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
