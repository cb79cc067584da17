"""Values of a mutation with Kyverno's variables, as strings of an overlay and as CEL."""

import re
from collections.abc import Callable, Collection
from typing import TypeVar

from policyd.export.expressions.literals import literal, string_literal
from policyd.importers.jmespath.interpolation import (
    has_variables,
    interpolated,
    pieces,
    queried,
    term_of,
)
from policyd.importers.jmespath.terms import or_null
from policyd.importers.jmespath.vocabulary import NotTranslatable, Vocabulary
from policyd.importers.model import Refused, refusing
from policyd.json_types import JSON, keys_in, strings_in

# A reference to another field of the policy, such as $(./../name).
_REFERENCE = re.compile(r"(?:^|[^\\])\$\([./]")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FIELD = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")  # of an object: any value
_ELEMENT = re.compile(r"\belement(?:Index)?\d*\b")


_Result = TypeVar("_Result")


def translated(
    translate: Callable[[str, Vocabulary], _Result], text: str, scope: Vocabulary, path: str
) -> _Result:
    """Return what ``translate`` makes of a text; Refused at ``path`` if CEL cannot say it."""
    with refusing(path, NotTranslatable):
        return translate(text, scope)


def _typed(text: str, scope: Vocabulary) -> tuple[str, str]:
    """Return the CEL of a string, and ``dyn`` or ``expression`` for a type that is not known."""
    found = or_null(term_of(text, scope))
    return found, "dyn" if _FIELD.fullmatch(found) else "expression"


def words_of(text: str) -> set[str]:
    """Return the identifiers in a text."""
    return set(_WORD.findall(text))


def has_references(text: str) -> bool:
    """Return whether a string refers to another field of the policy."""
    return _REFERENCE.search(text) is not None


def names_element(value: JSON, names: Collection[str] = ()) -> bool:
    """Return whether a variable in a value is about the element of a foreach, or has one of the
    names of its context.
    """
    return any(
        _ELEMENT.search(text) is not None or not words_of(text).isdisjoint(names)
        for text in (*strings_in(value), *keys_in(value))
        if "{{" in text
    )


def overlay_value(value: JSON, scope: Vocabulary, path: str) -> JSON:
    """Return a value without anchors as an overlay has it: ``{{x}}`` becomes ``${CEL}``."""
    if isinstance(value, dict):
        for key in value:
            if has_variables(key):
                raise Refused(path, f"`{key}`: a key with a variable beside other fields")
        return {key: overlay_value(value[key], scope, f"{path}.{key}") for key in value}
    if isinstance(value, list):
        return [overlay_value(each, scope, f"{path}[{at}]") for at, each in enumerate(value)]
    return overlay_text(value, scope, path) if isinstance(value, str) else value


def overlay_text(text: str, scope: Vocabulary, path: str) -> str:
    """Return a string of an overlay. Raises Refused."""
    if has_references(text):
        raise Refused(path, f"`{text}`: a reference to another field of the policy")
    if not has_variables(text):
        return text.replace("${", "$${")
    found = pieces(text)
    return "".join(
        piece.replace("${", "$${")
        if isinstance(piece, str)
        else f"${{{or_null(translated(queried, piece[0], scope, path))}}}"
        for piece in found
    )


def cel(value: JSON, scope: Vocabulary, path: str) -> str:
    """Return a value as CEL: a literal, with expressions where it has variables."""
    return typed_cel(value, scope, path)[0]


def typed_cel(value: JSON, scope: Vocabulary, path: str) -> tuple[str, str]:
    """Return the CEL of a value and the name of its type, ``dyn`` if it depends on the object."""
    if isinstance(value, dict):
        keys = [
            translated(interpolated, key, scope, path)
            if has_variables(key)
            else string_literal(key)
            for key in value
        ]
        items = alike([typed_cel(each, scope, f"{path}.{key}") for key, each in value.items()])
        found = ", ".join(f"{key}: {item}" for key, item in zip(keys, items, strict=True))
        return f"{{{found}}}", "map"
    if isinstance(value, list):
        items = alike([typed_cel(each, scope, f"{path}[{at}]") for at, each in enumerate(value)])
        return f"[{', '.join(items)}]", "list"
    if isinstance(value, str) and has_references(value):
        raise Refused(path, f"`{value}`: a reference to another field of the policy")
    if isinstance(value, str) and has_variables(value):
        return translated(_typed, value, scope, path)
    return literal(value), type(value).__name__


def alike(items: list[tuple[str, str]]) -> list[str]:
    """Return the CEL of values for one list or map, which Kubernetes wants to be of one type."""
    kinds = {kind for _, kind in items}
    if len(items) == 1 or (len(kinds) == 1 and not kinds & {"map", "list", "expression"}):
        return [text for text, _ in items]
    return [text if kind == "dyn" else f"dyn({text})" for text, kind in items]
