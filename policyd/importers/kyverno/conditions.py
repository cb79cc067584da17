"""Kyverno's conditions as CEL: `any`, `all`, the old list form, and the operators (kyverno/kyverno
pkg/engine/variables/evaluate.go and operator/).

A variable that is not resolved is an error in Kyverno; it is one of CEL here. An operator is false
where its key or value is null.
"""

from dataclasses import replace

from policyd.export.expressions.cel import Cel
from policyd.importers.jmespath.cel import every, some
from policyd.importers.jmespath.interpolation import has_variables, term_of
from policyd.importers.jmespath.kinds import ANY
from policyd.importers.jmespath.reading import constant, listed, over
from policyd.importers.jmespath.streams import CelList
from policyd.importers.jmespath.terms import CelTerm, Either, Several
from policyd.importers.jmespath.values import CelValue, Constant, Ordered
from policyd.importers.jmespath.vocabulary import NotTranslatable, Vocabulary
from policyd.importers.kyverno.operators import OF_LISTS, OPERATORS
from policyd.importers.model import Refused, refusing
from policyd.json_types import JSON


def holds(block: JSON, scope: Vocabulary, path: str) -> Cel:
    """Return CEL that is true when a block of conditions holds; ``path`` is its field.

    Raises Refused for what CEL cannot say.
    """
    if isinstance(block, list):
        parts = []
        for number, each in enumerate(block):
            inside = f"{path}[{number}]"
            nested = isinstance(each, dict) and ("any" in each or "all" in each)
            parts.append((holds if nested else _condition)(each, scope, inside))
        return every(*parts)
    if not isinstance(block, dict):
        raise Refused(path, "expected conditions: `any` and `all`, or a list")
    if unknown := set(block) - {"any", "all"}:
        raise Refused(path, f"`{min(unknown)}` is not a field of conditions")
    return every(
        *(
            joined(*_conditions(block[name], scope, f"{path}.{name}"))
            for name, joined in (("any", some), ("all", every))
            if block.get(name) is not None
        )
    )


def _conditions(block: JSON, scope: Vocabulary, path: str) -> list[Cel]:
    if not isinstance(block, list):
        raise Refused(path, "expected a list of conditions")
    return [_condition(each, scope, f"{path}[{at}]") for at, each in enumerate(block)]


def _condition(condition: JSON, scope: Vocabulary, path: str) -> Cel:
    if not isinstance(condition, dict):
        raise Refused(path, "expected a condition: `key`, `operator` and `value`")
    if unknown := set(condition) - {"key", "operator", "value", "message"}:
        raise Refused(path, f"`{min(unknown)}` is not a field of a condition")
    name = str(condition.get("operator", ""))
    operator = OPERATORS.get(name.lower())
    if operator is None:
        raise Refused(f"{path}.operator", f"`{name}` is not an operator of Kyverno")
    key = _term(condition.get("key"), scope, f"{path}.key")
    if name.lower() in OF_LISTS:
        key = _as_items(key, scope, key.name.endswith("s"))
    inside = scope.inside(*key.variables) if isinstance(key, CelList) else scope
    value = _term(condition.get("value"), inside, f"{path}.value")
    if name.lower() in OF_LISTS:
        value = _as_items(value, inside, True)
    with refusing(path, NotTranslatable):
        return operator(key, value)


def _term(written: JSON, scope: Vocabulary, path: str) -> CelTerm:
    with refusing(path, NotTranslatable):
        if isinstance(written, str):
            return term_of(written, scope)
        if isinstance(written, list) and has_variables(written):
            return listed([_term(each, scope, path) for each in written])
    if has_variables(written):
        raise Refused(path, "a map with variables has no counterpart in a condition")
    return constant(written)


def _as_items(term: CelTerm, scope: Vocabulary, unknown: bool) -> CelTerm:
    # A list that is data, in a form whose items can be checked; `unknown`: what may be of
    # any kind is taken for a list. A path to what is missing stays an error.
    if isinstance(term, Ordered) and isinstance(term.items, CelList | CelValue):
        return _as_items(term.items, scope, unknown)
    if isinstance(term, Either):
        first = term.first
        if isinstance(first, CelValue) and first.kind.name == "list":
            first = over(first, scope.taken)
        return replace(term, first=first)
    if not isinstance(term, CelValue) or isinstance(term, Constant | Several):
        return term
    if term.kind.name == "list" or (unknown and term.kind == ANY):
        found = CelValue(term.cel(), term.kind, needs=term.needs, name=term.name)
        return over(found, scope.taken)
    return term
