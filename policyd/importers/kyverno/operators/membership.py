"""Operators about lists: whether any or all of the keys are in the value, or are not. Either side
is one value or a list.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from policyd.importers.jmespath.cel import (
    FALSE,
    TRUE,
    Cel,
    every,
    negated,
    relation,
    some,
)
from policyd.importers.jmespath.reading import constant
from policyd.importers.jmespath.streams import CelList
from policyd.importers.jmespath.terms import CelTerm, Either, Several, single
from policyd.importers.jmespath.values import CelValue, Constant
from policyd.importers.kyverno.operators.finding import has_all, is_in, needs
from policyd.json_types import JSON

_Quantifier = Literal["any", "all"]
_Test = Callable[[CelValue], Cel]


def any_in(key: CelTerm, value: CelTerm) -> Cel:
    """Return CEL that is true where `AnyIn` is: any key is in the value."""
    if _written_list(key) is not None and isinstance(value, CelList):
        key, value = value, key
    return _asked("any", key, lambda each: is_in(each, value))


def all_in(key: CelTerm, value: CelTerm) -> Cel:
    """Return CEL that is true where `AllIn` is: all keys are in the value."""
    written = _written_list(key)
    if written is not None and (found := has_all(value, written)) is not None:
        return found
    return _asked("all", key, lambda each: is_in(each, value))


def any_not_in(key: CelTerm, value: CelTerm) -> Cel:
    """Return CEL that is true where `AnyNotIn` is: any key is not in the value."""
    written = _written_list(key)
    sure = _sure(value)
    if written is not None and (found := has_all(sure, written)) is not None:
        return every(*needs(value), negated(found))
    absent = _asked("any", key, lambda each: negated(is_in(each, sure)))
    return every(*needs(value), absent)


def all_not_in(key: CelTerm, value: CelTerm) -> Cel:
    """Return CEL that is true where `AllNotIn` is: no key is in the value."""
    sure = _sure(value)
    absent = _asked("all", key, lambda each: negated(is_in(each, sure)))
    return every(*needs(value), absent)


def _asked(quantifier: _Quantifier, key: CelTerm, test: _Test) -> Cel:
    written = _written_list(key)
    if written is not None:
        tests = [test(constant(each)) for each in written]
        return some(*tests) if quantifier == "any" else every(*tests)
    if isinstance(key, Several):
        tests = [_asked(quantifier, each, test) for each in key.parts]
        return some(*tests) if quantifier == "any" else every(*tests)
    if isinstance(key, Either):
        return _either(quantifier, key, test)
    if not isinstance(key, CelList):
        return every(*needs(key), test(key))
    if quantifier == "any":
        return key.exists(lambda each: _of_element(each, test, FALSE))
    asked = key.sure().every(lambda each: _of_element(each, test, TRUE))
    return every(*needs(key), asked)


def _sure(value: CelTerm) -> CelTerm:
    # For a place where it is known not to be null.
    return value.sure() if isinstance(value, CelList) else value


def _of_element(element: CelValue, test: _Test, missing: Cel) -> Cel:
    need = element.presence()
    if need is None:
        return test(element)
    if missing == FALSE:
        return every(need, test(element))
    return some(negated(need), test(element))


def _either(quantifier: _Quantifier, key: Either, test: _Test) -> Cel:
    # `list || ''`: the empty string stands for a list that is missing or empty.
    if not isinstance(key.first, CelList) or key.second.kind.name == "list":
        return _asked(quantifier, single(key), test)
    items = replace(key.first, needs=None)
    other = test(single(key.second))
    asked = _asked(quantifier, items, test)
    size = items.size().text
    if quantifier == "any":
        return some(every(relation(size, "==", "0"), other), asked)
    return every(some(relation(size, ">", "0"), other), asked)


def _written_list(key: CelTerm) -> list[JSON] | None:
    if isinstance(key, Constant) and isinstance(key.constant, list):
        return key.constant
    return None
