"""The operators of Kyverno's conditions as CEL, of a key and a value that may both be data
(kyverno/ kyverno pkg/engine/variables/operator). An operator is false where its key or value is
null.
"""

from collections.abc import Callable
from functools import partial

from policyd.export.expressions.cel import Cel
from policyd.importers.jmespath.terms import CelTerm
from policyd.importers.kyverno.operators.comparing import equals, not_equals, ordered
from policyd.importers.kyverno.operators.membership import all_in, all_not_in, any_in, any_not_in

Operator = Callable[[CelTerm, CelTerm], Cel]


_SIGNS = {
    "greaterthan": ">",
    "greaterthanorequals": ">=",
    "lessthan": "<",
    "lessthanorequals": "<=",
}

# Operators that check whether keys are in a list.
OF_LISTS = frozenset({"in", "anyin", "allin", "notin", "anynotin", "allnotin"})
# By lower-case names: Kyverno does not mind the case.
OPERATORS: dict[str, Operator] = {
    "equals": equals,
    "equal": equals,
    "notequals": not_equals,
    "notequal": not_equals,
    "in": all_in,
    "anyin": any_in,
    "allin": all_in,
    "notin": any_not_in,
    "anynotin": any_not_in,
    "allnotin": all_not_in,
    **{
        f"{prefix}{name}": partial(ordered, sign)
        for name, sign in _SIGNS.items()
        for prefix in ("", "duration")
    },
}
