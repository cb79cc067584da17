"""The core and the front end of CEL are compiled: imported in any other way they would be slow, and
the core untested.
"""

import importlib
from pathlib import Path

from tests.shared import ROOT

CORE = sorted((ROOT / "policyd" / "_core").rglob("*.pyx"))
HEADERS = sorted((ROOT / "policyd").rglob("[!_]*.pxd"))
# Python with a header is compiled, too.
TYPED = [each.with_suffix(".py") for each in HEADERS if each.with_suffix(".py").exists()]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def test_compiled_modules_are_shared_libraries() -> None:
    modules = [importlib.import_module(module_name(each)) for each in (*CORE, *TYPED)]
    slow = [each.__name__ for each in modules if not str(each.__file__).endswith((".so", ".pyd"))]
    assert slow == [], "make build"


def test_there_is_a_core_and_a_front_end() -> None:
    assert CORE
    assert ROOT / "policyd" / "cel" / "check" / "checker.py" in TYPED


def test_no_source_is_both_python_and_cython() -> None:
    assert [each for each in CORE if each.with_suffix(".py").exists()] == []
