"""Rules for the tests: shared code is in shared modules, and each builder exists once."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.shared import ROOT
from tools.tree import files, statements

MODULES = [each for each in files("tests") if each.endswith(".py")]
# A test that needs another one than tests/builders has calls it by what is special about it.
BUILDERS = {
    *("policy", "vap", "vap_binding", "map_", "map_binding", "suite", "rule"),
    *("pod", "deployment", "config_map", "review", "body"),
}


@cache
def tree(path: str) -> ast.Module:
    return ast.parse(Path(ROOT, path).read_text(encoding="utf-8"))


def imported(path: str) -> Iterator[str]:
    """The full names of what a module imports, in functions too."""
    for node in statements(tree(path)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names)


def test_no_module_of_tests_is_imported() -> None:
    ours = {each.removesuffix(".py").replace("/", ".") for each in MODULES}
    found = [
        (path, each)
        for path in MODULES
        for name in imported(path)
        if name.startswith("tests.")
        for each in prefixes(name)
        if ".test_" in each and each in ours
    ]
    assert found == []


def prefixes(name: str) -> Iterator[str]:
    """The packages and modules that a dotted name may stand for."""
    parts = name.split(".")
    return (".".join(parts[:length]) for length in range(2, len(parts) + 1))


def test_builders_exist_once() -> None:
    found = {
        (path, node.name)
        for path in MODULES
        if "tests/builders/" not in path
        for node in tree(path).body
        if isinstance(node, ast.FunctionDef) and node.name in BUILDERS
    }
    assert found == set()
