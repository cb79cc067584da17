"""Ranges of semantic versions, as Kyverno's `semver_compare` reads them, in CEL."""

import re

from policyd.importers.jmespath.cel import Cel, conjunction, disjunction, negation, relation
from policyd.importers.jmespath.vocabulary import NotTranslatable

_COMPARISON = re.compile(r"(>=|<=|!=|==|>|<|=|!)?+([0-9]++[.][0-9]++[.][0-9]++[-+.0-9A-Za-z]*+)\Z")
_METHODS = {">": "isGreaterThan", "<": "isLessThan", ">=": "isLessThan", "<=": "isGreaterThan"}


def versions_in(version: str, written: str) -> Cel:
    """Return CEL that is true if a version, CEL, is in a range such as ``>=1.2.0 <2.0.0 || 3.0.0``.

    Raises NotTranslatable for wildcards and other forms.
    """
    either = [
        conjunction([_compared(version, each) for each in part.replace(",", " ").split()])
        for part in written.split("||")
    ]
    return disjunction(either)


def _compared(version: str, written: str) -> Cel:
    found = _COMPARISON.match(written)
    if found is None:
        raise NotTranslatable(f"the range of versions `{written}` has no counterpart")
    sign, other = found[1] or "=", f"semver('{found[2]}')"
    if sign in ("=", "=="):
        return relation(version, "==", other)
    if sign in ("!=", "!"):
        return relation(version, "!=", other)
    asked = Cel(f"{version}.{_METHODS[sign]}({other})")
    return asked if sign in "<>" else negation(asked)
