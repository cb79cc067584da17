"""Contract: a file of Python or Cython that a docstring, a comment or a page of docs/ names exists.

A name may leave out the first folders of a path. ``NAME.py``, with capitals, stands for any file.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tools.tree import files

NAMED = re.compile(r"(?<![\w./*<>{}-])(?:[\w.-]+/)*[\w-]+\.(?:pyx|pxd|pyi|py)(?![\w*])")
BELOW = ("policyd/", "tools/", "loadtest/", "tests/", "docs/", "setup.py", "CONTRIBUTING.md")


def problems(root: Path) -> Iterator[str]:
    """Names of files that do not exist, with where they are written."""
    paths = files(".", root)
    ends = {end for path in paths for end in endings(path)}
    for path in paths:
        if path.startswith(BELOW) and path.endswith((".py", ".pyx", ".pxd", ".md")):
            for line, text in prose(path, (root / path).read_text("utf-8")):
                for found in NAMED.finditer(text):
                    name = found[0].removeprefix("./").removeprefix("../")
                    if name not in ends and not re.search("[A-Z]{3}", name):
                        at = line + text.count("\n", 0, found.start())
                        yield f"{path}:{at}: there is no file {name}; name the one that is meant"


def endings(path: str) -> Iterator[str]:
    """Yield a path, and all that is left without its first folders."""
    parts = path.split("/")
    return ("/".join(parts[at:]) for at in range(len(parts)))


def prose(path: str, source: str) -> Iterator[tuple[int, str]]:
    """Yield what people read in a file, with the line where it begins."""
    if path.endswith(".md"):
        yield 1, source
    elif path.endswith(".py"):
        yield from docstrings(source)
        yield from comments(source)
    else:
        yield from cython_prose(source)


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the docstrings of a module, its classes and functions."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the comments of a module."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def cython_prose(source: str) -> Iterator[tuple[int, str]]:
    """Yield the comments and docstrings of a Cython module."""
    for found in re.finditer(r'"""(.*?)"""|(?<!["\'\w])#[^\n]*', source, re.DOTALL):
        yield source.count("\n", 0, found.start()) + 1, found[0]
