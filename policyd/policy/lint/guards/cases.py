"""The request cases of a policy: each kind and operation that its match rules name, with the values
that these determine. Evaluates no expression.
"""

from collections.abc import Iterator, Mapping

from policyd._core.match.equivalents import BUILT_IN_GROUPS
from policyd._core.match.labels import NAMESPACE_NAME
from policyd.mutation.schemas.schemas import ANY_KIND, Gvk
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.kinds.mapping import BUILT_IN
from policyd.policy.kinds.object_types import KindSchemas
from policyd.policy.kinds.plural import plural
from policyd.policy.kinds.subresources import SUBRESOURCE_OF_KIND, subresources_named
from policyd.policy.lint.guards.field_presence import PRESENT, RequestCase
from policyd.policy.lint.guards.forms import Place
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.lint.types.kinds import KindTypes, resource_kinds, subresource_kinds
from policyd.policy.model.kinds import AnyPolicy, MutatingAdmissionPolicy, Policy
from policyd.policy.model.match import NamedRuleWithOperations

_WRITES = ("CREATE", "UPDATE", "DELETE")
# The API server sets this label of every Namespace.
_LABELS: Place = ("metadata", "labels")
_NAME_LABEL: Place = (*_LABELS, NAMESPACE_NAME)


def cases(policy: LintedPolicy) -> Iterator[tuple[KindTypes, RequestCase]]:
    """Yield each kind and operation with the kind's types; all kinds without a schema are one case.

    CREATE is omitted where it cannot differ from UPDATE.
    """
    texts = [each.text for each in policy.expressions]
    told_apart = any(word in text for text in texts for word in ("operation", "old"))
    for gvk, operations in _subjects(policy.model, policy.run.published).items():
        types = policy.types(gvk)
        for operation in sorted(operations):
            if operation != "CREATE" or told_apart or "UPDATE" not in operations:
                yield types, _case(policy.model, types, operation)


def _subjects(policy: AnyPolicy, schemas: KindSchemas) -> dict[Gvk | None, set[str]]:
    """Return the kinds that a policy matches, each with its operations. Kinds without a schema are
    ANY_KIND, or None if they may be options of CONNECT, which have no metadata.
    """
    found: dict[Gvk | None, set[str]] = {}
    for rule in policy.spec.match_constraints.resource_rules:
        operations = set(_WRITES if "*" in rule.operations else rule.operations)
        if isinstance(policy, MutatingAdmissionPolicy):
            operations.discard("DELETE")  # no object to mutate
        for gvk, operation in subresource_kinds(rule, schemas):
            found.setdefault(gvk, set()).add(operation)
        kinds: dict[Gvk | None, set[str]] = dict.fromkeys(
            resource_kinds([rule], schemas), operations
        )
        for resource in rule.resources:
            if not _has_kind(rule, resource, schemas):
                own = {each.operation for each in subresources_named(resource)}
                kinds.setdefault(ANY_KIND, set()).update(operations & own if own else operations)
        for kind, reached in kinds.items():
            if "CONNECT" in reached and kind == ANY_KIND:
                found.setdefault(None, set()).add("CONNECT")
            if reached - {"CONNECT"}:
                found.setdefault(kind, set()).update(reached - {"CONNECT"})
    return found


def in_no_namespace(gvk: Gvk) -> bool:
    """Whether a built-in kind is cluster-scoped; not Namespace, whose requests have a namespace."""
    kind = _kind_of(gvk)
    target = SUBRESOURCE_OF_KIND.get(kind)
    if target is not None:
        return BUILT_IN.namespaced("", target.resource) is False
    return gvk.kind != "Namespace" and BUILTIN_KINDS.get(kind) is False


def _kind_of(gvk: Gvk) -> tuple[str, str]:
    return gvk.api_version, gvk.kind


def has_known_kinds(policy: LintedPolicy) -> bool:
    """Whether every kind that a policy matches has a schema."""
    return all(_has_kinds(rule, policy.run.published) for rule in policy.rules)


def matches_any(policy: LintedPolicy) -> bool:
    """Whether a policy matches kinds without a schema, ANY_KIND."""
    return any(
        not _has_kinds(rule, policy.run.published) and set(rule.operations) != {"CONNECT"}
        for rule in policy.rules
    )


def _has_kinds(rule: NamedRuleWithOperations, schemas: KindSchemas) -> bool:
    return all(_has_kind(rule, resource, schemas) for resource in rule.resources)


def _has_kind(rule: NamedRuleWithOperations, resource: str, schemas: KindSchemas) -> bool:
    """Whether every kind that the rule matches by this resource has a schema."""
    subresources = list(subresources_named(resource))
    if subresources and all(each.kind[1] for each in subresources):
        return True
    name = resource.partition("/")[0] if subresources else resource
    found = {
        schemas.of_resource(group, version, name)
        for group in rule.api_groups
        for version in rule.api_versions
    }
    closed = BUILT_IN_GROUPS.issuperset(rule.api_groups) and "*" not in rule.api_versions
    known = {gvk for gvk in found if gvk is not None and schemas.find(gvk) is not None}
    return bool(known) and (closed or len(found) == len(known))


def _case(policy: AnyPolicy, types: KindTypes, operation: str) -> RequestCase:
    known = _known(policy, types.gvk, operation)

    def lacks(place: Place) -> bool:
        """Whether has() of a place is always false: its root is null, or the kind has no field."""
        return known.get(place[:1], PRESENT) is None or types.lacks(place)

    return RequestCase(types.variables, known, lacks)


def _known(policy: AnyPolicy, gvk: Gvk | None, operation: str) -> Mapping[Place, object]:
    """Return the values that the kind and operation determine."""
    known: dict[Place, object] = {
        ("request", "operation"): operation,
        ("object",): None if operation == "DELETE" else PRESENT,
        ("oldObject",): None if operation in ("CREATE", "CONNECT") else PRESENT,
        ("namespaceObject", *_NAME_LABEL): PRESENT,
    }
    if gvk is None or gvk == ANY_KIND:
        return known
    if in_no_namespace(gvk):
        known["namespaceObject",] = None
    for root in ("object", "oldObject"):
        if known[root,] is not None:
            known[root, "kind"] = gvk.kind
            if _kind_of(gvk) == ("v1", "Namespace"):
                known[root, *_LABELS] = known[root, *_NAME_LABEL] = PRESENT
    controllers = isinstance(policy, Policy) and policy.spec.pod_controllers
    if not controllers:  # with podControllers, the request has the kind of the controller
        known["request", "kind", "kind"] = gvk.kind
        known["request", "kind", "group"] = gvk.group
        target = SUBRESOURCE_OF_KIND.get(_kind_of(gvk))
        if target is None:
            known["request", "resource", "group"] = gvk.group
            if gvk.group in BUILT_IN_GROUPS:
                known["request", "resource", "resource"] = plural(gvk.kind)
        elif target.resource:  # all of these are in the core group
            known["request", "resource", "group"] = ""
            known["request", "resource", "resource"] = target.resource
    return known
