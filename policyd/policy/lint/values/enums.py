"""Problems of comparisons with a value that the field cannot have: ``imagePullPolicy != 'always'``.

An error is only what holds in no version of Kubernetes: a value that differs from a known one by
its case alone, an operation that does not exist. Other values may be of a newer Kubernetes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from policyd.cel.syntax.ast import Literal
from policyd.errors import Fix
from policyd.near_names import nearest
from policyd.policy.lint.guards.cases import cases
from policyd.policy.lint.guards.field_presence import RequestCase
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.lint.types.kinds import KindTypes
from policyd.policy.lint.values.comparisons import EQUALITIES, Comparison, comparisons
from policyd.policy.model.expressions import PolicyExpression
from policyd.policy.model.findings import FormProblem, quoted
from policyd.policy.model.match import OPERATIONS

NEVER_RULE = "impossible-value"
UNKNOWN_RULE = "unknown-value"
_OPERATION = ("request", "operation")
_MANY = 8  # values in a hint

_Cases = Sequence[tuple[KindTypes, RequestCase]]


@dataclass(frozen=True, slots=True)
class _Allowed:
    """The values that a field has. ``closed``: there can be no others; ``narrow``: other values are
    normal, since policies compare with the kinds of other policies too.
    """

    values: frozenset[str] = frozenset()
    closed: bool = False
    narrow: bool = False


def never_equal(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the problems of all expressions, in order."""
    every = list(cases(policy))
    for each, placed in comparisons(policy):
        compared = {_text(found[0]) for found in placed.values()} - {""}
        for found in placed.values():
            value = _text(found[0])
            allowed = _allowed(found, every) if value else _Allowed()
            if value and allowed.values and value not in allowed.values:
                right = _same_but_for_case(value, allowed)
                if right not in compared and (right or not allowed.narrow):  # 'all' beside 'ALL'
                    yield _problem(each, found[0], right, allowed)


def _text(comparison: Comparison) -> str:
    """Return the string that a field is compared with for equality; empty if there is none."""
    other = comparison.other
    if comparison.operator in EQUALITIES and isinstance(other, Literal):
        return other.value if isinstance(other.value, str) else ""
    return ""


def _allowed(found: Sequence[Comparison], every: _Cases) -> _Allowed:
    """Return the values that the compared field has for any kind; none if that is uncertain."""
    place = every[0][1].place(found[0].node)
    if place == _OPERATION:
        return _Allowed(frozenset(OPERATIONS), closed=True)
    if place is not None:
        known = [case.known.get(place) for _, case in every]
        texts = [each for each in known if isinstance(each, str)]
        if len(texts) == len(known):
            return _Allowed(frozenset(texts), narrow=True)
    values: set[str] = set()
    for comparison in found:
        read = comparison.read
        listed = read.schema.get("enum") if read is not None else None
        if read is None or read.replaced or not listed or not isinstance(listed, list):
            return _Allowed()
        values.update(each for each in listed if isinstance(each, str))
        values.update(each for each in read.defaults if isinstance(each, str))
    return _Allowed(frozenset(values))


def _same_but_for_case(value: str, allowed: _Allowed) -> str:
    """Return the allowed value that was meant for certain: also the kind for its plural."""
    folded = {each.lower(): each for each in sorted(allowed.values)}
    given = value.strip().lower()
    if allowed.narrow:
        given, folded = (
            given.removesuffix("s"),
            {each.removesuffix("s"): right for each, right in folded.items()},
        )
    return folded.get(given, "")


def _quoted(value: str) -> str:
    """Write a string as CEL in YAML mostly does."""
    return f"'{value}'" if value.isprintable() and "'" not in value else quoted(value)


def _problem(
    each: PolicyExpression, found: Comparison, right: str, allowed: _Allowed
) -> FormProblem:
    value = _text(found)
    shown = _quoted(value)
    listed = sorted(filter(None, allowed.values))
    near = nearest(value, listed)
    if right:
        hint = f"write {_quoted(right)}"
    elif near:
        hint = f"did you mean {_quoted(near)}?"
    else:
        hint = ", ".join(map(_quoted, listed[:_MANY])) + (", …" if len(listed) > _MANY else "")
        hint = f"the values are {hint}"
    rule, message = UNKNOWN_RULE, f"{shown} is not a known value of this field"
    if right or allowed.closed:
        never = f"{shown} is never the value of this field"
        rule, message = NEVER_RULE, f"{never}, so the comparison always has the same result"
    fix = Fix(value, right) if right else None
    return each.finding(found.other.pos, rule, message, hint, fix)
