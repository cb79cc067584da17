"""Write the source distribution and the wheels: sorted and dated, so that equal contents give equal
bytes. Compiles nothing.
"""

import base64
import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tools import tree
from tools.image import oci
from tools.image.settings import ROOT
from tools.release.settings import Target

# What MANIFEST.in and setup.py read.
_SOURCES = {
    "CHANGELOG.md",
    "LICENSE",
    "MANIFEST.in",
    "Makefile",
    "README.md",
    "policies",
    "policyd",
    "pyproject.toml",
    "setup.py",
    "tools",
}


def plain(folder: Path) -> tuple[Path, Path]:
    """The source distribution, and a wheel without compiled modules, as setuptools write them."""
    source = folder / "source"
    for name in tree.files():
        if name.partition("/")[0] in _SOURCES:
            made = source / name
            made.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, made)
    environment = {**os.environ, "POLICYD_COMPILED": "1"}
    commands = [["sdist", "--formats=tar"], ["bdist_wheel"]]
    for command in commands:
        done = subprocess.run(
            [sys.executable, "setup.py", "-q", *command, "-d", str(folder)],
            cwd=source,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"setup.py {command[0]} failed:\n{done.stderr[-4000:]}")
    (sdist,), (wheel,) = folder.glob("*.tar"), folder.glob("*.whl")
    return sdist, wheel


def sdist(written: Path, folder: Path, epoch: int) -> Path:
    """The source distribution again, with these times."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        subprocess.run(["tar", "-xf", written, "-C", root, "--no-same-owner"], check=True)
        data = oci.archived(root, root.rglob("*"), epoch)
    made = folder / f"{written.name}.gz"
    made.write_bytes(gzip.compress(data, 9, mtime=0))
    return made


def wheel(
    written: Path, modules: Mapping[str, Path], target: Target, folder: Path, epoch: int
) -> Path:
    """A wheel for a target: what is in the one without compiled modules, and those."""
    distribution, version, *_ = written.name.split("-")
    information = f"{distribution}-{version}.dist-info"
    tag = f"{target.tag}-{target.tag}-{target.platform}"
    with zipfile.ZipFile(written) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if name[-1] != "/"}
    files |= {name: file.read_bytes() for name, file in modules.items()}
    files[f"{information}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: tools.release\nRoot-Is-Purelib: false\nTag: {tag}\n"
    ).encode()
    record = f"{information}/RECORD"
    del files[record]
    lines = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in sorted(files.items())]
    files[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    made = folder / f"{distribution}-{version}-{tag}.whl"
    _zip(made, files, epoch)
    return made


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def _zip(made: Path, files: Mapping[str, bytes], epoch: int) -> None:
    """What describes the wheel comes last, as PEP 427 recommends."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files, key=lambda name: (".dist-info/" in name, name)):
            entry = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix: the mode counts
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            archive.writestr(entry, files[name])
    made.write_bytes(written.getvalue())
