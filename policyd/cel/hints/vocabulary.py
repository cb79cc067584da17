"""Words and functions of other languages and tools, and what to write instead.

``vocabulary.json`` has the words by what replaces them. ``{0}``, ``{1}`` … are the operands, the
receiver first; where a value of another type is needed, {1} is what a method may follow, and {2} a
number of its type.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from policyd.cel.hints.tree import NUMBERS, filled, held
from policyd.cel.types.types import (
    BOOL,
    DOUBLE,
    DYN,
    JSON_PATCH,
    STRING,
    UINT,
    Kind,
    Type,
    is_optional,
    is_patch_object,
)

_TABLE: Mapping[str, Mapping[str, str]] = {
    section: {word: instead for instead, words in rows.items() for word in words.split()}
    for section, rows in json.loads(Path(__file__).with_suffix(".json").read_bytes()).items()
}
# Functions and variables are in lower case and without underscores.
FUNCTIONS, VARIABLES = _TABLE["functions"], _TABLE["variables"]
REQUEST_FIELDS = _TABLE["requestFields"]
# Words between two values, words before one, and names that CEL reserves.
INFIX, PREFIX, RESERVED = _TABLE["infix"], _TABLE["prefix"], _TABLE["reserved"]


# Functions of the namespaces of other languages, by namespace.
NAMESPACES = frozenset(
    ("strings", "string", "regex", "regexp", "math", "list", "array", "time", "net", "resource")
)
# Arguments and what macros do with them.
MACROS: Mapping[str, str] = {
    "all": "list.all(x, CONDITION)",
    "exists": "list.exists(x, CONDITION)",
    "exists_one": "list.exists_one(x, CONDITION)",
    "filter": "list.filter(x, CONDITION)",
    "map": "list.map(x, VALUE)",
}
_SIZE = "size({0})"
_SENTENCES = ("CEL in", "math is")


def alias(name: str, operands: Iterable[str]) -> str:
    """Return what to write for a function of another language; empty if nothing is known."""
    template = FUNCTIONS.get(name.replace("_", "").lower(), "")
    if not template:
        return ""
    if template.startswith(_SENTENCES):
        return template
    given = list(operands)
    if len(given) > 2 and template == _SIZE:  # of the items that a condition selects
        template = "size({0}.filter(x, …))"
    if len(given) > 2:  # a macro: its arguments stay
        template = template.replace("x, …", ", ".join(given[1:]))
    return f"write {filled(template, [*given, *'xyz'[len(given) :]])}"


def of_type(wanted: str, t: Type, text: str) -> str:
    """Return what to write for a value where one of another type is ``wanted``."""
    rows, zero = _TABLE[wanted], {UINT: "0u", DOUBLE: "0.0"}.get(t, "0")
    return rows.get(_sort_of(t), rows["other"]).format(text, held(text), zero)


def _sort_of(t: Type) -> str:
    """Return the sort of a type, as the tables name it."""
    if is_optional(t):
        return "optional"
    if t in NUMBERS:
        return "number"
    if t == JSON_PATCH or is_patch_object(t.name):
        return "patch"
    if t.name == "kubernetes.authorization.Decision":
        return "decision"
    kinds = {Kind.LIST: "list", Kind.MAP: "map", Kind.NULL: "null"}
    return {BOOL: "bool", DYN: "dyn", STRING: "string"}.get(t) or kinds.get(t.kind, "other")
