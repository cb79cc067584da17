"""Check the values of MatchResources, selectors, matchConditions, paramKind and paramRef.

Follows kubernetes 1.36 ``pkg/apis/admissionregistration/validation/validation.go`` and
apimachinery's label selector checks; the wording is theirs.
"""

from collections.abc import Iterable, Iterator, Sequence

from policyd._core.match.labels import key_errors, value_errors
from policyd.json_types import FieldPath
from policyd.policy.checks.resources import overlaps
from policyd.policy.model import names
from policyd.policy.model.base import LabelSelector, ObjectMeta
from policyd.policy.model.findings import FormProblem, quoted
from policyd.policy.model.match import (
    MatchCondition,
    MatchResources,
    NamedRuleWithOperations,
    ParamKind,
    ParamRef,
    Variable,
)

_RULE_HINTS = {
    "operations": "write operations: [CREATE, UPDATE]",
    "apiGroups": 'write apiGroups: [""], the core group, or names such as apps',
    "apiVersions": 'write apiVersions: [v1], or ["*"] for all versions',
}
_RULES = (
    'write matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], '
    "operations: [CREATE, UPDATE], resources: [pods]}]}, for Pods"
)
MAX_MATCH_CONDITIONS = 64
MAX_ANNOTATIONS_SIZE = 256 * 1024  # bytes of keys and values


def required(path: FieldPath, detail: str = "", hint: str = "") -> FormProblem:
    """Return the problem of a missing required field."""
    return FormProblem(path, f"Required value: {detail}" if detail else "Required value", hint)


def invalid(
    path: FieldPath, value: object, wrongs: Iterable[str], hint: str = ""
) -> Iterator[FormProblem]:
    """Yield one problem for each reason why a value is invalid."""
    for wrong in wrongs:
        yield FormProblem(path, f"Invalid value: {quoted(value)}: {wrong}", hint)


def duplicates(path: FieldPath, values: Iterable[str], *field: str) -> Iterator[FormProblem]:
    """Report each value that occurred before; ``field`` is its path in the item."""
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value and value in seen:
            yield FormProblem((*path, index, *field), f"Duplicate value: {quoted(value)}")
        seen.add(value)


def check_metadata(meta: ObjectMeta) -> Iterator[FormProblem]:
    """Check the name, labels and annotations of a document."""
    path = ("metadata", "name")
    if not meta.name:
        yield required(path, "every document needs a name")
    else:
        wrongs = list(names.dns_subdomain(meta.name))
        yield from invalid(path, meta.name, wrongs, _name_hint(meta.name) if wrongs else "")
    yield from check_labels(meta.labels, ("metadata", "labels"))
    size = 0
    for key, value in meta.annotations.items():
        size += len(key.encode()) + len(value.encode())
        yield from invalid(("metadata", "annotations", key), key, key_errors(key.lower()))
    if size > MAX_ANNOTATIONS_SIZE:
        yield FormProblem(
            ("metadata", "annotations"), "Too long: may not be more than 262144 bytes"
        )


def check_labels(labels: dict[str, str], path: FieldPath) -> Iterator[FormProblem]:
    """Check keys and values of labels, also of a selector's matchLabels."""
    for key, value in labels.items():
        yield from invalid((*path, key), key, key_errors(key))
        wild = "*" in value or "?" in value
        hint = "labels have no wildcards: write matchExpressions, operator: In and each value"
        yield from invalid((*path, key), value, value_errors(value), hint if wild else "")


def check_selector(selector: LabelSelector, path: FieldPath) -> Iterator[FormProblem]:
    """Check a label selector."""
    yield from check_labels(selector.match_labels, (*path, "matchLabels"))
    for index, requirement in enumerate(selector.match_expressions):
        at = (*path, "matchExpressions", index)
        if not requirement.given("operator"):
            yield required((*at, "operator"), "one of In, NotIn, Exists, DoesNotExist")
        elif requirement.operator in ("In", "NotIn") and not requirement.values:
            wrong = "must be specified when `operator` is 'In' or 'NotIn'"
            instead = "Exists" if requirement.operator == "In" else "DoesNotExist"
            hint = f"write values: [VALUE], or operator: {instead} for any value"
            yield required((*at, "values"), wrong, hint)
        elif requirement.operator in ("Exists", "DoesNotExist") and requirement.values:
            yield FormProblem(
                (*at, "values"),
                "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                f"write operator: {'In' if requirement.operator == 'Exists' else 'NotIn'}",
            )
        yield from invalid((*at, "key"), requirement.key, key_errors(requirement.key))
        for number, value in enumerate(requirement.values):
            yield from invalid((*at, "values", number), value, value_errors(value))


def check_match_resources(match: MatchResources, path: FieldPath) -> Iterator[FormProblem]:
    """Check the match rules and selectors of a policy or binding."""
    if match.given("namespace_selector"):
        yield from check_selector(match.namespace_selector, (*path, "namespaceSelector"))
    if match.given("object_selector"):
        yield from check_selector(match.object_selector, (*path, "objectSelector"))
    for index, rule in enumerate(match.resource_rules):
        yield from _check_rule(rule, (*path, "resourceRules", index))
    for index, rule in enumerate(match.exclude_resource_rules):
        yield from _check_rule(rule, (*path, "excludeResourceRules", index))


