"""PolicyExceptions of kyverno.io (v2 and v2beta1), for one rule of a policy.

An exception for all kinds of the rule becomes one of the Policy; one for some of them, and one with
conditions, becomes a matchCondition. Fields: Kyverno api/kyverno/v2/policy_exception_types.go.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from policyd.export.expressions.cel import AND, TRUE, Cel, relation
from policyd.export.expressions.selectors import selector_expression
from policyd.importers.fields import object_at, objects, require_fields, strings
from policyd.importers.jmespath.cel import every, literal, negated, some
from policyd.importers.jmespath.globs import among, has_wildcards
from policyd.importers.jmespath.vocabulary import Vocabulary
from policyd.importers.kyverno.conditions import holds
from policyd.importers.kyverno.matching.kinds import selected
from policyd.importers.model import Refused, refusing
from policyd.json_types import JSONObject
from policyd.policy.model.base import LabelSelector, ModelError
from policyd.policy.source.loaded_documents import Document

_GROUP = "kyverno.io"
_SPEC = ("background", "match", "conditions", "exceptions", "podSecurity")
_RESOURCES = ("kinds", "name", "names", "namespaces", "operations", "selector")
_SUBJECTS = ("User", "Group", "ServiceAccount")
_LABELS = "(object != null ? object : oldObject).?metadata.?labels"
_NAME = "request.?name.orValue('')"
_NAMESPACE = "request.?namespace.orValue('')"
_USER = "request.?userInfo.?username.orValue('')"
_GROUPS = "request.?userInfo.?groups.orValue([])"


def exceptions(
    policy: JSONObject,
    rules: Mapping[str, Collection[str]],
    others: Sequence[Document],
    scope: Vocabulary,
) -> JSONObject:
    """Return ``exceptions`` and ``matchConditions`` of a rule.

    ``rules`` maps the names of the rule, those that Kyverno generates for controllers included, to
    the kinds that it applies to under each name; ``scope`` has what matchConditions see. Raises
    Refused for what cannot be said.
    """
    found: list[JSONObject] = []
    conditions: list[JSONObject] = []
    for document, kinds in _naming(policy, rules, others):
        path = f"spec of the PolicyException {document.name}"
        spec = object_at(document.raw, "spec", "")
        require_fields(spec, _SPEC, path)
        if spec.get("podSecurity"):
            text = "exceptions from single controls of Pod Security cannot be imported"
            raise Refused(f"{path}.podSecurity", text)
        of_rule = {kind for each in rules.values() for kind in each}
        met = TRUE
        if spec.get("conditions"):
            met = holds(spec["conditions"], scope, f"{path}.conditions")
        for index, entry in enumerate(_entries(object_at(spec, "match", path), f"{path}.match")):
            criteria = _criteria(entry, f"{path}.match")
            named = _kinds(entry, f"{path}.match")
            # It may name some of the kinds, or one of any.
            exempt = (
                kinds
                if named is None
                else frozenset(
                    each for each in named if any(fnmatchcase(each, kind) for kind in kinds)
                )
            )
            if not exempt:
                continue
            name = document.name if index == 0 else f"{document.name}-{index + 1}"
            if exempt == of_rule and met == TRUE:
                for number, each in enumerate(criteria):
                    found.append({"name": f"{name}-groups" if number else name, **each})
                continue
            kind = TRUE if exempt == of_rule else _among("request.kind.kind", sorted(exempt))
            test = every(kind, some(*map(_test, criteria)), met)
            conditions.append({"name": f"exception-{name}", "expression": negated(test).text})
    parts = {"exceptions": found, "matchConditions": conditions}
    return {field: value for field, value in parts.items() if value}


def _naming(
    policy: JSONObject, rules: Mapping[str, Collection[str]], others: Sequence[Document]
) -> Iterator[tuple[Document, frozenset[str]]]:
    """Yield the exceptions from the rule, with the kinds that it applies to under these names."""
    metadata = object_at(policy, "metadata", "")
    full, namespace = metadata.get("name"), metadata.get("namespace")
    if namespace and policy.get("kind") == "Policy":
        full = f"{namespace}/{full}"
    for each in others:
        if (each.kind, each.group) != ("PolicyException", _GROUP):
            continue
        path = f"spec.exceptions of the PolicyException {each.name}"
        kinds: set[str] = set()
        for entry in objects(object_at(each.raw, "spec", "").get("exceptions"), path):
            require_fields(entry, ("policyName", "ruleNames"), path)
            if entry.get("policyName") == full:
                wanted = strings(entry.get("ruleNames"), f"{path}.ruleNames")
                for name, applied in rules.items():
                    if any(fnmatchcase(name, pattern) for pattern in wanted):
                        kinds |= set(applied)
        if kinds:
            yield each, frozenset(kinds)


def _entries(match: JSONObject, path: str) -> list[JSONObject]:
    require_fields(match, ("any", "all"), path)
    either, both = (
        objects(match.get("any"), f"{path}.any"),
        objects(match.get("all"), f"{path}.all"),
    )
    if len(both) > 1 or (both and either):
        raise Refused(f"{path}.all", "an exception with several filters that must all match")
    if not either and not both:
        raise Refused(path, "the exception matches nothing")
    return either or both


def _kinds(entry: JSONObject, path: str) -> frozenset[str] | None:
    """Return the kinds of an entry; None for all."""
    given = strings(object_at(entry, "resources", path).get("kinds"), f"{path}.kinds")
    if not given or "*" in given:
        return None
    found = []
    for each in given:
        with refusing(f"{path}.kinds", ValueError):
            selector = selected(each)
        if selector.subresource or has_wildcards(selector.kind):
            raise Refused(f"{path}.kinds", f"exceptions for {each} cannot be imported")
        found.append(selector.kind)
    return frozenset(found)


def _criteria(entry: JSONObject, path: str) -> list[JSONObject]:
    """Return criteria, one of which has to match: users and groups are alternatives."""
    require_fields(entry, ("resources", "subjects"), path)
    resources = object_at(entry, "resources", path, _RESOURCES)
    found: JSONObject = {}
    names = strings(resources.get("names"), f"{path}.resources.names")
    if resources.get("name"):
        names = [*names, str(resources["name"])]
    for field, values in (
        ("namespaces", strings(resources.get("namespaces"), f"{path}.resources.namespaces")),
        ("names", names),
        ("operations", strings(resources.get("operations"), f"{path}.resources.operations")),
    ):
        if values:
            found[field] = values
    selector = object_at(resources, "selector", f"{path}.resources")
    if selector:
        found["objectSelector"] = selector
    users, groups = _subjects(entry, path)
    if not users and not groups:
        return [found]
    alternatives = (("users", users), ("groups", groups))
    return [{**found, field: values} for field, values in alternatives if values]


def _subjects(entry: JSONObject, path: str) -> tuple[list[str], list[str]]:
    users: list[str] = []
    groups: list[str] = []
    for each in objects(entry.get("subjects"), f"{path}.subjects"):
        kind, name = str(each.get("kind")), str(each.get("name"))
        if kind not in _SUBJECTS:
            raise Refused(
                f"{path}.subjects", f"the kind {kind} is not User, Group or ServiceAccount"
            )
        if kind == "ServiceAccount":
            name = f"system:serviceaccount:{each.get('namespace') or 'default'}:{name}"
        (groups if kind == "Group" else users).append(name)
    return users, groups


def _test(criteria: JSONObject) -> Cel:
    """Return CEL that is true if all criteria match."""
    terms: list[Cel] = []
    for field, value in (("namespaces", _NAMESPACE), ("names", _NAME), ("users", _USER)):
        if criteria.get(field):
            terms.append(among(value, criteria[field]))
    if criteria.get("groups"):
        terms.append(Cel(f"{_GROUPS}.exists(g, {among('g', criteria['groups']).text})"))
    if criteria.get("operations"):
        terms.append(_among("request.operation", criteria["operations"]))
    if criteria.get("objectSelector"):
        with refusing("spec.match.resources.selector", ModelError):
            selector = LabelSelector.validated(criteria["objectSelector"])
        terms.append(Cel(selector_expression(selector, _LABELS), AND))
    return every(*terms)


def _among(value: str, given: Sequence[str]) -> Cel:
    return relation(value, "in", literal(given))
