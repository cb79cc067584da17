"""Views: the policies that one Policy becomes in the API server. One sees the objects that its
rules match; with ``podControllers``, one more sees each place of pod templates.

A view has everything that validations and mutations have in common: name, matchConstraints,
matchConditions, variables, and how to rewrite an expression.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

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
from policyd.export.model import ExportedPart, Reason
from policyd.export.order import order_remarks
from policyd.export.served import KINDS, api_version
from policyd.json_types import JSON, JSONObject
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.model.kinds import Policy, PolicySpec
from policyd.policy.model.suite import Webhook
from policyd.policy.source.loaded_documents import Document
from policyd.versions import KubernetesVersion


@dataclass(frozen=True)
class ExportSource:
    """A Policy that is exported for a Kubernetes version, as it is at a time."""

    document: Document
    policy: Policy
    version: KubernetesVersion
    now: datetime

    @property
    def spec(self) -> PolicySpec:
        """Return the model of the spec."""
        return self.policy.spec

    @cached_property
    def raw(self) -> JSONObject:
        """Return the spec as it is written, without fields that are null. matchConstraints and
        paramRef have the defaults that the API server would write into their lists.
        """
        spec: JSONObject = _without_nulls(self.document.raw["spec"])
        spec["matchConstraints"] = _compact(self.spec.match_constraints.plain())
        ref = self.spec.param_ref
        if ref is not None:
            spec["paramRef"] = _compact(ref.plain())
            if ref.selector is not None:  # an empty one selects everything
                spec["paramRef"].setdefault("selector", {})
        return spec


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


def views_of(source: ExportSource, reasons: list[Reason]) -> list[View]:
    """Return the views of a Policy; fields of the source that no view can express are added to
    ``reasons``.
    """
    spec, raw = source.spec, source.raw
    if "timeoutSeconds" in raw:
        text = "a policy in the API server has no timeout of its own"
        reasons.append(Reason("spec.timeoutSeconds", text))
    if spec.reads:
        reasons.append(Reason("spec.reads", "a policy in the API server reads no other objects"))
    direct = matched_directly(raw["matchConstraints"]) if spec.pod_controllers else ()
    if direct:
        text = (
            f"its own rules also match {', '.join(direct)}, which podControllers evaluates as "
            "Pods: the API server would evaluate both policies"
        )
        reasons.append(Reason("spec.matchConstraints.resourceRules", text))
    views = [_completed(view, source, reasons) for view in _bare(source)]
    if any(view.exceptions.whole for view in views) and _needs_params(spec):
        text = (
            "the API server denies a request without params before it evaluates the exceptions as "
            "matchConditions"
        )
        reasons.append(Reason("spec.exceptions", text))
    return views


def bound_part(
    webhook: Webhook,
    specs: Sequence[tuple[View, JSONObject]],
    bound: JSONObject,
    source: ExportSource,
    remarks: Sequence[Reason],
) -> ExportedPart:
    """Return the policies for a webhook with these specs, each with its binding, which says
    ``bound``; both without what is empty.
    """
    kind, document = KINDS[webhook], source.document
    digest = source_hash([document.raw], source.version)
    documents = tuple(
        {
            "apiVersion": api_version(kind, source.version),
            "kind": each,
            "metadata": metadata(document.raw, view.name, document.name, digest),
            "spec": {key: value for key, value in said.items() if value},
        }
        for view, spec in specs
        for each, said in ((kind, spec), (f"{kind}Binding", {"policyName": view.name, **bound}))
    )
    return ExportedPart(webhook, documents, remarks=tuple(remarks))


def attempt(reasons: list[Reason], path: str, rewrite: Callable[[str], str], text: str) -> str:
    """Return the rewritten expression at a path of the source; if it cannot be rewritten, add the
    reason and return it as it is.
    """
    try:
        return rewrite(text)
    except Untranslatable as error:
        reasons.append(Reason(path, f"cannot be rewritten: {error}"))
        return text


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


def _bare(source: ExportSource) -> Iterator[View]:
    """Yield the views without conditions and variables."""
    spec, constraints, now = source.spec, source.raw["matchConstraints"], source.now
    params = None
    if spec.params is not None:
        name = free_name("params", (each.name for each in spec.variables))
        params = InlineParams(spec.params, name, source.version)
    exceptions = exported_exceptions(spec.exceptions, now, LABELS)
    own = View(source.policy.metadata.name, None, constraints, exceptions, params, source.version)
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


def _completed(view: View, source: ExportSource, reasons: list[Reason]) -> View:
    """Return a view with its conditions and variables."""
    reasons += view.exceptions.reasons
    given = source.raw.get("matchConditions") or []
    taken = {condition["name"] for condition in given}
    conditions: list[JSONObject] = []
    if view.template is not None:
        text = has_template(view.template)
        conditions.append({"name": free_name("pod-template", taken), "expression": text})
        selector = source.spec.match_constraints.object_selector
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
    for index, variable in enumerate(source.raw.get("variables") or []):
        path = f"spec.variables[{index}].expression"
        text = attempt(reasons, path, view.expression, variable["expression"])
        variables.append({**variable, "expression": text})
    return replace(view, conditions=tuple(conditions), variables=tuple(variables))


def _needs_params(spec: PolicySpec) -> bool:
    """Whether the API server, which looks up params first, may deny a request without any. An
    exempted request needs none here.
    """
    kind, ref = spec.param_kind, spec.param_ref
    if kind is None or ref is None:
        return False
    known = BUILTIN_KINDS.get((kind.api_version, kind.kind))
    return not (ref.parameter_not_found_action == "Allow" and ref.namespace and known)


def remarks_on(source: ExportSource, views: Sequence[View]) -> Iterator[Reason]:
    """Yield the remarks that hold for both webhooks."""
    if any(view.exceptions for view in views):
        yield Reason("spec.exceptions", "exempted requests get no audit annotation")
    if len(views) > 1:
        names = ", ".join(view.name for view in views[1:])
        text = f"denials and audit annotations for pod controllers name {names}"
        yield Reason("spec.podControllers", text)
    yield from order_remarks(source.document.raw, source.spec.params or {}, source.version)
