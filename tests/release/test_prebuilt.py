"""Without a compiler the core comes from the wheel of this version, Python and machine."""

import platform
import sys
import zipfile
from pathlib import Path

import pytest

from policyd import __version__
from tools.release import prebuilt

TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
NAME = f"policyd-{__version__}-{TAG}-{TAG}-manylinux_2_28_{platform.machine()}.whl"


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        (NAME, True),
        (NAME.replace(__version__, "9.9.9"), False),
        (NAME.replace(TAG, "cp399"), False),
        (NAME.replace(platform.machine(), "s390x"), False),
        ("policyd.txt", False),
    ],
)
def test_only_modules_of_this_python_and_machine_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, taken: bool
) -> None:
    monkeypatch.setattr(prebuilt, "_ROOT", tmp_path)
    (tmp_path / "dist").mkdir()
    with zipfile.ZipFile(tmp_path / "dist" / name, "w") as archive:
        archive.writestr("policyd/core.so", b"\x7fELF")
        archive.writestr("policyd/core.py", "of the wheel")
    try:
        prebuilt.main()
        problem = ""
    except SystemExit as raised:
        problem = str(raised)
    assert (tmp_path / "policyd/core.so").exists() is taken
    assert not (tmp_path / "policyd/core.py").exists()
    if not taken:
        wanted = NAME.replace("manylinux_2_28", "*")
        assert problem == f"install a C compiler, or put the wheel {wanted} into dist/"
