"""Find expressions whose value may hold an optional, although their type does not say so."""

import re

from policyd.cel.syntax.ast import Call, Expr, Select
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.recursion import children
from policyd.versions import NEWEST

# Functions whose values JSON does not have: of these types, or strings of them.
_OPAQUE = re.compile(
    r"\b(?:quantity|semver|url|ip|cidr|bytes|duration|timestamp|uint)\s*\("
    r"|\b\d+[uU]\b|\b[bB]r?['\"]"
)
_SELECTIONS = ("_?._", "_[?_]")
_MAKERS = ("of", "none", "ofNonZeroValue", "first", "last", "or", "optMap", "optFlatMap")
_ENDS = ("hasValue", "orValue", "value")


def may_hold_more_than_json(text: str, *, optional: bool = False) -> bool:
    """Return whether the value of an expression of type dyn may be, or hold, an optional or a value
    that JSON does not have. ``optional``: its type is an optional of dyn.

    >>> may_hold_more_than_json("object.?a.orValue('')")
    False
    >>> may_hold_more_than_json("c ? object.?a : object.b")
    True
    """
    if _OPAQUE.search(text):
        return True
    return _open(parse(text, NEWEST), ended=optional)


def _open(node: Expr, *, ended: bool) -> bool:
    """Return whether there is an optional whose value nobody takes; ``ended``: this node's is
    taken.
    """
    if not ended and _is_optional(node):
        return True
    return any(_open(child, ended=_ends(node, child)) for child in children(node))


def _is_optional(node: Expr) -> bool:
    if isinstance(node, Call):
        return node.function in _SELECTIONS or node.function.rpartition(".")[2] in _MAKERS
    return False


def _ends(node: Expr, child: Expr) -> bool:
    """Return whether a node makes no optional of one below it, or one that is found itself."""
    if isinstance(node, Select):
        return node.test_only
    if not isinstance(node, Call):
        return False
    if node.function in _ENDS or node.function.rpartition(".")[2] in _MAKERS:
        return True
    return node.function in _SELECTIONS
