"""Find the functions of the core that call themselves, directly or through others, in the C that
Cython made of them: there each call names its function, or the class and method of its vtable.

Calls through Python (``==`` of two lists, a callback) are not found.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.core.recursion.cycles import cycles
from tests.shared import ROOT

# A function: what is called from Cython (f), from Python (pw), or by the latter (pf).
_NAME = r"__pyx_(?:f|pw|pf)_\w+"
_DEFINITION = re.compile(
    rf"^[^\s/#][^;{{}}\n]*?\b({_NAME})\([^;{{}}]*\) \{{\n(.*?)^\}}", re.M | re.S
)
_DIRECT = re.compile(rf"\b{_NAME}")
_VIRTUAL = re.compile(
    r"struct __pyx_vtabstruct_(\w+) \*\)[^;]*?__pyx_vtab\)->(?:__pyx_base\.)*(\w+)\("
)
_METHOD = re.compile(r"^  __pyx_vtable_(\w+?)\.(?:__pyx_base\.)*(\w+) = \(.*\)(__pyx_f_\w+);", re.M)
_BASE = re.compile(r"^  __pyx_vtable_(\w+)\.__pyx_base = \*__pyx_vtabptr_(\w+);", re.M)
_LENGTH = re.compile(r"(\d+)")


def recursive_functions() -> list[frozenset[str]]:
    """Return the groups of functions that call each other, by ``module:Class.name``."""
    bodies: dict[str, str] = {}
    methods: dict[tuple[str, str], str] = {}
    bases: dict[str, str] = {}
    for text in _generated():
        bodies.update(_DEFINITION.findall(text))
        methods.update(((kind, name), function) for kind, name, function in _METHOD.findall(text))
        bases.update(_BASE.findall(text))
    calls = {name: {*_calls(body, methods, bases)} for name, body in bodies.items()}
    return [frozenset(map(_plain, group)) for group in cycles(calls)]


def _generated() -> Iterator[str]:
    for source in sorted(Path(ROOT, "policyd/_core").rglob("*.pyx")):
        beside = source.with_suffix(".c")  # of a traced build
        built = Path(ROOT, "build/cython", source.relative_to(ROOT)).with_suffix(".c")
        yield (built if built.exists() else beside).read_text(encoding="utf-8")


def _calls(
    body: str, methods: Mapping[tuple[str, str], str], bases: Mapping[str, str]
) -> Iterator[str]:
    yield from _DIRECT.findall(body)
    for kind, method in set(_VIRTUAL.findall(body)):
        own = next((each for each in _line(kind, bases) if (each, method) in methods), kind)
        for (owner, name), function in methods.items():
            if name == method and (owner == own or kind in _line(owner, bases)):
                yield function


def _line(kind: str, bases: Mapping[str, str]) -> list[str]:
    """Return a class and its ancestors."""
    line = [kind]
    while line[-1] in bases:
        line.append(bases[line[-1]])
    return line


def _plain(mangled: str) -> str:
    """Return ``module:Class.name`` of ``__pyx_f_7policyd_5_core_4eval_5logic_3And_eval``."""
    parts, rest = [], mangled.split("_", 4)[4]
    while found := _LENGTH.match(rest):
        start, length = found.end(), int(found[1])
        parts.append(rest[start : start + length])
        rest = rest[start + length :].removeprefix("_")
    owner = f"{parts.pop()}." if parts[-1].lstrip("_")[0].isupper() else ""
    return f"{'.'.join(parts[2:])}:{owner}{rest}"
