"""The core and the front end of CEL are compiled: imported in any other way they would be slow, and
the core untested.
"""

import importlib
from pathlib import Path

import pytest

from tests.shared import ROOT

CORE = sorted((ROOT / "policyd" / "_core").rglob("*.pyx"))
HEADERS = sorted((ROOT / "policyd").rglob("[!_]*.pxd"))
# Python with a header is compiled, too.
TYPED = [each.with_suffix(".py") for each in HEADERS if each.with_suffix(".py").exists()]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize("name", [module_name(each) for each in (*CORE, *TYPED)])
def test_compiled_modules_are_shared_libraries(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__file__ is not None
    assert module.__file__.endswith((".so", ".pyd")), f"{name} is {module.__file__}: make build"


def test_there_is_a_core_and_a_front_end() -> None:
    assert CORE
    assert ROOT / "policyd" / "cel" / "check" / "checker.py" in TYPED


def test_no_source_is_both_python_and_cython() -> None:
    assert [each for each in CORE if each.with_suffix(".py").exists()] == []
