"""Kyverno's operators about lists: whether any or all of the keys are in the value. Either side is
one value or a list, either side may have wildcards, and the value may be a range of numbers. An
operator is false where a side is null.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from policyd.importers.jmespath.alternatives import CelTerm, Either, single
from policyd.importers.jmespath.cel import (
    FALSE,
    TRUE,
    Cel,
    conjunction,
    disjunction,
    negation,
    relation,
)
from policyd.importers.jmespath.reading import over
from policyd.importers.jmespath.streams import CelList
from policyd.importers.jmespath.values import CelValue, Constant
from policyd.importers.kyverno.finding import is_in

Quantifier = Literal["any", "all"]
_Test = Callable[[CelValue], Cel]


def any_in(key: CelTerm, value: CelTerm) -> Cel:
    """Return CEL that is true where `AnyIn` is: any key is in the value."""
    if isinstance(key, Constant) and isinstance(key.constant, list) and _is_list(value):
        key, value = value, key
    return _asked("any", key, lambda each: is_in(each, value))


def all_in(key: CelTerm, value: CelTerm) -> Cel:
    """Return CEL that is true where `AllIn` is: all keys are in the value."""
    return _asked("all", key, lambda each: is_in(each, value))


def any_not_in(key: CelTerm, value: CelTerm) -> Cel:
    """Return CEL that is true where `AnyNotIn` is: any key is not in the value."""
    absent = _asked("any", key, lambda each: negation(is_in(each, value)))
    return conjunction([*_needs(value), absent])


def all_not_in(key: CelTerm, value: CelTerm) -> Cel:
    """Return CEL that is true where `AllNotIn` is: no key is in the value."""
    absent = _asked("all", key, lambda each: negation(is_in(each, value)))
    return conjunction([*_needs(value), absent])


def _asked(quantifier: Quantifier, key: CelTerm, test: _Test) -> Cel:
    if isinstance(key, Either):
        return _either(quantifier, key, test)
    if not _is_list(key):
        return conjunction([*_needs(key), test(single(key))])
    items = key if isinstance(key, CelList) else over(single(key))
    if quantifier == "any":
        return items.exists(lambda each: _of_element(each, test, FALSE))
    return conjunction([*_needs(items), items.every(lambda each: _of_element(each, test, TRUE))])


def _of_element(element: CelValue, test: _Test, missing: Cel) -> Cel:
    need = element.presence()
    if need is None:
        return test(element)
    if missing == FALSE:
        return conjunction([need, test(element)])
    return disjunction([negation(need), test(element)])


def _either(quantifier: Quantifier, key: Either, test: _Test) -> Cel:
    # `list || ''`: the empty string stands for a list that is missing or empty.
    if not _is_list(key.first) or _is_list(key.second):
        whole = single(key)
        return _asked(quantifier, over(whole) if whole.kind.name == "list" else whole, test)
    items = key.first if isinstance(key.first, CelList) else over(single(key.first))
    items = replace(items, needs=None)
    other = test(single(key.second))
    asked = _asked(quantifier, items, test)
    size = items.size().text
    if quantifier == "any":
        return disjunction([conjunction([relation(size, "==", "0"), other]), asked])
    if other == TRUE:
        return asked
    return conjunction([disjunction([relation(size, ">", "0"), other]), asked])


def _is_list(term: CelTerm) -> bool:
    return isinstance(term, CelList) or (isinstance(term, CelValue) and term.kind.name == "list")


def _needs(term: CelTerm) -> list[Cel]:
    # Not the fields of a path: a path to what is missing is an error, and stays one.
    if isinstance(term, Either | Constant) or term.needs is None:
        return []
    return [term.needs]
