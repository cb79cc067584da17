"""The modules of policyd and their imports, of Python and Cython alike."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.check_layout.cython_reader import read_cython
from tools.check_layout.python_reader import read_python
from tools.check_layout.statements import Statement
from tools.tree import files

PACKAGE = "policyd"
READERS = {".py": read_python, ".pyi": read_python, ".pyx": read_cython, ".pxd": read_cython}


class Import(NamedTuple):
    """A module imports another module, of policyd or not, on a line of a file."""

    path: str
    line: int
    importer: str
    imported: str

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"

    @property
    def inside(self) -> bool:
        """Whether the imported module belongs to policyd."""
        return is_below(self.imported, PACKAGE)


def read_imports(root: Path) -> tuple[dict[str, str], list[Import]]:
    """The modules of policyd in the tree at ``root``, each with one of its files, and their
    imports.
    """
    paths = [path for path in files(PACKAGE, root) if Path(path).suffix in READERS]
    modules = {module_of(path): path for path in paths}
    found = []
    for path in paths:
        source = (root / path).read_text("utf-8")
        for statement in READERS[Path(path).suffix](source, path):
            for imported in resolved(statement, path, modules):
                if imported != module_of(path):
                    found.append(Import(path, statement.line, module_of(path), imported))
    return modules, sorted(set(found))


def module_of(path: str) -> str:
    """The dotted name of a path; a package's own files have the name of the package."""
    return ".".join(Path(path).with_suffix("").parts).removesuffix(".__init__")


def resolved(statement: Statement, path: str, modules: dict[str, str]) -> Iterator[str]:
    """The modules that a statement imports; for policyd the longest names that exist."""
    base = statement.module
    if statement.level:
        package = Path(path).parts[: -statement.level]
        base = ".".join((*package, *([base] if base else [])))
    for name in statement.names or ("",):
        target = f"{base}.{name}".rstrip(".")
        while is_below(target, PACKAGE) and target not in modules and "." in target:
            target = target.rpartition(".")[0]
        yield target if is_below(target, PACKAGE) else base


def is_below(module: str, package: str) -> bool:
    """Whether ``module`` is ``package`` or inside it."""
    return module == package or module.startswith(f"{package}.")
