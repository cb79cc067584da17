"""Export what a policy mutates: MutatingAdmissionPolicies and their bindings."""

from collections.abc import Iterator
from dataclasses import replace

from policyd.export.controllers import PodTemplate
from policyd.export.expressions.occurrences import Untranslatable, occurrences
from policyd.export.expressions.rewriting import free_name
from policyd.export.model import ExportedPart, Reason, shown_path
from policyd.export.mutating.defaulting import affected_by_defaults
from policyd.export.mutating.mutations import MutationTranslator
from policyd.export.policy_views import ExportSource, View, bound_part, remarks_on, views_of
from policyd.export.served import KINDS, api_version, not_served
from policyd.json_types import JSONObject
from policyd.policy.compile.overlays import KnownKinds
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.model.expressions import expressions_of
from policyd.policy.model.match import covers

_OPERATIONS = ("CREATE", "UPDATE")


def mutation_part(source: ExportSource, kinds: KnownKinds) -> ExportedPart:
    """Return the policies with their bindings, or what cannot be translated. ``kinds`` are the
    kinds whose schemas are known.
    """
    kind = KINDS["mutate"]
    if api_version(kind, source.version) is None:
        reason = Reason("spec.mutations", not_served(kind, source.version))
        return ExportedPart("mutate", reasons=(reason,))
    reasons: list[Reason] = []
    views = views_of(source, reasons)
    reasons += hidden_fields(source)
    translator = MutationTranslator(source, kinds)
    specs = []
    for view in views:
        constraints = mutable(view.constraints)
        if constraints["resourceRules"]:
            seen = replace(view, constraints=constraints)
            specs.append((view, _spec(seen, source, translator, reasons)))
    if not specs:
        text = "its rules match neither CREATE nor UPDATE, so it mutates nothing"
        reasons.append(Reason("spec.matchConstraints.resourceRules", text))
    reasons += affected_by_defaults(source, translator)
    if reasons:
        return ExportedPart("mutate", reasons=tuple(dict.fromkeys(reasons)))
    bound = {"paramRef": source.raw.get("paramRef")}
    return bound_part("mutate", specs, bound, source, [*remarks_on(source, views)])


def mutable(constraints: JSONObject) -> JSONObject:
    """Return matchConstraints for CREATE and UPDATE alone: only these are mutated."""
    rules = []
    for rule in constraints.get("resourceRules") or ():
        given = rule.get("operations") or ()
        operations = [each for each in _OPERATIONS if covers(given, each)]
        if operations:
            rules.append({**rule, "operations": operations})
    return {**constraints, "resourceRules": rules}


def _spec(
    view: View, source: ExportSource, translator: MutationTranslator, reasons: list[Reason]
) -> JSONObject:
    """Return the spec of the policy for a view, and add what cannot be translated."""
    conditions = [*view.conditions]
    if view.template is not None:
        names = {each["name"] for each in conditions}
        conditions[1:1] = settled_conditions(view.template, names)
    return {
        "failurePolicy": source.spec.failure_policy,
        "reinvocationPolicy": source.spec.reinvocation_policy,
        "paramKind": source.raw.get("paramKind"),
        "matchConstraints": view.constraints,
        "matchConditions": conditions,
        "variables": list(view.variables),
        "mutations": translator.translated(view, reasons),
    }


def settled_conditions(template: PodTemplate, taken: set[str]) -> list[JSONObject]:
    """Return the matchConditions that exclude templates that must not change: templates of existing
    Jobs, and of objects that another controller owns.
    """
    found: list[JSONObject] = []
    if "jobs" in template.resources:
        text = "request.kind.kind != 'Job' || request.operation != 'UPDATE'"
        found.append({"name": free_name("not-an-existing-job", taken), "expression": text})
    text = (
        "!object.metadata.?ownerReferences.orValue([])"
        ".exists(owner, owner.?controller.orValue(false) == true)"
    )
    found.append({"name": free_name("not-owned-by-a-controller", taken), "expression": text})
    return found


_TYPE = ("apiVersion", "kind")


def hidden_fields(source: ExportSource) -> Iterator[Reason]:
    """Yield a reason for each expression that may read the apiVersion or kind of params of a
    built-in kind: the API server does not show them to mutations.
    """
    kind = source.spec.param_kind
    if kind is None or (kind.api_version, kind.kind) not in BUILTIN_KINDS:
        return
    for each in expressions_of(source.document.raw):
        if each.path[:2] not in (
            ("spec", "mutations"),
            ("spec", "variables"),
            ("spec", "matchConditions"),
        ):
            continue
        try:
            uses = occurrences(each.text, frozenset({"params"}), source.version)
        except Untranslatable:
            continue
        if any(
            not use.compared and (not use.accesses or use.accesses[0].key in (None, *_TYPE))
            for use in uses
        ):
            text = f"the API server does not show apiVersion and kind of a {kind.kind} to mutations"
            yield Reason(shown_path(each.path), text)
