"""Equal contents give equal bytes, whatever the times, owners and orders of what they are made from."""

import base64
import hashlib
import io
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from tools.release import archives
from tools.release.settings import Target

TARGET = Target("3.13", "aarch64")
EPOCH = 1_700_000_000
FILES = {
    "p/__init__.py": b"VERSION = 1\n",
    "p/b.json": b"{}",
    "p-1.0.dist-info/METADATA": b"Name: p\n",
    "p-1.0.dist-info/RECORD": b"old",
    "p-1.0.dist-info/WHEEL": b"Root-Is-Purelib: true\n",
}


def wheel(folder: Path, *, names: list[str], modified: int) -> bytes:
    """A wheel made from one whose files have this order and time."""
    folder.mkdir()
    written = folder / "p-1.0-py3-none-any.whl"
    with zipfile.ZipFile(written, "w") as archive:
        for name in names:
            entry = zipfile.ZipInfo(name, (modified, 1, 2, 3, 4, 6))
            archive.writestr(entry, FILES[name])
    module = folder / "module"
    module.write_bytes(b"\x7fELF")
    module.chmod(0o600 if modified % 2 else 0o777)
    (folder / "dist").mkdir()
    made = archives.wheel(written, {f"p/c{TARGET.suffix}": module}, TARGET, folder / "dist", EPOCH)
    assert made.name == "p-1.0-cp313-cp313-manylinux_2_28_aarch64.whl"
    return made.read_bytes()


def test_a_wheel_does_not_depend_on_times_and_orders(tmp_path: Path) -> None:
    one = wheel(tmp_path / "1", names=list(FILES), modified=2001)
    other = wheel(tmp_path / "2", names=list(reversed(FILES)), modified=2020)
    assert one == other


def test_a_wheel_names_its_platform_and_lists_its_files(tmp_path: Path) -> None:
    data = wheel(tmp_path / "1", names=list(FILES), modified=2001)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {each.filename: each for each in archive.infolist()}
        files = {name: archive.read(name) for name in entries}
    module = "p/c.cpython-313-aarch64-linux-gnu.so"
    assert list(entries)[:3] == ["p/__init__.py", "p/b.json", module]
    assert {each.date_time for each in entries.values()} == {(2023, 11, 14, 22, 13, 20)}
    modes = {name: stat.S_IMODE(each.external_attr >> 16) for name, each in entries.items()}
    assert (modes[module], modes["p/__init__.py"]) == (0o755, 0o644)
    described = files["p-1.0.dist-info/WHEEL"].decode()
    assert "Root-Is-Purelib: false\nTag: cp313-cp313-manylinux_2_28_aarch64\n" in described
    record = files.pop("p-1.0.dist-info/RECORD").decode()
    want = {"p-1.0.dist-info/RECORD": ""}
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        want[name] = f"sha256={digest}"
    assert {row.split(",")[0]: row.split(",")[1] for row in record.splitlines()} == want


def sdist(folder: Path, *, order: int, modified: int, mode: int) -> bytes:
    """A source distribution made from an archive with this order, time and mode."""
    tree = folder / "p-1.0"
    tree.mkdir(parents=True)
    for name in sorted(("a.py", "b.py"), reverse=order < 0):
        (tree / name).write_text(name)
        os.utime(tree / name, (modified, modified))
        (tree / name).chmod(mode)
    written = folder / "p-1.0.tar"
    with tarfile.open(written, "w") as archive:
        for each in sorted(tree.iterdir(), reverse=order < 0):
            archive.add(each, f"p-1.0/{each.name}")
    (folder / "dist").mkdir()
    made = archives.sdist(written, folder / "dist", EPOCH)
    assert made.name == "p-1.0.tar.gz"
    return made.read_bytes()


def test_a_source_distribution_is_written_by_the_python_of_debian_12(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 3.11.2 tarfile knows no filters yet."""

    def extractall(archive: tarfile.TarFile, path: str = ".") -> None:
        raise AssertionError("with filters this fails there, and without them it warns elsewhere")

    monkeypatch.setattr(tarfile.TarFile, "extractall", extractall)
    assert sdist(tmp_path / "1", order=1, modified=7, mode=0o644)


@pytest.mark.parametrize(("order", "modified", "mode"), [(-1, 7, 0o644), (1, 99, 0o640)])
def test_a_source_distribution_does_not_depend_on_times_orders_and_umask(
    tmp_path: Path, order: int, modified: int, mode: int
) -> None:
    one = sdist(tmp_path / "1", order=1, modified=7, mode=0o644)
    assert one == sdist(tmp_path / "2", order=order, modified=modified, mode=mode)
