"""How setup.py writes modules: whole or not at all, and again when what the compilers are told
changes.
"""

import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shared import ROOT


@pytest.fixture(name="build")
def _build(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["setup.py", "--version"])
    monkeypatch.setenv("POLICYD_COMPILED", "1")
    return runpy.run_path("setup.py")["Build"]


def linked(content: str, killed: bool) -> Callable[..., None]:
    """A linker that may be killed when its file is open."""

    def link(objects: list[str], file: str, **options: object) -> None:
        Path(file).write_text("" if killed else content)
        if killed:
            raise KeyboardInterrupt

    return link


def test_a_module_is_linked_whole_or_not_at_all(build: Any, tmp_path: Path) -> None:
    module = tmp_path / "a.so"
    with pytest.raises(KeyboardInterrupt):
        build._whole(linked("new", killed=True))([], str(module))
    assert not module.exists()
    module.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        build._whole(linked("new", killed=True))([], str(module))
    assert module.read_text() == "old"
    build._whole(linked("new", killed=False))([], str(module))
    assert [each.name for each in tmp_path.iterdir()] == ["a.so"]
    assert module.read_text() == "new"


@pytest.mark.slow
def test_changed_settings_build_again_what_they_concern(tmp_path: Path) -> None:
    core, setup = tmp_path / "policyd" / "_core", tmp_path / "setup.py"
    (core / "match").mkdir(parents=True)
    shutil.copy(ROOT / "setup.py", setup)
    for package in (core.parent, core, core / "match"):
        (package / "__init__.py").touch()
    for name in ("a", "match/b"):
        (core / f"{name}.pyx").write_text("def one(): return 1\n")

    def built() -> set[str]:
        """The C files and modules that a build wrote."""
        files = [*tmp_path.rglob("build/lib*/**/[ab].*so"), *tmp_path.rglob("build/**/[ab].c")]
        before = {each: each.stat().st_mtime_ns for each in files}
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        files = [*tmp_path.rglob("build/lib*/**/[ab].*so"), *tmp_path.rglob("build/**/[ab].c")]
        return {
            f"{each.name[0]}{each.suffix}"
            for each in files
            if before.get(each) != each.stat().st_mtime_ns
        }

    def change(old: str, new: str) -> None:
        text = setup.read_text()
        assert old in text
        setup.write_text(text.replace(old, new))

    assert built() == {"a.so", "a.c", "b.so", "b.c"}
    assert built() == set()
    change('"policyd._core.match.*": "-O1"', '"policyd._core.match.*": "-O0"')
    assert built() == {"b.so"}
    change('"emit_code_comments": DEBUG', '"emit_code_comments": True')
    assert built() == {"a.so", "a.c", "b.so", "b.c"}
    assert built() == set()
