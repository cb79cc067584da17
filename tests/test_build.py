"""The core is compiled: a .pyx imported in any other way would be slow and untested."""

import importlib

import pytest

from tests.shared import ROOT

SOURCES = sorted((ROOT / "policyd" / "_core").rglob("*.pyx"))


def module_name(path: str) -> str:
    return path.removesuffix(".pyx").replace("/", ".")


@pytest.mark.parametrize("name", [module_name(str(each.relative_to(ROOT))) for each in SOURCES])
def test_core_modules_are_shared_libraries(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__file__ is not None
    assert module.__file__.endswith((".so", ".pyd")), f"{name} is {module.__file__}: make build"


def test_there_is_a_core() -> None:
    assert SOURCES


def test_no_source_is_both_python_and_cython() -> None:
    assert [each for each in SOURCES if each.with_suffix(".py").exists()] == []
