"""Words and functions of other languages and tools, and what to write instead.

``vocabulary.json`` has the words by what replaces them. ``{0}``, ``{1}`` … are the operands, the
receiver first.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from policyd.cel.hints.tree import filled


def _by_word(rows: Mapping[str, str]) -> Mapping[str, str]:
    return {word: instead for instead, words in rows.items() for word in words.split()}


_TABLE = {
    section: _by_word(rows)
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
