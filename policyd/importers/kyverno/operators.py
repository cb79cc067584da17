"""The operators of Kyverno's conditions, of a key and a value that may both be data."""

from collections.abc import Callable

from policyd.importers.jmespath.alternatives import CelTerm
from policyd.importers.jmespath.cel import Cel, conjunction, negation
from policyd.importers.jmespath.streams import CelList
from policyd.importers.jmespath.values import CelValue, Constant
from policyd.importers.kyverno import comparing
from policyd.importers.kyverno.membership import all_in, all_not_in, any_in, any_not_in

Operator = Callable[[CelTerm, CelTerm], Cel]


def _equals(key: CelTerm, value: CelTerm) -> Cel:
    return conjunction([*_present(key), *_present(value), comparing.equal(key, value)])


def _not_equals(key: CelTerm, value: CelTerm) -> Cel:
    return conjunction([*_present(key), negation(comparing.equal(key, value))])


def _present(term: CelTerm) -> list[Cel]:
    # What is null makes an operator false. A path to what is missing is an error, and stays one.
    if isinstance(term, CelList) and term.needs is not None:
        return [term.needs]
    if isinstance(term, CelValue) and term.needs is not None and not isinstance(term, Constant):
        return [term.needs]
    return []


def _ordered(sign: str) -> Operator:
    def operator(key: CelTerm, value: CelTerm) -> Cel:
        return conjunction([*_present(key), *_present(value), comparing.ordered(key, sign, value)])

    return operator


_SIGNS = {
    "greaterthan": ">",
    "greaterthanorequals": ">=",
    "lessthan": "<",
    "lessthanorequals": "<=",
}

# By lower-case names: Kyverno does not mind the case.
OPERATORS: dict[str, Operator] = {
    "equals": _equals,
    "equal": _equals,
    "notequals": _not_equals,
    "notequal": _not_equals,
    "in": all_in,
    "anyin": any_in,
    "allin": all_in,
    "notin": any_not_in,
    "anynotin": any_not_in,
    "allnotin": all_not_in,
    **{name: _ordered(sign) for name, sign in _SIGNS.items()},
    **{f"duration{name}": _ordered(sign) for name, sign in _SIGNS.items()},
}
