"""Rules for the tests: shared code is in shared modules, and each builder exists once."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.shared import ROOT
from tests.tree import files

MODULES = [each for each in files("tests") if each.endswith(".py")]
# A test that needs another one than tests/builders has calls it by what is special about it.
BUILDERS = {
    *("policy", "vap", "vap_binding", "map_", "map_binding", "suite", "rule"),
    *("pod", "deployment", "config_map", "review", "body"),
}


def tree(path: str) -> ast.Module:
    return ast.parse(Path(ROOT, path).read_text(encoding="utf-8"))


def imported(path: str) -> Iterator[str]:
    """The full names of what a module imports, in functions too."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names)


@pytest.mark.parametrize("path", MODULES)
def test_no_module_of_tests_is_imported(path: str) -> None:
    named = (each.split(".") for each in imported(path) if each.startswith("tests."))
    ours = {each.removesuffix(".py").replace("/", ".") for each in MODULES}
    parts = (".".join(each[:length]) for each in named for length in range(2, len(each) + 1))
    assert [each for each in parts if ".test_" in each and each in ours] == []


@pytest.mark.parametrize("path", [each for each in MODULES if "tests/builders/" not in each])
def test_builders_exist_once(path: str) -> None:
    functions = {each.name for each in tree(path).body if isinstance(each, ast.FunctionDef)}
    assert functions & BUILDERS == set()
