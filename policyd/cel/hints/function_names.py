"""Name hints: functions of other languages, and those that are called in another way."""

from collections.abc import Iterable, Mapping

from policyd.cel.hints.tree import filled
from policyd.cel.hints.vocabulary import FUNCTIONS

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
