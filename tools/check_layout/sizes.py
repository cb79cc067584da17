"""Contract: how many lines a file may have, and how many modules a folder may hold."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.check_layout.table import PLACE, Table
from tools.tree import files

CODE = (".py", ".pyx", ".pxd", ".pyi")
MODULES = (".py", ".pyx")


def problems(table: Table, root: Path) -> Iterator[str]:
    """Files that are too long, then folders that are too full."""
    paths = [path for path in files(".", root) if path.endswith(CODE)]
    for path in paths:
        lines = len((root / path).read_text("utf-8").splitlines())
        limit = table.compiled_lines if path.endswith(".pyx") else table.file_lines
        if lines > limit:
            yield (
                f"{path}:{limit + 1}: the file has {lines} lines; expected at most"
                f" {limit}; give its second idea a file of its own"
            )
    yield from full_folders(table, paths)


def full_folders(table: Table, paths: Sequence[str]) -> Iterator[str]:
    """Folders with too many modules; ``__init__`` does not count, stubs and headers belong to a
    module.
    """
    modules = Counter(
        str(Path(path).parent)
        for path in paths
        if path.endswith(MODULES) and Path(path).stem != "__init__"
    )
    for folder, count in sorted(modules.items()):
        below = any(Path(folder).is_relative_to(each) for each in table.folders_below)
        if below and count > table.folder_modules and folder not in table.folders_except:
            yield (
                f"{folder}: the folder holds {count} modules; expected at most"
                f" {table.folder_modules}; give those that belong together a package of their own"
            )
    for folder in sorted(table.folders_except):
        if modules[folder] <= table.folder_modules:
            yield f"{PLACE}: {folder} holds {modules[folder]} modules; delete it from [folders]"
