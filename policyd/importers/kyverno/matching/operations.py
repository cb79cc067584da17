"""Preconditions on the operation of the request, as the ``operations`` of match rules.

Nearly every policy of Kyverno has such a precondition, because its webhook gets all operations.
"""

import re
from dataclasses import dataclass

from policyd.json_types import JSON, JSONObject, keys_in, strings_in

OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_KEY = re.compile(r"\{\{\s*request\.operation\s*(?:\|\|\s*'BACKGROUND'\s*)?\}\}")
_INCLUDING = frozenset({"Equals", "Equal", "In", "AnyIn", "AllIn"})
_EXCLUDING = frozenset({"NotEquals", "NotEqual", "NotIn", "AnyNotIn", "AllNotIn"})


@dataclass(frozen=True, slots=True)
class Operations:
    """``allowed`` are the operations that pass; ``named`` those that the preconditions name as
    such. ``rest`` is what remains of the preconditions, None if nothing does.
    """

    allowed: frozenset[str]
    named: frozenset[str]
    rest: JSON


def split(preconditions: JSON) -> Operations:
    """Take the conditions on the operation out of preconditions.

    >>> is_update = {"key": "{{ request.operation }}", "operator": "Equals", "value": "UPDATE"}
    >>> split({"all": [is_update]})
    Operations(allowed=frozenset({'UPDATE'}), named=frozenset({'UPDATE'}), rest=None)
    """
    allowed, named = frozenset(OPERATIONS), frozenset[str]()
    if isinstance(preconditions, list):  # the old form: all of them
        kept = split({"all": preconditions})
        rest = kept.rest["all"] if kept.rest else None
        return Operations(kept.allowed, kept.named, rest)
    if not isinstance(preconditions, dict):
        return Operations(allowed, named, preconditions)
    rest = dict(preconditions)
    alternatives = [_accepted(each) for each in rest.get("any") or ()]
    if alternatives and None not in alternatives:
        union = frozenset[str]().union(*(each for each in alternatives if each is not None))
        allowed, named = allowed & union, union if len(union) < len(OPERATIONS) - 1 else named
        del rest["any"]
    remaining = []
    for each in rest.get("all") or ():
        accepted = _accepted(each)
        if accepted is None:
            remaining.append(each)
            continue
        allowed &= accepted
        if each["operator"] in _INCLUDING:
            named |= accepted
    rest.pop("all", None)
    if remaining:
        rest["all"] = remaining
    return Operations(allowed, named & allowed, rest or None)


def _accepted(condition: JSONObject) -> frozenset[str] | None:
    """Return the operations for which a condition holds; None if it is about something else."""
    if not all(isinstance(condition.get(name), str) for name in ("key", "operator")):
        return None
    if _KEY.fullmatch(condition["key"].strip()) is None:
        return None
    value, operator = condition.get("value"), condition.get("operator")
    if isinstance(value, list) and operator in ("NotEquals", "NotEqual"):
        return frozenset(OPERATIONS)  # a string never equals a list
    values: list[JSON] = [value] if isinstance(value, str) else []
    if isinstance(value, list) and condition["operator"].endswith("In"):
        values = value
    if not values or not all(isinstance(each, str) and each in OPERATIONS for each in values):
        return None
    if operator in _INCLUDING:
        return frozenset(values)
    return frozenset(OPERATIONS) - frozenset(values) if operator in _EXCLUDING else None


def reads_object(value: JSON) -> bool:
    """Return whether strings in a value read the object of the request, which DELETE has not."""
    names = ("request.object", 'request."object"')
    texts = (*strings_in(value), *keys_in(value))
    return any(name in text for text in texts for name in names)
