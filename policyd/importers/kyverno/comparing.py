"""Equality and order of a key and a value, as Kyverno's operators have it: numbers, quantities,
durations, versions, and strings with wildcards.
"""

import re

from policyd.importers.jmespath.alternatives import CelTerm
from policyd.importers.jmespath.cel import MEMBER, SUM, Cel, conjunction, negation, relation
from policyd.importers.jmespath.kinds import NUMBER, STRING
from policyd.importers.jmespath.values import Constant
from policyd.importers.jmespath.vocabulary import NotTranslatable
from policyd.importers.kyverno.globs import globbed, has_wildcards

_QUANTITY = re.compile(
    r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)(n|u|m|k|M|G|T|P|E|[KMGTPE]i|[eE][+-]?[0-9]+)?\Z"
)
_DURATION = re.compile(r"[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|ms|s|m|h))+\Z")
_VERSION = re.compile(r"[0-9]+[.][0-9]+[.][0-9]+(-[0-9A-Za-z.-]+)?\Z")
_QUANTITIES = frozenset({"memory", "cpu", "storage", "ephemeral-storage"})


def equal(key: CelTerm, value: CelTerm) -> Cel:
    """Return CEL that is true where `Equals` is."""
    if isinstance(key, Constant) and not isinstance(value, Constant):
        key, value = value, key
    if not isinstance(value, Constant):
        if key.name in _QUANTITIES or value.name in _QUANTITIES:
            return relation(f"quantity({key.text()})", "==", f"quantity({value.text()})")
        return relation(key.text(SUM), "==", value.text(SUM))
    written = value.constant
    if isinstance(written, str) and key.kind.name in ("string", "any"):
        if has_wildcards(written):
            return globbed(key.text(MEMBER), written)
        if _DURATION.match(written) and key.kind == STRING:
            return relation(f"duration({key.text()})", "==", f"duration({value.text()})")
        if _QUANTITY.match(written) and (key.name in _QUANTITIES or key.kind == STRING):
            same = relation(f"quantity({key.text()})", "==", f"quantity({value.text()})")
            known = [] if key.name in _QUANTITIES else [Cel(f"isQuantity({key.text()})")]
            return conjunction([*known, same])
    if isinstance(written, bool) and key.kind.name == "bool":
        return key.cel() if written else negation(key.cel())
    return relation(key.text(SUM), "==", value.text())


def ordered(key: CelTerm, sign: str, value: CelTerm) -> Cel:
    """Return CEL that is true where `GreaterThan` and its like are."""
    for one in (key, value):
        if isinstance(one, Constant) and isinstance(one.constant, str):
            if _DURATION.match(one.constant):
                return relation(_duration(key), sign, _duration(value))
            if _VERSION.match(one.constant):
                return _compared("semver", key, sign, value)
            if not _QUANTITY.match(one.constant):
                raise NotTranslatable(f"`{one.constant}` is no number, quantity or duration")
    if key.name in _QUANTITIES or value.name in _QUANTITIES:
        return _compared("quantity", key, sign, value)
    texts = [isinstance(each, Constant) and isinstance(each.constant, str) for each in (key, value)]
    numbers = [each.kind == NUMBER for each in (key, value)]
    if any(texts) and not any(numbers):
        return _compared("quantity", key, sign, value)
    return relation(_number(key), sign, _number(value))


def _compared(function: str, key: CelTerm, sign: str, value: CelTerm) -> Cel:
    one, other = f"{function}({key.text()})", f"{function}({value.text()})"
    methods = {">": "isGreaterThan", "<": "isLessThan", ">=": "isLessThan", "<=": "isGreaterThan"}
    asked = Cel(f"{one}.{methods[sign]}({other})")
    return asked if sign in "<>" else negation(asked)


def _number(term: CelTerm) -> str:
    if isinstance(term, Constant) and isinstance(term.constant, str):
        return str(float(term.constant)) if "." in term.constant else str(int(term.constant))
    return f"double({term.text()})" if term.kind == STRING else term.text(SUM)


def _duration(term: CelTerm) -> str:
    if term.kind == NUMBER:
        return f"duration(string({term.text()}) + 's')"
    return f"duration({term.text()})"
