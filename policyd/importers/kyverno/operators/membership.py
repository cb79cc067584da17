"""Operators about lists: whether any or all of the keys are in the value, or are not. Either side
is one value or a list.
"""

from collections.abc import Callable
from dataclasses import replace

from policyd.export.expressions.cel import TRUE, Cel, relation
from policyd.importers.jmespath.cel import every, negated, some
from policyd.importers.jmespath.reading import constant
from policyd.importers.jmespath.streams import CelList
from policyd.importers.jmespath.terms import CelTerm, Either, Several, single
from policyd.importers.jmespath.values import CelValue, Constant
from policyd.importers.kyverno.operators.finding import has_all, is_in, needs
from policyd.json_types import JSON

_Test = Callable[[CelValue], Cel]
# Of the tests of several keys, one or all must hold: ``some`` or ``every``.
_Quantifier = Callable[..., Cel]


def any_in(key: CelTerm, value: CelTerm) -> Cel:
    """Return CEL that is true where `AnyIn` is: any key is in the value."""
    if _written_list(key) is not None and isinstance(value, CelList):
        key, value = value, key
    return _asked(some, key, lambda each: is_in(each, value))


def all_in(key: CelTerm, value: CelTerm) -> Cel:
    """Return CEL that is true where `AllIn` is: all keys are in the value."""
    written = _written_list(key)
    if written is not None and (found := has_all(value, written)) is not None:
        return found
    return _asked(every, key, lambda each: is_in(each, value))


def any_not_in(key: CelTerm, value: CelTerm) -> Cel:
    """Return CEL that is true where `AnyNotIn` is: any key is not in the value."""
    written = _written_list(key)
    sure = _sure(value)
    if written is not None and (found := has_all(sure, written)) is not None:
        return every(needs(value), negated(found))
    absent = _asked(some, key, lambda each: negated(is_in(each, sure)))
    return every(needs(value), absent)


def all_not_in(key: CelTerm, value: CelTerm) -> Cel:
    """Return CEL that is true where `AllNotIn` is: no key is in the value."""
    sure = _sure(value)
    absent = _asked(every, key, lambda each: negated(is_in(each, sure)))
    return every(needs(value), absent)


def _asked(quantifier: _Quantifier, key: CelTerm, test: _Test) -> Cel:
    written = _written_list(key)
    if written is not None:
        return quantifier(*(test(constant(each)) for each in written))
    if isinstance(key, Several):
        return quantifier(*(_asked(quantifier, each, test) for each in key.parts))
    if isinstance(key, Either):
        return _either(quantifier, key, test)
    if not isinstance(key, CelList):
        return every(needs(key), test(key))
    if quantifier is some:
        return key.exists(lambda each: every(each.presence(), test(each)))
    return every(
        needs(key), key.sure().every(lambda each: some(negated(each.presence()), test(each)))
    )


def _sure(value: CelTerm) -> CelTerm:
    # For a place where it is known not to be null.
    return value.sure() if isinstance(value, CelList) else value


def _either(quantifier: _Quantifier, key: Either, test: _Test) -> Cel:
    # `list || ''`: the empty string stands for a list that is missing or empty.
    if not isinstance(key.first, CelList) or key.second.kind.name == "list":
        return _asked(quantifier, single(key), test)
    items = replace(key.first, needs=TRUE)
    other = test(single(key.second))
    asked = _asked(quantifier, items, test)
    size = items.size().text
    if quantifier is some:
        return some(every(relation(size, "==", "0"), other), asked)
    return every(some(relation(size, ">", "0"), other), asked)


def _written_list(key: CelTerm) -> list[JSON] | None:
    if isinstance(key, Constant) and isinstance(key.constant, list):
        return key.constant
    return None
