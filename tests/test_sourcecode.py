"""Rules for the code that no linter checks: functions, docstrings, marks, handlers, and shared code of
tests.

``tools/layout.toml`` has the rules for files, folders and imports.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.shared import ROOT
from tools.tree import files, statements

FUNCTION_LINES = 70
MARKS = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError|stub)\b")
# Where any exception is caught, and what becomes of it.
BROAD = {
    "policyd/admission/findings.py": "failurePolicy decides, and it is logged",
    "policyd/admission/validating.py": "failurePolicy decides, and it is logged",
    "policyd/admission/mutating/webhook.py": "failurePolicy decides, and it is logged",
    "policyd/api/lookups.py": "a program's lookup failed: failurePolicy decides, and it is logged",
    "policyd/cli/apply/shared_work.py": "the command does the work itself, and reports what fails",
    "policyd/http/endpoints.py": "counted and raised again",
    "policyd/observability/log_writer.py": "the lines are counted as lost, and the reason is logged",
    "policyd/observability/metrics/recorder.py": "a listener failed; it is counted and logged",
    "policyd/observability/recording.py": "a request could not be recorded; it is counted and logged",
    "policyd/server/capture.py": "counted, and raised again for recording.py",
    "policyd/observability/tracing/export.py": "an export failed; it is counted and logged",
    "policyd/server/policies/file_watch.py": "inotify's library fails; looks go on without it, and it is logged",
    "policyd/server/health.py": "a watch failed; it is logged, counted and begun again",
    "policyd/server/network/http1.py": "the app failed: status 500, and it is logged",
    "policyd/server/cluster/cluster_controllers.py": "a controller failed; it is logged and begun again",
    "policyd/server/edits/edit_gate.py": "counted and raised again",
    "policyd/server/edits/child.py": "the edit is refused, and it is logged",
    "tests/core/recursion/attacks.py": "what an attack raises is its outcome",
    "policyd/server/policies/store.py": "the reload fails, and says so; the set in use stays",
}

# A test that needs another one than tests/builders has calls it by what is special about it.
BUILDERS = {
    "policy", "vap", "vap_binding", "map_", "map_binding", "suite", "rule", "pod", "deployment",
    "config_map", "review", "body",
}  # fmt: skip

CODE = [each for each in files() if each.endswith((".py", ".pyx", ".pxd", ".pyi"))]
PYTHON = [each for each in CODE if each.endswith(".py")]
CYTHON = [each for each in CODE if each.endswith((".pyx", ".pxd"))]
PACKAGE = [
    each for each in CODE if each.startswith(("policyd/", "tools/", "loadtest/", "setup.py"))
]


@cache
def text(path: str) -> str:
    return Path(ROOT, path).read_text(encoding="utf-8")


class Outline(NamedTuple):
    """What is asked of a Python module here."""

    functions: list[tuple[str, int]]  # with their lines
    docstring: bool
    catches_all: bool  # there is a handler of every exception
    imported: list[str]  # full names, in functions too
    outer: list[str]  # the names of functions that are in no other and in no class


@cache
def outline(path: str) -> Outline:
    """Read a module once."""
    module = ast.parse(text(path))
    functions, catches_all, imported = [], False, list[str]()
    for node in statements(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.append((node.name, (node.end_lineno or 0) - node.lineno + 1))
        elif isinstance(node, ast.ExceptHandler):
            name = node.type.id if isinstance(node.type, ast.Name) else ""
            broad = node.type is None or name in ("Exception", "BaseException")
            catches_all = catches_all or broad
        elif isinstance(node, ast.Import):
            imported += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            imported += [f"{node.module}.{each.name}" for each in node.names]
    outer = [each.name for each in module.body if isinstance(each, ast.FunctionDef)]
    return Outline(functions, bool(ast.get_docstring(module)), catches_all, imported, outer)


def test_functions_fit_on_a_screen() -> None:
    long = [
        (path, name, size)
        for path in PYTHON
        for name, size in outline(path).functions
        if size > FUNCTION_LINES
    ]
    assert long == []


def test_compiled_functions_fit_on_a_screen() -> None:
    """From one ``def`` or ``cdef`` of a function to the next, blank lines at the end not counted."""
    found = {path: long for path in CYTHON if path.endswith(".pyx") and (long := too_long(path))}
    assert found == {}


def too_long(path: str) -> dict[str, int]:
    """The functions of a Cython file that are longer than a screen."""
    head = re.compile(r"^( *)(?:async +)?c?p?def +(?!class\b)[^=\n]*\(")
    lines = text(path).splitlines()
    starts = [(number, line) for number, line in enumerate(lines) if head.match(line)]
    long = {}
    for start, line in starts:
        indent = len(line) - len(line.lstrip())
        end = start + 1
        while end < len(lines) and (
            not lines[end].strip()
            or len(lines[end]) - len(lines[end].lstrip()) > indent
            or lines[end].lstrip().startswith(")")
        ):
            end += 1
        size = len("\n".join(lines[start:end]).rstrip().splitlines())
        if size > FUNCTION_LINES:
            long[line.strip()] = size
    return long


def test_nothing_is_marked_unfinished() -> None:
    found = [(path, line) for path in PACKAGE for line in MARKS.findall(text(path))]
    assert found == []


def test_modules_say_what_they_are_for() -> None:
    assert [path for path in (*PYTHON, *CYTHON) if not says_what_it_is_for(path)] == []


def says_what_it_is_for(path: str) -> bool:
    """Whether a module has a docstring or, in Cython, a comment at its head; empty files need none."""
    if not text(path).strip():
        return path.endswith(("__init__.pxd", "__init__.py"))
    if path.endswith(".py"):
        return outline(path).docstring
    return bool(re.match(r'(?:#[^\n]*\n)*\s*r?(?:"""|# )', text(path)))


def test_no_handler_is_bare_or_silently_broad() -> None:
    """``except Exception`` stands where the table says, and nowhere else; nothing is bare."""
    found = [path for path in PYTHON if outline(path).catches_all is not (path in BROAD)]
    assert found == []


TESTS = [each for each in PYTHON if each.startswith("tests/")]


def test_no_module_of_tests_is_imported() -> None:
    ours = {each.removesuffix(".py").replace("/", ".") for each in TESTS}
    found = [
        (path, each)
        for path in TESTS
        for name in outline(path).imported
        if name.startswith("tests.")
        for each in prefixes(name)
        if ".test_" in each and each in ours
    ]
    assert found == []


def prefixes(name: str) -> Iterator[str]:
    """The packages and modules that a dotted name may stand for."""
    parts = name.split(".")
    return (".".join(parts[:length]) for length in range(2, len(parts) + 1))


def test_builders_exist_once() -> None:
    elsewhere = [each for each in TESTS if "tests/builders/" not in each]
    assert [each for each in elsewhere if BUILDERS & {*outline(each).outer}] == []
