"""Check every contract, for this project or for the tree that the first argument names."""

import sys
from pathlib import Path

from tools.check_layout import (
    commits,
    cycles,
    forbidden,
    layers,
    names,
    references,
    sizes,
    starred,
    third_party,
)
from tools.check_layout.imports import read_imports
from tools.check_layout.table import Table, TableError, read_table

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str]) -> int:
    """Print each problem as ``file:line: problem; remedy``; the exit code is 1 if there is one."""
    root = Path(arguments[0]).resolve() if arguments else ROOT
    try:
        table = read_table(root)
        found = problems(root, table)
        skipped = commits.unchecked(root)
    except (TableError, commits.GitError) as error:
        print(error)
        return 1
    for problem in found:
        print(problem)
    if skipped:
        print(f"skipped the check of commit subjects: {skipped}")
    return 1 if found else 0


def problems(root: Path, table: Table) -> list[str]:
    """The violations of the contracts of ``table`` in the tree at ``root``."""
    modules, imports = read_imports(root)
    return [
        *cycles.problems(imports),
        *layers.problems(table.layers, modules, imports),
        *forbidden.problems(table.forbidden, imports),
        *third_party.problems(table.third_party, imports),
        *sizes.problems(table, root),
        *names.problems(table, root),
        *starred.problems(root),
        *references.problems(root),
        *commits.problems(table, root),
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
