"""CPython 3.12, with headers and interpreter: a package in Maven's repository, as Debian has none.

It is built for programs in Java that embed Python. Its hashes are here, as apt knows no key of it.
"""

import hashlib
import shutil
import subprocess
import zipfile
from pathlib import Path

from tools.release.settings import BUILD

PYTHON = "3.12"
VERSION = "3.12.1-1.5.10"
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
# Machines as the package names them, and the hash of each archive.
_ARCHIVES = {
    "x86_64": ("x86_64", "a135fcf4dc01adebf7ea439252276fc3196db80f7e0dd3da0b61f1ec489b68bd"),
    "aarch64": ("arm64", "4876e6a9eb45c4e2faf7c9f9ef8cb9f16a462c45c3440d4c2e15e6acc8f4e0df"),
}


def unpacked(machine: str) -> Path:
    """The folder of Python for a machine, with ``include``, ``bin``, ``lib`` and its libraries."""
    name, wanted = _ARCHIVES[machine]
    archive = BUILD / "maven" / f"cpython-{VERSION}-linux-{name}.jar"
    if not archive.exists():
        _download(name, archive.parent)
    if (found := hashlib.sha256(archive.read_bytes()).hexdigest()) != wanted:
        archive.unlink()
        raise SystemExit(f"{archive.name} has the hash {found}; expected {wanted}")
    folder = archive.with_suffix("")
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
    python = folder / f"org/bytedeco/cpython/linux-{name}"
    (python / f"bin/python{PYTHON}").chmod(0o755)
    return python


def _download(name: str, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise SystemExit(f"Python {PYTHON} is downloaded by mvn: apt-get install maven")
    artifact = f"org.bytedeco:cpython:{VERSION}:jar:linux-{name}"
    options = [f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
    done = subprocess.run(
        [maven, "--batch-mode", "--quiet", f"{_PLUGIN}:copy", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"mvn cannot download {artifact}:\n{(done.stdout + done.stderr)[-4000:]}")
