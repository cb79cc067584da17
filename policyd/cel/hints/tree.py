"""The checked tree of an expression with errors: what is at a place, and of which type."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from policyd.bounded_text import few
from policyd.cel.syntax.ast import Call, Checked, Comprehension, Expr
from policyd.cel.syntax.recursion import children
from policyd.cel.syntax.unparse import unparse
from policyd.cel.types.declarations import Scope
from policyd.cel.types.types import DOUBLE, DYN, INT, STRING, UINT, Type
from policyd.near_names import nearest

NUMBERS = (INT, UINT, DOUBLE)
_LONGEST = 80
_MOST = 15


@dataclass(frozen=True, slots=True)
class Tree:
    """``nodes`` are all nodes with the nodes around them, the innermost first."""

    checked: Checked
    scope: Scope
    nodes: Sequence[tuple[Expr, tuple[Expr, ...]]]
    _places: Mapping[int, Sequence[tuple[Expr, tuple[Expr, ...]]]]

    @classmethod
    def of(cls, checked: Checked, scope: Scope) -> "Tree":
        found: list[tuple[Expr, tuple[Expr, ...]]] = []
        stack: list[tuple[Expr, tuple[Expr, ...]]] = [(checked.expr, ())]
        while stack:
            node, above = stack.pop()
            found.append((node, above))
            # Four levels are what a hint looks at; all of them would be quadratic.
            stack += [(child, (node, *above[:3])) for child in children(node)]
        places: dict[int, list[tuple[Expr, tuple[Expr, ...]]]] = {}
        for each in found:
            places.setdefault(each[0].pos, []).append(each)
        return cls(checked, scope, found, places)

    def at(self, pos: int) -> Sequence[tuple[Expr, tuple[Expr, ...]]]:
        """Return the nodes at a place."""
        return self._places.get(pos, ())

    def type(self, node: Expr) -> Type:
        return self.checked.types.get(node.id, DYN)

    def macro_variables(self) -> set[str]:
        return {
            name
            for node, _ in self.nodes
            if isinstance(node, Comprehension)
            for name in (node.iter_var, node.iter_var2)
        }


def shown(node: Expr, instead: str = "x") -> str:
    """Return an expression on one line, if it is short enough for a hint; a condition with ``?``
    in parentheses, since any operator may follow.
    """
    try:
        text = unparse(node)
    except TypeError:  # an internal node of a macro
        return instead
    if len(text) > _LONGEST or "@" in text:
        return instead
    text = text if "'" in text else text.replace('"', "'")
    return f"({text})" if isinstance(node, Call) and node.function == "_?_:_" else text


def held(text: str) -> str:
    """Return an expression in parentheses if a method may not follow it as it is."""
    depth, quote = 0, ""
    for char in text:
        if quote or char in "'\"":
            quote = "" if char == quote else quote or char
        elif char == " " and depth == 0:
            return f"({text})"
        else:
            depth += (char in "([{") - (char in ")]}")
    return f"({text})" if text[:1] in "!-" else text


def filled(template: str, texts: Sequence[str]) -> str:
    """Return a template with operands for {0}, {1} …, in parentheses before a dot or bracket."""
    for number, text in enumerate(texts):
        for sign in (".", "["):
            template = template.replace(f"{{{number}}}{sign}", f"{held(text)}{sign}")
        template = template.replace(f"{{{number}}}", text)
    return template


def converted(kind: str, text: str, t: Type) -> str:
    """Return an operand as a quantity, semver, duration or timestamp."""
    if t in (STRING, DYN):
        return f"{kind}({text})"
    if kind == "quantity" and t in NUMBERS:
        return f"quantity('{text}')" if text.isdigit() else f"quantity(string({text}))"
    return text


def near(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most like a name; the same but for its case first."""
    names = sorted(known)
    same = same_name(name, names)
    if same:
        return same
    return nearest(name, names, ratio=0.7)


def same_name(name: str, known: Iterable[str]) -> str:
    """Return the known name that is the same but for its case and ``_``; empty if none is."""
    folded = {each.lower(): each for each in known}
    return folded.get(name.replace("_", "").replace("-", "").lower(), "")


def listed(names: Iterable[str]) -> str:
    """Return names for a message, at most fifteen."""
    return few(sorted(names), _MOST)
