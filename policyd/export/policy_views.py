"""Views: the policies that one Policy becomes in the API server. One sees the objects that its
rules match; with ``podControllers``, one more sees each place of pod templates.

A view has everything that validations and mutations have in common: name, matchConstraints,
matchConditions, variables, and how to rewrite an expression.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from policyd.export.controllers import (
    TEMPLATES,
    PodTemplate,
    has_template,
    matched_directly,
    pod_labels,
    selector_condition,
    template_constraints,
    with_pod,
)
from policyd.export.exceptions import LABELS, ExportedExceptions, exported_exceptions
from policyd.export.expressions.occurrences import Untranslatable
from policyd.export.expressions.rewriting import InlineParams, free_name
from policyd.export.metadata import metadata, source_hash
from policyd.export.model import Reason
from policyd.export.order import order_remarks
from policyd.export.served import api_version
from policyd.json_types import JSON, JSONObject
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.model.kinds import Policy, PolicySpec
from policyd.policy.source.loaded_documents import Document
from policyd.versions import KubernetesVersion


@dataclass(frozen=True, slots=True)
class View:
    """One policy of an export. ``template`` is None in that for the source's own rules.

    ``conditions`` and ``variables`` are complete; ``constraints`` are ``matchConstraints``.
    """

    name: str
    template: PodTemplate | None
    constraints: JSONObject
    exceptions: ExportedExceptions
    params: InlineParams | None
    version: KubernetesVersion
    conditions: tuple[JSONObject, ...] = ()
    variables: tuple[JSONObject, ...] = ()

    def expression(self, text: str) -> str:
        """Return an expression of the source, of any role but matchConditions, as this policy
        needs it. Raises Untranslatable.
        """
        text = self._of_pod(text)
        return text if self.params is None else self.params.with_variable(text)

    def condition(self, text: str) -> str:
        """Return an expression of the source's matchConditions; see ``expression``."""
        text = self._of_pod(text)
        return text if self.params is None else self.params.without_variables(text)

    def _of_pod(self, text: str) -> str:
        if self.template is None:
            return text
        return with_pod(text, self.template, self.version)


@dataclass(frozen=True, slots=True)
class Views:
    """The views of a policy, or the reasons why there are none. ``remarks`` hold for both
    webhooks.
    """

    views: tuple[View, ...]
    reasons: tuple[Reason, ...]
    remarks: tuple[Reason, ...]


def views_of(
    document: Document, policy: Policy, version: KubernetesVersion, now: datetime
) -> Views:
    """Return the views of a Policy. Fields of the source that no view can express are reasons."""
    spec, raw = policy.spec, plain_spec(document, policy)
    reasons: list[Reason] = []
    if "timeoutSeconds" in raw:
        text = "a policy in the API server has no timeout of its own"
        reasons.append(Reason("spec.timeoutSeconds", text))
    if spec.reads:
        reasons.append(Reason("spec.reads", "a policy in the API server reads no other objects"))
    reasons += _rules(spec, raw)
    views: list[View] = []
    for view in _bare(policy, raw, version, now):
        for each in view.exceptions.reasons:
            if each not in reasons:
                reasons.append(each)
        completed, untranslatable = _completed(view, spec, raw)
        views.append(completed)
        reasons += (each for each in untranslatable if each not in reasons)
    if any(view.exceptions.whole for view in views):
        reasons += _before_params(spec)
    remarks = [*_remarks(views), *order_remarks(document.raw, spec.params or {}, version)]
    return Views(tuple(views), tuple(reasons), tuple(remarks))


def with_bindings(
    kind: str,
    specs: Iterable[tuple[View, JSONObject]],
    bound: JSONObject,
    document: Document,
    version: KubernetesVersion,
) -> tuple[JSONObject, ...]:
    """Return the policies of a kind with these specs, each with its binding, which says ``bound``;
    both without what is empty.
    """
    digest = source_hash([document.raw], version)
    return tuple(
        {
            "apiVersion": api_version(kind, version),
            "kind": each,
            "metadata": metadata(document.raw, view.name, document.name, digest),
            "spec": {key: value for key, value in said.items() if value},
        }
        for view, spec in specs
        for each, said in ((kind, spec), (f"{kind}Binding", {"policyName": view.name, **bound}))
    )


def attempt(reasons: list[Reason], path: str, rewrite: Callable[[str], str], text: str) -> str:
    """Return the rewritten expression at a path of the source; if it cannot be rewritten, add the
    reason and return it as it is.
    """
    try:
        return rewrite(text)
    except Untranslatable as error:
        reasons.append(Reason(path, f"cannot be rewritten: {error}"))
        return text


