"""Reads what a .pyx and its .pxd say about the names that Python sees."""

import re
from dataclasses import dataclass, field
from pathlib import Path

_C_TYPES = {
    "str": "str",
    "bytes": "bytes",
    "bint": "bool",
    "double": "float",
    "object": "Any",
    "list": "list[Any]",
    "tuple": "tuple[Any, ...]",
    "dict": "dict[Any, Any]",
    "set": "set[Any]",
    "frozenset": "frozenset[Any]",
}
_INTEGER = re.compile(r"(unsigned )?(int|long|char|short|long long|Py_ssize_t|u?int\d+_t)")
_CLASS = re.compile(r"(?:cdef )?class (\w+)(?:\((.*)\))?:")
_DEF = re.compile(r"(?:async )?(?:def|cpdef [\w.]+) (\w+)\(")
_ATTRIBUTE = re.compile(r"    cdef (readonly|public) ([\w. ]+?) (\w+(?:, \w+)*) *(?:#.*)?")
_IMPORT = re.compile(r"from ([\w.]+) c?import (\([^)]*\)|.*)")


class Unclear(Exception):
    """A type is missing."""


@dataclass(slots=True)
class Function:
    """A function or method: its arguments as they are written, and the types in its ``#:``."""

    name: str
    arguments: str
    types: str
    decorators: list[str]

    def line(self) -> str:
        """Return its line in a .pyi."""
        marks = [f"@{each}\n" for each in self.decorators if not each.startswith("cython")]
        if self.name == "__class_getitem__":
            marks.append("@classmethod\n")
        given, result = self.types.rsplit(" -> ", 1)
        types = split(given.strip()[1:-1])
        rows = []
        for each in split(self.arguments):
            if each in ("self", "cls", "*", "/"):
                rows.append(each)
                continue
            head, equals, default = each.partition("=")
            name = re.sub(r"( not| or) None|:.*", "", head).split()[-1]
            if not types:
                raise Unclear(f"{self.name}: no type of {name}")
            rows.append(f"{name}: {types.pop(0)}" + (f" = {value(default)}" if equals else ""))
        if types:
            raise Unclear(f"{self.name}: types of arguments that it does not have: {types}")
        return f"{''.join(marks)}def {self.name}({', '.join(rows)}) -> {result}: ..."


@dataclass(slots=True)
class Class:
    """A class: its functions, and the lines of its ``#:``."""

    name: str
    bases: str
    final: bool
    internal: bool  # to the module: Python does not see it
    functions: list[Function] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Module:
    """What a .pyx defines, in its order; strings are lines of ``#:``."""

    items: list[Class | Function | str] = field(default_factory=list)
    imports: dict[str, str] = field(default_factory=dict)  # name: module


def split(text: str) -> list[str]:
    """Split at the commas that are not in brackets or strings."""
    parts, depth, quote = [""], 0, ""
    for each in text:
        if quote:
            quote = "" if each == quote else quote
        elif each in "\"'":
            quote = each
        else:
            depth += (each in "([{") - (each in ")]}")
        if each == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += each
    return [each.strip() for each in parts if each.strip()]


def value(default: str) -> str:
    """Return a default as a .pyi has it: literals only."""
    plain = re.fullmatch(r"\s*(-?\d+|None|True|False|\"[^\"]*\"|\(\))\s*", default)
    return plain[1] if plain else "..."


def attributes(file: Path) -> dict[str, dict[str, tuple[str, str]]]:
    """Return the attributes of each class that Python sees: readonly or public, and the type."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    here: dict[str, tuple[str, str]] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        if line[:1].strip():
            opened = _CLASS.match(line)
            here = found.setdefault(opened[1], {}) if opened else {}
        elif read := _ATTRIBUTE.fullmatch(line):
            for name in read[3].split(", "):
                here[name] = read[1], python_type(read[2])
    return found


def python_type(written: str) -> str:
    """Return the Python type of a C type."""
    if _INTEGER.fullmatch(written):
        return "int"
    return _C_TYPES.get(written, written.rpartition(".")[2])


def read(source: Path) -> Module:
    """Read a .pyx."""
    text = source.read_text()
    module = Module()
    for each in _IMPORT.finditer(text):
        for name in re.findall(r"\w+(?: as \w+)?", re.sub(r"#.*", "", each[2])):
            module.imports[name.rpartition(" ")[2]] = each[1]
    lines, number, decorators = text.splitlines(), 0, list[str]()
    inside: Class | None = None
    while number < len(lines):
        line = lines[number]
        bare, indent = line.strip(), len(line) - len(line.lstrip())
        number += 1
        if indent == 0 and bare and not bare.startswith(("#", "@", ")")):
            inside = None
        if indent not in (0, 4) or (indent == 4 and inside is None):
            continue
        if bare.startswith("#:"):
            kept = inside.lines if indent and inside is not None else module.items
            kept.append(line.strip()[3:])
        elif bare.startswith("@"):
            decorators.append(bare[1:])
            continue
        elif opened := _CLASS.match(line):
            final = "cython.final" in decorators
            inside = Class(opened[1], opened[2] or "", final, "cython.internal" in decorators)
            module.items.append(inside)
        elif _DEF.match(bare):
            number, function = _function(lines, number - 1, decorators)
            (inside.functions if inside else module.items).append(function)
        if bare:
            decorators = []
    return module


def _function(lines: list[str], number: int, decorators: list[str]) -> tuple[int, Function]:
    written = lines[number].strip()
    while written.count("(") > written.count(")"):
        number += 1
        written += " " + lines[number].strip()
    number += 1
    types = ""
    while number < len(lines) and lines[number].strip().startswith("#:"):
        types += " " + lines[number].strip()[2:].strip()
        number += 1
    opened = _DEF.match(written)
    assert opened
    arguments = written[opened.end() : written.rindex(")")]
    return number, Function(opened[1], arguments, types.strip(), decorators)
