"""Find the functions of Python modules that call themselves, directly or through others of their
module or class. Calls of methods of other objects, and through C (``==`` of lists), are not found.
"""

import ast
from pathlib import Path

from tests.core.recursion.cycles import cycles
from tests.shared import ROOT

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def recursive_functions() -> list[frozenset[str]]:
    """Return the groups of functions that call each other, by ``module:Class.name``."""
    return [
        frozenset(f"{_module(path)}:{name}" for name in group)
        for path in sorted(Path(ROOT, "policyd").rglob("*.py"))
        for group in cycles(_calls(ast.parse(path.read_text(encoding="utf-8"))))
    ]


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "policyd").with_suffix("").parts)


def _calls(tree: ast.Module) -> dict[str, set[str]]:
    calls = {each.name: _named(each, "") for each in tree.body if isinstance(each, _Function)}
    for kind in tree.body:
        if isinstance(kind, ast.ClassDef):
            methods = [each for each in kind.body if isinstance(each, _Function)]
            calls |= {f"{kind.name}.{each.name}": _named(each, kind.name) for each in methods}
    return calls


def _named(function: _Function, owner: str) -> set[str]:
    """Return what a function names: functions of the module, methods of its own class, functions
    inside itself.
    """
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in ("self", "cls"):
                found.add(f"{owner}.{node.attr}")
        elif isinstance(node, _Function) and node is not function and node.name in _names(node):
            found.add(f"{owner}.{function.name}".removeprefix("."))  # a recursive inner function
    return found


def _names(function: _Function) -> set[str]:
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