def plain_spec(document: Document, policy: Policy) -> JSONObject:
    """Return the spec as it is written, without fields that are null. matchConstraints and paramRef
    have the defaults that the API server would write into their lists.
    """
    spec: JSONObject = _without_nulls(document.raw["spec"])
    spec["matchConstraints"] = _compact(policy.spec.match_constraints.plain())
    ref = policy.spec.param_ref
    if ref is not None:
        spec["paramRef"] = _compact(ref.plain())
        if ref.selector is not None:  # an empty one selects everything
            spec["paramRef"].setdefault("selector", {})
    return spec


# In these, null is a value.
_DATA = ("params", "pattern", "anyPattern", "overlay")


def _without_nulls(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {
            key: each if key in _DATA else _without_nulls(each)
            for key, each in value.items()
            if each is not None
        }
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def _compact(value: JSON) -> JSON:
    """Return the JSON of a model without empty fields; an empty string in a list is a value, and so
    is one of a label.
    """
    if isinstance(value, list):
        return [_compact(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: each if key == "matchLabels" else _compact(each) for key, each in value.items()}
    return {key: each for key, each in kept.items() if each not in ("", [], {})}


def _bare(
    policy: Policy, raw: JSONObject, version: KubernetesVersion, now: datetime
) -> Iterator[View]:
    """Yield the views without conditions and variables."""
    spec, constraints = policy.spec, raw["matchConstraints"]
    params = None
    if spec.params is not None:
        names = [variable.name for variable in spec.variables]
        params = InlineParams.of(spec.params, names, version)
    own = View(
        policy.metadata.name,
        None,
        constraints,
        exported_exceptions(spec.exceptions, now, LABELS),
        params,
        version,
    )
    yield own
    for template in TEMPLATES if spec.pod_controllers else ():
        found = template_constraints(constraints, template)
        if found is not None:
            yield replace(
                own,
                name=f"{own.name}{template.suffix}",
                template=template,
                constraints=found,
                exceptions=exported_exceptions(spec.exceptions, now, pod_labels(template)),
            )


def _completed(view: View, spec: PolicySpec, raw: JSONObject) -> tuple[View, list[Reason]]:
    """Return a view with its conditions and variables, and what cannot be rewritten."""
    reasons: list[Reason] = []
    given = raw.get("matchConditions") or []
    taken = {condition["name"] for condition in given}
    conditions: list[JSONObject] = []
    if view.template is not None:
        text = has_template(view.template)
        conditions.append({"name": free_name("pod-template", taken), "expression": text})
        selector = spec.match_constraints.object_selector
        if selector.match_labels or selector.match_expressions:
            text = selector_condition(selector, view.template)
            conditions.append({"name": free_name("object-selector", taken), "expression": text})
    taken |= {condition["name"] for condition in conditions}
    conditions += view.exceptions.conditions(taken)
    for index, condition in enumerate(given):
        path = f"spec.matchConditions[{index}].expression"
        text = attempt(reasons, path, view.condition, condition["expression"])
        conditions.append({**condition, "expression": text})
    variables = [] if view.params is None else [view.params.definition]
    for index, variable in enumerate(raw.get("variables") or []):
        path = f"spec.variables[{index}].expression"
        text = attempt(reasons, path, view.expression, variable["expression"])
        variables.append({**variable, "expression": text})
    return replace(view, conditions=tuple(conditions), variables=tuple(variables)), reasons


def _rules(spec: PolicySpec, raw: JSONObject) -> Iterator[Reason]:
    if not spec.pod_controllers:
        return
    direct = matched_directly(raw["matchConstraints"])
    if direct:
        text = (
            f"its own rules also match {', '.join(direct)}, which podControllers evaluates as "
            "Pods: the API server would evaluate both policies"
        )
        yield Reason("spec.matchConstraints.resourceRules", text)


def _before_params(spec: PolicySpec) -> Iterable[Reason]:
    """An exempted request needs no params here; the API server looks them up first, and denies the
    request if there are none.
    """
    kind, ref = spec.param_kind, spec.param_ref
    if kind is None or ref is None:
        return ()
    found_or_skipped = (
        ref.parameter_not_found_action == "Allow"
        and ref.namespace
        and BUILTIN_KINDS.get((kind.api_version, kind.kind))
    )
    text = (
        "the API server denies a request without params before it evaluates the exceptions as "
        "matchConditions"
    )
    return () if found_or_skipped else (Reason("spec.exceptions", text),)


def _remarks(views: list[View]) -> Iterator[Reason]:
    if any(view.exceptions for view in views):
        yield Reason("spec.exceptions", "exempted requests get no audit annotation")
    if len(views) > 1:
        names = ", ".join(view.name for view in views[1:])
        text = f"denials and audit annotations for pod controllers name {names}"
        yield Reason("spec.podControllers", text)
