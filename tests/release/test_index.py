"""pip finds a package in a static index, checks its hash, and refuses another one."""

import subprocess
import sys
import zipfile
from pathlib import Path

from tools.release import index


def pip(address: str, folder: Path) -> subprocess.CompletedProcess[str]:
    options = ["-q", "--isolated", "--no-cache-dir", "--no-deps", "--index-url", address]
    command = [sys.executable, "-m", "pip", "download", *options, "-d", str(folder), "some.thing"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_pip_downloads_from_the_index_and_checks_hashes(tmp_path: Path) -> None:
    wheel = tmp_path / "Some_Thing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(
            "some_thing-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: some-thing\nVersion: 1.0\n",
        )
        archive.writestr(
            "some_thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n"
        )
        archive.writestr("some_thing-1.0.dist-info/RECORD", "")
    index.write(tmp_path / "index", index.distributions(tmp_path))
    with index.served(tmp_path / "index") as address:
        done = pip(address, tmp_path / "got")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "got" / wheel.name).read_bytes() == wheel.read_bytes()
        with (tmp_path / "index/simple/some-thing" / wheel.name).open("ab") as file:
            file.write(b"more")
        done = pip(address, tmp_path / "other")
        assert "DO NOT MATCH THE HASHES" in done.stderr
