"""Variables inside of an expression: `{{ a.b == '{{ c }}' }}`. Kyverno puts their values into the
text of the expression before it parses it; here, marks stand for them.
"""

from collections.abc import Mapping

from policyd.importers.jmespath.cel import Cel
from policyd.importers.jmespath.terms import CelTerm
from policyd.importers.jmespath.values import CelValue, Joined
from policyd.importers.jmespath.vocabulary import NotTranslatable

# Letters that no expression has: they are for private use.
_BEGIN, _END = "\ue000", "\ue001"


def mark(number: int) -> str:
    """Return what stands for a variable inside of quotes."""
    return f"{_BEGIN}{number}{_END}"


def name_of(number: int) -> str:
    """Return the name that stands for a variable outside of quotes."""
    return f"inner_variable_{number}"


def split_inner(text: str, inner: Mapping[str, CelTerm]) -> list[str | CelTerm]:
    """Return the parts of a quoted text: what is written, and values for marks."""
    parts: list[str | CelTerm] = []
    for piece in text.split(_BEGIN):
        number, found, rest = piece.rpartition(_END)
        if found:
            parts.append(inner[name_of(int(number))])
        if rest:
            parts.append(rest)
    return parts


def joined(parts: list[str | CelTerm]) -> CelValue:
    """Return the concatenation of texts and values, as Kyverno substitutes them."""
    return Joined.of(each if isinstance(each, str) else as_string(each) for each in parts)


def as_string(term: CelTerm) -> Cel:
    """Return CEL of a value as it is put into a string.

    Raises NotTranslatable for lists and maps.
    """
    match term.kind.name:
        case "string":
            return term.cel()
        case "list" | "map":
            raise NotTranslatable("CEL cannot put a list or a map into a string")
        case "null":
            return Cel("'null'")
    return Cel(f"string({term.text()})")
