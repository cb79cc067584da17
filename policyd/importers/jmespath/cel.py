"""How CEL is written as people do: conditions, literals, fields and names of variables."""

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import chain

from policyd.cel.syntax.lexer import RESERVED
from policyd.export.expressions import literals
from policyd.export.expressions.cel import (
    AND,
    FALSE,
    OR,
    RELATION,
    TRUE,
    UNARY,
    Cel,
)
from policyd.export.expressions.rewriting import free_name
from policyd.json_types import JSON


def negated(what: Cel) -> Cel:
    """Return the opposite as a person would write it, with the same errors.

    >>> from policyd.export.expressions.cel import relation
    >>> negated(some(relation("a", "==", "b"), negated(Cel("c")))).text
    'a != b && c'
    """
    if what in (TRUE, FALSE):
        return FALSE if what == TRUE else TRUE
    if what.parts:
        return (some if what.level == AND else every)(*map(negated, what.parts))
    if what.opposite is not None:
        return replace(what.opposite, opposite=what)
    return Cel(f"!{what.at(UNARY)}", UNARY, what)


def every(*parts: Cel) -> Cel:
    """Return CEL that is true if all parts are."""
    return _joined(parts, FALSE, TRUE, " && ", AND)


def some(*parts: Cel) -> Cel:
    """Return CEL that is true if any part is."""
    return _joined(parts, TRUE, FALSE, " || ", OR)


def exists(head: str, holds: Cel) -> Cel:
    """Return CEL that is true if a condition holds for an item; ``head`` is ``xs.exists(x,``.

    >>> some(exists("xs.exists(x,", Cel("x.a")), exists("xs.exists(x,", Cel("x.b"))).text
    'xs.exists(x, x.a || x.b)'
    """
    return Cel(f"{head} {holds.text})", any_of=(head, holds))


def _joined(parts: Iterable[Cel], end: Cel, empty: Cel, joint: str, level: int) -> Cel:
    flat = (each.parts if each.parts and each.level == level else (each,) for each in parts)
    found = [one for one in dict.fromkeys(chain.from_iterable(flat)) if one != empty]
    if end in found:
        return end
    found = _asked_once(found, negative=level == AND)
    if len(found) < 2:
        return found[0] if found else empty
    text = joint.join(each.at(RELATION) for each in found)
    return Cel(text, level, parts=tuple(found))


def _asked_once(parts: list[Cel], *, negative: bool) -> list[Cel]:
    """Return the operands of ``||``, or negated ones of ``&&``, with one question for each list."""
    found: dict[str, Cel] = {}
    for each in parts:
        asked = each.opposite if negative else each
        head, holds = asked.any_of if asked is not None and asked.any_of else ("", each)
        if before := found.get(head) if head else None:
            asked = before.opposite if negative else before
            assert asked is not None and asked.any_of is not None
            both = exists(head, _factored(asked.any_of[1], holds))
            found[head] = negated(both) if negative else both
        else:
            found[head or each.text] = each
    return [*found.values()]


def _factored(*parts: Cel) -> Cel:
    """Return ``some``, with the conditions that all parts begin with written once."""
    (first, *others) = [each.parts if each.level == AND else (each,) for each in parts]
    size = 0
    while all(len(each) > size + 1 and each[size] == first[size] for each in (first, *others)):
        size += 1
    rests = [every(*each[size:]) for each in (first, *others)]
    return every(*first[:size], some(*rests))


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# The words that CEL reserves, and what would hide a variable or a type of a policy.
_RESERVED = RESERVED | frozenset((
    "object", "oldObject", "request", "params", "namespaceObject", "authorizer", "variables",
    "string", "int", "uint", "double", "bool", "bytes", "list", "map", "type", "duration",
    "timestamp", "size", "has",
))  # fmt: skip
_SINGULAR = {
    **dict.fromkeys(("labels", "annotations"), "key"),
    **dict.fromkeys(("initContainers", "ephemeralContainers"), "container"),
    **dict.fromkeys(("add", "drop", "capabilities"), "capability"),
    "volumeMounts": "mount",
    "ownerReferences": "owner",
    "command": "word",
    "args": "arg",
    "tls": "entry",
    "env": "variable",
}
# What cannot be written after a dot.
_NO_FIELD = frozenset({"in", "true", "false", "null"})


def is_field(name: str) -> bool:
    """Return whether a field can be written after a dot."""
    return bool(_IDENTIFIER.match(name)) and name not in _NO_FIELD


def literal(value: JSON) -> str:
    """Return a JSON value as CEL, with strings in single quotes."""
    return literals.literal(value, quoted)


def quoted(text: str) -> str:
    """Return a string literal: a raw one where that saves backslashes."""
    if "\\" in text and text.isprintable() and not text.endswith("\\"):
        for quote in "'\"":
            if quote not in text:
                return f"r{quote}{text}{quote}"
    body = json.dumps(text, ensure_ascii=False)[1:-1]
    if "'" in text and '"' not in text:
        return f'"{body}"'
    return "'" + body.replace('\\"', '"').replace("'", "\\'") + "'"


def variable(collection: str, taken: Collection[str]) -> str:
    """Return a name for an item of a collection, such as ``container`` for ``containers``.

    ``taken`` are names that it must not have.
    """
    word = _singular(collection) if _IDENTIFIER.match(collection) else "item"
    if word in _RESERVED:
        word = "item"
    return free_name(word, taken)


def _singular(word: str) -> str:
    if word in _SINGULAR:
        return _SINGULAR[word]
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("xes", "x")):
        if word.endswith(ending):
            return word.removesuffix(ending) + instead
    if word.endswith("s") and not word.endswith("ss") and len(word) > 2:
        return word[:-1]
    return "item"
