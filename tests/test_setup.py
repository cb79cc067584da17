"""How setup.py writes modules: whole or not at all, again when what the compilers are told changes,
and with every compiler; and what a build prints.
"""

import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shared import ROOT


@pytest.fixture(name="names")
def _names(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["setup.py", "--version"])
    monkeypatch.setenv("POLICYD_COMPILED", "1")
    return runpy.run_path("setup.py")


@pytest.fixture(name="build")
def _build(names: dict[str, Any]) -> Any:
    return names["Build"]


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


BUILD = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]


def project(folder: Path) -> Path:
    """Write two modules and a copy of setup.py, which is returned."""
    core = folder / "policyd" / "_core"
    (core / "match").mkdir(parents=True)
    for package in (core.parent, core, core / "match"):
        (package / "__init__.py").touch()
    for name in ("a", "match/b"):
        (core / f"{name}.pyx").write_text("def one(): return 1\n")
    return Path(shutil.copy(ROOT / "setup.py", folder))


def headers(folder: Path) -> int:
    """How many precompiled headers a build left; the modules that it made work."""
    code = (
        "from policyd._core.a import one; from policyd._core.match import b; print(one(), b.one())"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    assert done.stdout == "1 1\n"
    return len([*folder.rglob("build/temp*/headers/*/*.gch")])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "left"), [("exit 1", 0), ('for last; do :; done; echo x >"$last"; exit', 2)]
)
def test_modules_are_built_by_a_compiler_that_precompiles_no_headers_or_garbage(
    tmp_path: Path, script: str, left: int
) -> None:
    project(tmp_path)
    compiler = tmp_path / "cc"
    compiler.write_text(
        f'#!/bin/sh\ncase " $* " in *" c-header "*) {script};; esac\nexec gcc "$@"\n'
    )
    compiler.chmod(0o755)
    environment = {**os.environ, "CC": str(compiler)}
    subprocess.run(BUILD, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert headers(tmp_path) == left


@pytest.mark.slow
def test_changed_settings_build_again_what_they_concern(tmp_path: Path) -> None:
    setup = project(tmp_path)

    def built() -> set[str]:
        """The C files and modules that a build wrote."""
        files = [*tmp_path.rglob("build/lib*/**/[ab].*so"), *tmp_path.rglob("build/**/[ab].c")]
        before = {each: each.stat().st_mtime_ns for each in files}
        subprocess.run(BUILD, cwd=tmp_path, check=True, capture_output=True)
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

    assert built() == {"a.so", "a.c", "b.so", "b.c"} and headers(tmp_path) == 2
    assert built() == set()
    change('"policyd._core.match.*": "-O1"', '"policyd._core.match.*": "-O0"')
    assert built() == {"b.so"}
    change('"emit_code_comments": DEBUG', '"emit_code_comments": True')
    assert built() == {"a.so", "a.c", "b.so", "b.c"}


def test_a_build_prints_a_line_that_changes_or_a_few_lines(
    names: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(*, terminal: bool, compiled: int, modules: int = 143) -> str:
        """What a build prints in which the first modules are up to date."""
        monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
        capsys.readouterr()
        progress = names["Progress"](modules)
        for index in range(modules):
            progress.add(compiled=index >= modules - compiled)
        progress.end()
        return capsys.readouterr().out

    shown = printed(terminal=True, compiled=143)
    assert shown.startswith("modules compiled: 1 of 143\rmodules compiled: 2 of 143\r")
    assert shown.count("\r") == 142
    assert shown.count("\n") == 1
    assert shown.endswith("\rmodules compiled: 143 of 143\n")
    assert printed(terminal=False, compiled=143).splitlines() == [
        f"modules compiled: {each} of 143" for each in (29, 58, 87, 116, 143)
    ]
    for terminal in (True, False):
        assert printed(terminal=terminal, compiled=1) == "modules compiled: 1 of 1\n"
        assert printed(terminal=terminal, compiled=0) == ""


CYTHON = "def one(): return 1 +\n"
C = '''cdef extern from *:
    """
    #warning "this is checked"
    int f(void) { return x; }
    """
    int f()
'''


PRINTED = (
    "policyd._core.a: ",
    "policyd/_core/a.pyx:1:21: Expected an identifier",
    "return 1 +\n",
    "policyd._core.match.b: ",
    'warning: #warning "this is checked"',
    "undeclared",
    "int f(void) {",
    "error: not all modules could be compiled",
)


@pytest.mark.slow
def test_a_failed_build_prints_all_of_the_compilers_and_the_modules(tmp_path: Path) -> None:
    core = project(tmp_path).parent / "policyd" / "_core"
    (core / "a.pyx").write_text(CYTHON)
    (core / "match" / "b.pyx").write_text(C)
    done = subprocess.run(BUILD, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert [each for each in PRINTED if each not in done.stderr] == []
    assert "Traceback" not in done.stderr
    assert "Cythonizing" not in done.stdout