def _name_hint(name: str) -> str:
    """Return the remedy for a name with characters that names do not have."""
    near = "".join(each if each.isascii() and each.isalnum() else "-" for each in name.lower())
    near = near.strip("-")
    return f"write {near}" if near and not any(names.dns_subdomain(near)) else ""


def check_constraints(match: MatchResources, given: bool) -> Iterator[FormProblem]:
    """Check ``spec.matchConstraints``, which is required with at least one match rule."""
    path = ("spec", "matchConstraints")
    if not given:
        yield required(path, "the requests that the policy matches", _RULES)
        return
    yield from check_match_resources(match, path)
    if not match.resource_rules:
        yield required((*path, "resourceRules"), "at least one rule")


def _check_rule(rule: NamedRuleWithOperations, path: FieldPath) -> Iterator[FormProblem]:
    for index, name in enumerate(rule.resource_names):
        yield from invalid((*path, "resourceNames", index), name, names.path_segment(name))
    yield from duplicates((*path, "resourceNames"), rule.resource_names)
    for field, values, what in (
        ("operations", rule.operations, "operations"),
        ("apiGroups", rule.api_groups, "API groups"),
        ("apiVersions", rule.api_versions, "API versions"),
    ):
        at = (*path, field)
        if not values:
            yield required(at, hint=_RULE_HINTS[field])
        elif len(values) > 1 and "*" in values:
            yield from invalid(at, values, [f"if '*' is present, must not specify other {what}"])
    for index, version in enumerate(rule.api_versions):
        if not version:
            yield required((*path, "apiVersions", index))
    yield from _check_resources(rule.resources, (*path, "resources"))


def _check_resources(resources: Sequence[str], path: FieldPath) -> Iterator[FormProblem]:
    if not resources:
        yield required(path, hint="write plurals in lower case: resources: [pods, services]")
    for place, wrong in overlaps(resources):
        at = path if place is None else (*path, place)
        if not wrong:
            yield required(at)
        else:
            yield from invalid(at, resources if place is None else resources[place], [wrong])


def check_match_conditions(conditions: Sequence[MatchCondition]) -> Iterator[FormProblem]:
    """Check ``spec.matchConditions``: at most 64, with unique names."""
    path: FieldPath = ("spec", "matchConditions")
    if len(conditions) > MAX_MATCH_CONDITIONS:
        count = len(conditions)
        yield FormProblem(
            path, f"Too many: {count}: must have at most {MAX_MATCH_CONDITIONS} items"
        )
    for index, condition in enumerate(conditions):
        at = (*path, index)
        if not condition.expression.strip():
            yield required((*at, "expression"))
        if not condition.name:
            yield required((*at, "name"))
        else:
            wrongs = list(key_errors(condition.name))
            hint = _name_hint(condition.name) if wrongs else ""
            yield from invalid((*at, "name"), condition.name, wrongs, hint)
    yield from duplicates(path, (condition.name for condition in conditions), "name")


def check_variables(variables: Sequence[Variable]) -> Iterator[FormProblem]:
    """Check ``spec.variables``: names must be CEL identifiers."""
    for index, variable in enumerate(variables):
        at: FieldPath = ("spec", "variables", index)
        if not variable.name.strip():
            yield required((*at, "name"), "name is not specified")
        elif not names.is_cel_identifier(variable.name):
            name = "".join(each if each.isalnum() else "_" for each in variable.name)
            hint = f"write {name}" if names.is_cel_identifier(name) else ""
            wrong = "must be a valid CEL identifier"
            yield from invalid((*at, "name"), variable.name, [wrong], hint)
        if not variable.expression.strip():
            yield required((*at, "expression"), "expression is not specified")


def check_param_kind(kind: ParamKind | None) -> Iterator[FormProblem]:
    """Check ``spec.paramKind``."""
    if kind is None:
        return
    at: FieldPath = ("spec", "paramKind", "apiVersion")
    group, slash, version = kind.api_version.rpartition("/")
    if not kind.api_version:
        yield required(at, hint="write apiVersion: GROUP/VERSION, or v1 for the core group")
    elif "/" in group:
        wrong = f"unexpected GroupVersion string: {kind.api_version}"
        yield from invalid(at, kind.api_version, [wrong])
    else:
        if slash and group:
            yield from invalid(at, group, names.dns_subdomain(group))
        if not version:
            yield from invalid(at, kind.api_version, ["version must be specified"])
        else:
            yield from invalid(at, version, names.dns_1035_label(version))
    if not kind.kind:
        yield required(("spec", "paramKind", "kind"))
    else:
        yield from invalid(
            ("spec", "paramKind", "kind"), kind.kind, names.dns_1035_label(kind.kind.lower())
        )


def check_param_ref(ref: ParamRef | None) -> Iterator[FormProblem]:
    """Check ``spec.paramRef``: a name or a selector, and parameterNotFoundAction."""
    if ref is None:
        return
    path: FieldPath = ("spec", "paramRef")
    exclusive = "Forbidden: name and selector are mutually exclusive"
    if ref.name:
        yield from invalid((*path, "name"), ref.name, names.path_segment(ref.name))
    if ref.selector is not None:
        yield from check_selector(ref.selector, (*path, "selector"))
        if ref.name:
            yield FormProblem((*path, "name"), exclusive, "remove one of them")
            yield FormProblem((*path, "selector"), exclusive, "remove one of them")
    elif not ref.name:
        yield required(path, "one of name or selector must be specified")
    if not ref.given("parameter_not_found_action"):
        yield required((*path, "parameterNotFoundAction"), "Allow or Deny")
