"""Read import and cimport statements of ``.pyx`` and ``.pxd`` files with Cython's own parser."""

from collections.abc import Iterator
from typing import Any

from Cython.Compiler.Errors import init_thread
from Cython.Compiler.ExprNodes import ImportNode
from Cython.Compiler.Nodes import CImportStatNode, FromCImportStatNode
from Cython.Compiler.TreeFragment import StringParseContext, parse_from_strings

from tools.check_layout.statements import Statement


def read_cython(source: str, path: str) -> Iterator[Statement]:
    """The statements of ``source``, the content of ``path``; raises a CompileError of Cython."""
    init_thread()
    level = "module_pxd" if path.endswith(".pxd") else None
    tree = parse_from_strings(path, source, level=level, context=StringParseContext(path))
    pending = [tree]
    while pending:
        node = pending.pop()
        yield from statements_of(node)
        for attribute in node.child_attrs or ():
            child = getattr(node, attribute)
            pending += [each for each in (child if isinstance(child, list) else [child]) if each]


def statements_of(node: Any) -> Iterator[Statement]:
    line = node.pos[1]
    if isinstance(node, CImportStatNode):
        yield Statement(line, 0, str(node.module_name), None)
    elif isinstance(node, FromCImportStatNode):
        names = tuple(str(name) for _, name, _ in node.imported_names)
        yield Statement(line, node.relative_level or 0, str(node.module_name), names)
    elif isinstance(node, ImportNode):
        listed = node.imported_names
        names_or_none = tuple(str(name.value) for name in listed) if listed else None
        yield Statement(line, max(node.level or 0, 0), str(node.module_name.value), names_or_none)
