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
