"""List the project's files without git: in a checkout, an archive or any other folder."""

import ast
import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What builds and tools leave in the tree; names that start with a dot are left out too.
MADE_FOLDERS = ("__pycache__", "build", "dist", ".egg-info")
MADE_FILES = (".so", ".c", ".html", ".pyc")


def files(below: str = ".", root: Path = ROOT) -> list[str]:
    """Return sorted paths, from the root, of all handwritten files; of the project by default."""
    found = []
    for folder, folders, names in os.walk(root / below):
        folders[:] = [each for each in folders if not each.startswith(".")]
        folders[:] = [each for each in folders if not each.endswith(MADE_FOLDERS)]
        written = (each for each in names if not each.endswith(MADE_FILES))
        found += [Path(folder, each) for each in written if not each.startswith(".")]
    return sorted(str(each.relative_to(root)) for each in found)


def statements(module: ast.Module) -> Iterator[ast.AST]:
    """Yield all statements of a module and its handlers, in functions too; faster than ast.walk."""
    waiting: list[ast.AST] = [module]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
                yield node
                waiting.append(node)
