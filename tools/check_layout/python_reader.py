"""Import statements of Python source (``.py``, ``.pyi``), wherever they stand in it."""

import ast
from collections.abc import Iterator

from tools.check_layout.statements import Statement


def read_python(source: str, path: str) -> Iterator[Statement]:
    """SyntaxError if ``source``, the content of ``path``, is not Python."""
    for node in ast.walk(ast.parse(source, path)):
        if isinstance(node, ast.Import):
            yield from (Statement(node.lineno, 0, alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            yield Statement(node.lineno, node.level, node.module or "", names)
