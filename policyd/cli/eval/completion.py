"""Completion of expressions: names, fields of loaded values, functions and macros. Touches no
terminal.
"""

import re
from collections.abc import Iterator
from functools import cache

from policyd._core.eval.program import type_of
from policyd._core.lib.libraries import KNOWN_LIBRARIES
from policyd._core.values.types import Optional
from policyd.cel.syntax.macros import RECEIVER_MACROS
from policyd.cel.types.declarations import TYPE_NAMES, parse_signature
from policyd.cli.eval.common import ROOTS
from policyd.cli.eval.session import COMMANDS, Session
from policyd.errors import PolicydError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_PARTIAL = re.compile(r"[A-Za-z0-9_]*\Z")
_LITERALS = ("true", "false", "null")
_FOLDED = ("list", "map")
_BRACKETS = {")": "(", "]": "["}


def completions(line: str, session: Session) -> list[str]:
    """Return the words that the last word of the line may become."""
    if line.startswith(":") and " " not in line:
        return [name for name in COMMANDS if name.startswith(line)]
    found = _PARTIAL.search(line)
    partial = found.group() if found else ""
    before = line[: len(line) - len(partial)]
    if before.endswith(".?"):
        names = _members(_chain(before[:-2]), session, fields_only=True)
    elif before.endswith("."):
        names = _members(_chain(before[:-1]), session)
    else:
        names = _globals(session)
    return sorted({name for name in names if name.startswith(partial)})


def _globals(session: Session) -> Iterator[str]:
    yield from (*ROOTS, *session.variables, *_LITERALS, *TYPE_NAMES, "has(")
    yield from _functions()[""]


def _members(base: str, session: Session, *, fields_only: bool = False) -> Iterator[str]:
    """Yield the fields of the current value of ``base`` and the functions of its type."""
    try:
        value = session.compute(base) if base else None
    except PolicydError:
        # ``sets`` is no value, but the prefix of functions like sets.contains.
        functions = () if fields_only else _functions()[""]
        prefix = f"{base}."
        yield from (each.removeprefix(prefix) for each in functions if each.startswith(prefix))
        return
    inner = value.value if isinstance(value, Optional) and value else value
    if isinstance(inner, dict):
        yield from (key for key in inner if isinstance(key, str) and _NAME.match(key))
    if fields_only:
        return
    kind = type_of(value)
    yield from _functions().get(kind, ())
    yield from _functions()["A"]
    if kind in _FOLDED:
        yield from (f"{name}(" for name, _ in RECEIVER_MACROS if not name.startswith("opt"))
    if kind == "optional_type":
        yield from (f"{name}(" for name, _ in RECEIVER_MACROS if name.startswith("opt"))


@cache
def _functions() -> dict[str, tuple[str, ...]]:
    """Map receiver types to the names of their functions, each with an opening parenthesis.

    Global functions are under "", functions of any type under "A".
    """
    found: dict[str, dict[str, None]] = {"": {}, "A": {}}
    for library in KNOWN_LIBRARIES:
        for row in library.overloads:
            if not re.match(r"[a-zA-Z]", row.name):
                continue
            declared = parse_signature(row.signature, row.name, row.id)
            receiver = declared.args[0].name if declared.member else ""
            key = "A" if declared.member and len(receiver) == 1 else receiver
            found.setdefault(key, {})[f"{row.name}("] = None
    return {key: tuple(names) for key, names in found.items()}


def _chain(text: str) -> str:
    """Return the primary expression at the end: names, calls and indexes with dots between them."""
    depth: list[str] = []
    position = len(text)
    while position > 0:
        char = text[position - 1]
        if char in _BRACKETS:
            depth.append(_BRACKETS[char])
        elif depth and char == depth[-1]:
            depth.pop()
        elif not depth and not (char.isalnum() or char in "_.?\"'"):
            break
        position -= 1
    return text[position:].lstrip("?")
