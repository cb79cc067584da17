"""Rules for the code that no linter checks: functions, docstrings, marks, handlers.

``tools/layout.toml`` has the rules for files, folders and imports.
"""

import ast
import re
from pathlib import Path

import pytest

from tests.shared import ROOT
from tests.tree import files

FUNCTION_LINES = 70
MARKS = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError|stub)\b")
# Where any exception is caught, and what becomes of it.
BROAD = {
    "policyd/admission/findings.py": "failurePolicy decides, and it is logged",
    "policyd/admission/validating.py": "failurePolicy decides, and it is logged",
    "policyd/admission/mutating/object.py": "failurePolicy decides, and it is logged",
    "policyd/admission/mutating/rounds.py": "failurePolicy decides, and it is logged",
    "policyd/api/lookups.py": "a program's lookup failed: failurePolicy decides, and it is logged",
    "policyd/http/endpoints.py": "counted and raised again",
    "policyd/observability/log_writer.py": "the lines are counted as lost, and the reason is logged",
    "policyd/observability/metrics/recorder.py": "a listener failed; it is counted and logged",
    "policyd/observability/recording.py": "a request could not be recorded; it is counted and logged",
    "policyd/server/capture.py": "counted, and raised again for recording.py",
    "policyd/observability/tracing/export.py": "an export failed; it is counted and logged",
    "policyd/policy/live/watch.py": "inotify's library fails; looks go on without it, and it is logged",
    "policyd/server/health.py": "a watch failed; it is logged, counted and begun again",
    "policyd/server/network/http1.py": "the app failed: status 500, and it is logged",
    "policyd/server/in_cluster.py": "a controller failed; it is logged and begun again",
    "policyd/server/edits/gate.py": "counted and raised again",
    "tests/core/recursion/attacks.py": "what an attack raises is its outcome",
    "policyd/policy/live/store.py": "the reload fails, and says so; the set in use stays",
}

CODE = [each for each in files() if each.endswith((".py", ".pyx", ".pxd", ".pyi"))]
PYTHON = [each for each in CODE if each.endswith(".py")]
CYTHON = [each for each in CODE if each.endswith((".pyx", ".pxd"))]
PACKAGE = [
    each for each in CODE if each.startswith(("policyd/", "tools/", "loadtest/", "setup.py"))
]


def text(path: str) -> str:
    return Path(ROOT, path).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PYTHON)
def test_functions_fit_on_a_screen(path: str) -> None:
    functions = (
        node
        for node in ast.walk(ast.parse(text(path)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    sizes = {node.name: (node.end_lineno or node.lineno) - node.lineno + 1 for node in functions}
    assert {name: size for name, size in sizes.items() if size > FUNCTION_LINES} == {}


@pytest.mark.parametrize("path", [each for each in CYTHON if each.endswith(".pyx")])
def test_compiled_functions_fit_on_a_screen(path: str) -> None:
    """From one ``def`` or ``cdef`` of a function to the next, blank lines at the end not counted."""
    head = re.compile(r"^( *)(?:async +)?c?p?def +(?!class\b)[^=\n]*\(")
    starts = [(i, line) for i, line in enumerate(text(path).splitlines()) if head.match(line)]
    lines = text(path).splitlines()
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
    assert long == {}


@pytest.mark.parametrize("path", PACKAGE)
def test_nothing_is_marked_unfinished(path: str) -> None:
    found = [line for line in text(path).splitlines() if MARKS.search(line)]
    assert found == []


@pytest.mark.parametrize("path", [*PYTHON, *CYTHON])
def test_modules_say_what_they_are_for(path: str) -> None:
    if not text(path).strip():
        assert path.endswith(("__init__.pxd", "__init__.py"))
    elif path.endswith(".py"):
        assert ast.get_docstring(ast.parse(text(path)))
    else:
        assert re.match(r'(?:#[^\n]*\n)*\s*r?(?:"""|# )', text(path)), "no docstring or comment"


@pytest.mark.parametrize("path", PYTHON)
def test_no_handler_is_bare_or_silently_broad(path: str) -> None:
    """``except Exception`` stands where the table says, and nowhere else; nothing is bare."""
    broad = [
        node.lineno
        for node in ast.walk(ast.parse(text(path)))
        if isinstance(node, ast.ExceptHandler)
        and (
            node.type is None
            or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException"))
        )
    ]
    assert bool(broad) is (path in BROAD)
