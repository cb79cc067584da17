"""Contract: no display has a starred literal in it. ``(*("a", "b"), "c")`` reads like unpacking and
only keeps the formatter from putting each item on a line of its own: write ``("a", "b", "c")``.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tools.tree import files

# In Cython: a star at the start of a line, or after a bracket or comma, before a tuple or a list of
# literals. What is made by a comprehension begins with a call or a bracket on a line of its own.
CYTHON = re.compile(r"(?:^[ \t]*|[(\[{,][ \t]*)\*[(\[][ \t]*(?:[\"'\d({]|-\d)", re.MULTILINE)


def problems(root: Path) -> Iterator[str]:
    """Starred tuples, lists and sets in Python, and starred literals in Cython."""
    for path in files(".", root):
        if path.endswith((".py", ".pyx")):
            content = (root / path).read_text("utf-8")
            for line in starred(content) if path.endswith(".py") else starred_cython(content):
                yield f"{path}:{line}: a starred literal; write its items plainly"


def starred(source: str) -> Iterator[int]:
    """Yield the lines of starred literals in a Python module."""
    if "*(" in source or "*[" in source or "*{" in source:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Starred) and isinstance(
                node.value, ast.Tuple | ast.List | ast.Set
            ):
                yield node.lineno


def starred_cython(source: str) -> Iterator[int]:
    """Yield the lines of starred literals in a Cython module."""
    for found in CYTHON.finditer(source):
        yield source.count("\n", 0, found.end()) + 1
