"""Contract: a public class or type alias is defined once, so that its name means one thing."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tools.check_layout.table import PLACE, Table
from tools.tree import files

CYTHON_CLASS = re.compile(r"^(?:cdef +)?class +([A-Z]\w*)", re.MULTILINE)
CONSTANT = re.compile(r"[A-Z][A-Z0-9_]*$")


def problems(table: Table, root: Path) -> Iterator[str]:
    """Names with several definitions at the top of modules, and rows that are not needed."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in files("policyd", root):
        content = (root / path).read_text("utf-8") if path.endswith((".py", ".pyx")) else ""
        found = defined(content) if path.endswith(".py") else cython_classes(content)
        for name, line in found:
            places[name].append(f"{path}:{line}")
    for name, where in sorted(places.items()):
        if len(where) > 1 and name not in table.names_except:
            yield (
                f"{where[-1]}: {name} is also defined at {', '.join(where[:-1])};"
                " name each after what it is, or import the one"
            )
    for name in sorted(table.names_except):
        if len(places.get(name, ())) < 2:
            yield f"{PLACE}: {name} is defined once; delete it from [names]"


def defined(source: str) -> Iterator[tuple[str, int]]:
    """Public classes and aliases (capitalised names that are no constants) with their lines."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if CONSTANT.match(name) and not is_type(node.value):
                continue
        else:
            continue
        if name[0].isupper() and not is_variable(node):
            yield name, node.lineno


def is_type(value: ast.expr) -> bool:
    """Whether an assigned expression is a type: ``Callable[...]``, ``A | B``, ``Any``."""
    match value:
        case ast.Subscript(value=ast.Name(id=name)):
            return name[0].isupper() or name in ("dict", "list", "tuple", "type")
        case ast.BinOp(op=ast.BitOr(), left=left):
            return is_type(left) or isinstance(left, ast.Name)
    return isinstance(value, ast.Name) and value.id == "Any"


def is_variable(node: ast.stmt) -> bool:
    """Whether it makes a type variable, which each module has for itself."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id in ("TypeVar", "TypeVarTuple", "ParamSpec")
    )


def cython_classes(source: str) -> Iterator[tuple[str, int]]:
    """The classes of a ``.pyx``."""
    for found in CYTHON_CLASS.finditer(source):
        yield found[1], source.count("\n", 0, found.start()) + 1
