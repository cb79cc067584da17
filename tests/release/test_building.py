"""What wheels are built for, by which arguments, and what is wrong with one."""

from pathlib import Path
from typing import Any

import pytest

from tools.release import checks, compiling, headers, settings
from tools.release.settings import Target
from tools.supply import matrix


def test_there_is_a_target_for_every_python_and_machine() -> None:
    assert list(settings.SUITES) == list(matrix.VERSIONS)
    assert len(settings.targets()) == 2 * len(matrix.VERSIONS)


def test_the_names_of_a_target() -> None:
    target = Target("3.13", "x86_64")
    assert target.suffix == ".cpython-313-x86_64-linux-gnu.so"
    assert target.triple == "x86_64-linux-gnu.2.28"
    assert (target.tag, target.platform) == ("cp313", "manylinux_2_28_x86_64")


def test_the_time_of_files_is_that_of_the_commit_or_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "12")
    assert settings.epoch() == 12


def test_every_module_of_setup_py_is_compiled_as_zig_knows_it() -> None:
    found = compiling.extensions()
    assert {"policyd._core.cython_utility", "policyd._core.json.equality"} <= {
        each.name for each in found
    }
    for each in found:
        (level,) = (word for word in compiling.arguments(each) if word.startswith("-O"))
        assert level in {"-O1", "-O2", "-O3", "-Os"}, each.name  # -Og is -O0 to Zig


@pytest.mark.parametrize("name", ["COMPILED", "DEBUG", "TRACE", "SANITIZE", "FUZZ"])
def test_a_release_is_not_built_for_debugging(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(f"POLICYD_{name}", "1")
    with pytest.raises(SystemExit, match=f"unset POLICYD_{name}"):
        compiling.modules(Target("3.13", "x86_64"), headers.Headers((), ""), Path("zig"))


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        ({}, []),
        ({"overall_tag": "manylinux_2_28_x86_64"}, []),
        ({"overall_tag": "manylinux_2_34_x86_64"}, ["its modules need manylinux_2_34_x86_64, not manylinux_2_28_x86_64: {}"]),
        ({"overall_tag": "linux_x86_64"}, ["its modules need linux_x86_64, not manylinux_2_28_x86_64: {}"]),
        ({"overall_tag": "manylinux_2_17_aarch64"}, ["its modules need manylinux_2_17_aarch64, not manylinux_2_28_x86_64: {}"]),
        ({"external_libs": {"libz.so.1": "/lib"}}, ["its modules need libz.so.1, which is not part of glibc"]),
        ({"unsupported_isa": True}, ["its modules have instructions that not every x86_64 knows"]),
    ],
)  # fmt: skip
def test_what_auditwheel_reports(changes: dict[str, Any], want: list[str]) -> None:
    report = {
        "overall_tag": "manylinux_2_17_x86_64",
        "external_libs": {},
        "unsupported_isa": False,
        "versioned_symbols": {},
        **changes,
    }
    assert list(checks.problems(report, Target("3.13", "x86_64"))) == want


@pytest.mark.parametrize(
    ("python", "version", "files", "want"),
    [
        ("3.12", "3.12.7", ("patchlevel.h", "pyconfig.h", "Python.h"), ""),
        ("3.12", "3.13.1", ("patchlevel.h", "pyconfig.h", "Python.h"), "no Python.h and pyconfig.h of 3.12"),
        ("3.12", "3.12.7", ("patchlevel.h", "Python.h"), "no Python.h and pyconfig.h of 3.12"),
        ("3.12", "3.12.7", (), "no Python.h and pyconfig.h of 3.12"),
        ("3.10", "3.10.1", ("patchlevel.h", "pyconfig.h", "Python.h"), "expected PYTHON=DIR with one of 3.11, 3.12, 3.13, 3.14"),
    ],
)  # fmt: skip
def test_headers_of_another_python_are_refused(
    tmp_path: Path, python: str, version: str, files: tuple[str, ...], want: str
) -> None:
    for name in files:
        (tmp_path / name).write_text(f'#define PY_VERSION              "{version}"\n')
    try:
        found = str(headers.parse([f"{python}={tmp_path}"]))
    except SystemExit as problem:
        found = str(problem)
    assert want in found
    assert ("PosixPath" in found) == (not want)


def test_a_python_that_debian_does_not_have_needs_headers(tmp_path: Path) -> None:
    target = Target("3.12", "x86_64")
    assert headers.find(target, {}) is None
    (tmp_path / "pyconfig.h").write_text("#define SIZEOF_LONG 8\n")
    given = headers.find(target, {"3.12": tmp_path})
    assert given == headers.Headers((tmp_path,), str(tmp_path))


def test_headers_as_debian_and_ubuntu_install_them_are_those_of_a_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """pyconfig.h includes that of each machine; nothing else of /usr/include is used."""
    monkeypatch.setattr(headers, "BUILD", tmp_path / "build")
    folder = tmp_path / "include/python3.12"
    of_machine = "x86_64-linux-gnu/python3.12/pyconfig.h"
    for name, text in (
        ("python3.12/pyconfig.h", f"<{of_machine}> <{of_machine.replace('x86_64', 'aarch64')}>"),
        (of_machine, "#define SIZEOF_LONG 8"),
        ("x86_64-linux-gnu/bits/types.h", "of the libc"),
    ):
        (folder.parent / name).parent.mkdir(parents=True, exist_ok=True)
        (folder.parent / name).write_text(text)
    found = headers.find(Target("3.12", "x86_64"), {"3.12": folder})
    assert found is not None
    own, beside = found.folders
    assert own == folder
    assert [each for each in beside.rglob("*") if each.is_file()] == [beside / of_machine]
    assert headers.find(Target("3.12", "aarch64"), {"3.12": folder}) is None
