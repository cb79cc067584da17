"""``applyRules: One``: a rule applies to requests to which none before it does.

To Kyverno a rule applies where it passes or fails; one that is skipped, or that changes nothing,
does not (pkg/engine/validation.go, mutation.go). Rules that validate and rules that mutate are
counted apart.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from policyd.export.expressions.rewriting import free_name
from policyd.importers.fields import conjunction, enclosed
from policyd.importers.jmespath.globs import among
from policyd.importers.kyverno.mutate.merge import marks_in
from policyd.importers.kyverno.rule_converter import ConvertedRule, kind_of
from policyd.importers.model import Refused
from policyd.json_types import JSONObject
from policyd.pattern.marks import Mark

_PATH = "spec.applyRules"
_ALWAYS_DECIDING = ("deny", "cel", "podSecurity")
_PATTERNS = ("pattern", "anyPattern")
_SKIPPING = {Mark.CONDITION, Mark.GLOBAL}

RuleWithPolicies = tuple[JSONObject, Sequence[ConvertedRule]]


def exclusive(rules: Iterable[RuleWithPolicies]) -> Iterator[Sequence[ConvertedRule]]:
    """Yield what each rule becomes if only the first one that applies counts; nothing if it never
    does. Raises Refused where a request does not show whether a rule applies.
    """
    before: list[RuleWithPolicies] = []
    for raw, made in rules:
        own = [each for each in before if ("mutate" in each[0]) is ("mutate" in raw)]
        found = made
        for earlier, policies in own:
            found = [one for each in found for one in _without(each, earlier, policies)]
        yield found
        before.append((raw, made))


def _without(
    rule: ConvertedRule, earlier: JSONObject, policies: Sequence[ConvertedRule]
) -> Iterator[ConvertedRule]:
    """Yield a Policy of a rule without the requests of an earlier rule, unless those are all."""
    spec = rule.spec
    for each in policies:
        if _apart(_resources(each.spec), _resources(spec)):
            continue
        (shape, operations), (other, wanted) = _matched(each.spec), _matched(spec)
        same = all(other.get(field) == value for field, value in shape.items())
        if not same or len(operations) > 1 or not _decides(earlier):
            name = earlier.get("name", "")
            raise Refused(_PATH, f"a request does not show whether the rule {name} applies")
        held = [one["expression"] for one in each.spec.get("matchConditions", ())]
        if not operations >= wanted:
            held = [among("request.operation", *operations).text, *held]
        if not held:
            return
        own = spec.get("matchConditions", ())
        name = free_name("first-that-applies", (one["name"] for one in own))
        conditions = [*own, {"name": name, "expression": f"!{enclosed(conjunction(held))}"}]
        spec = {**spec, "matchConditions": conditions}
    yield replace(rule, spec=spec)


def _matched(spec: JSONObject) -> tuple[JSONObject, set[tuple[str, ...]]]:
    """Return what a Policy matches, but for conditions and operations, and these."""
    constraints = spec["matchConstraints"]
    rules = [{**each, "operations": None} for each in constraints["resourceRules"]]
    operations = {tuple(each["operations"]) for each in constraints["resourceRules"]}
    found = {field: spec.get(field) for field in ("podControllers", "exceptions")}
    return {**constraints, **found, "resourceRules": rules}, operations


def _apart(one: set[tuple[str, str]], other: set[tuple[str, str]]) -> bool:
    return one.isdisjoint(other) and not any("*" in part for pair in one | other for part in pair)


def _resources(spec: JSONObject) -> set[tuple[str, str]]:
    """Return the groups and resources that a Policy matches."""
    return {
        (group, resource)
        for rule in spec["matchConstraints"]["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def _decides(rule: JSONObject) -> bool:
    """Whether a rule passes or fails wherever it matches: nothing in its body skips it."""
    if kind_of(rule) in _PATTERNS:
        return not marks_in([rule["validate"][kind_of(rule)]]) & _SKIPPING
    return kind_of(rule) in _ALWAYS_DECIDING
