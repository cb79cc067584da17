"""Advice on valid documents: what is most likely not what the author intended.

Advice never stops a policy from loading. It depends on ``today`` and the documents only.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date

from policyd._core.match.equivalents import BUILT_IN_GROUPS
from policyd._core.match.labels import NAMESPACE_NAME
from policyd._core.pattern.strings import Wildcard
from policyd.json_types import FieldPath
from policyd.near_names import did_you_mean, nearest_or_listed
from policyd.policy.compile.exemptions import validations_of
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.kinds.plural import plural
from policyd.policy.lint.run import LintRun
from policyd.policy.model.exceptions import (
    ExceptedPolicy,
    ExceptedResource,
    Exception_,
    PolicyException,
)
from policyd.policy.model.expressions import VARIABLE, PolicyExpression
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import (
    POLICY_KINDS,
    AnyBinding,
    MutatingAdmissionPolicy,
    Policy,
    ValidatingAdmissionPolicy,
    match_of,
)
from policyd.policy.source.loaded_documents import Document

SOON = 30  # days before the end of an exception in which lint warns
_HIDING_NAMES = ("object", "variables", "_")
_FOREIGN = {
    "kyverno.io": "a Kyverno policy",
    "policies.kyverno.io": "a Kyverno policy",
    "constraints.gatekeeper.sh": "a Gatekeeper constraint",
    "mutations.gatekeeper.sh": "a Gatekeeper mutation",
    "templates.gatekeeper.sh": "a Gatekeeper template",
}
_FOREIGN_HINT = "convert it with policyd import, or rewrite it as a policyd.dev/v1 Policy"


def advise(run: LintRun, document: Document) -> Iterator[FormProblem]:
    """Yield the advice about a document."""
    policy, kind = document.model, (document.api_version, document.kind)
    if document.group in _FOREIGN and kind not in run.kinds_beside:
        what = _FOREIGN[document.group]
        message = f"policyd does not evaluate {what}: it can only be used as params"
        yield FormProblem(("kind",), message, _FOREIGN_HINT, rule="foreign-policy")
    if isinstance(policy, PolicyException):
        yield from _policy_exception(policy, run)
    if (linted := run.policy(document)) is not None:
        yield from _variables(linted.expressions)
    if isinstance(policy, Policy):
        for index, exception in enumerate(policy.spec.exceptions):
            yield from _exception(exception, ("spec", "exceptions", index), run.today)
        if policy.spec.param_kind is not None and policy.spec.param_ref is None:
            message = "the policy has paramKind, but no paramRef"
            yield _without_param_ref(("spec", "paramKind"), message)
    yield from _selectors(document, run.namespace_labels)
    yield from run.bindings.missing(document)
    if isinstance(policy, AnyBinding):
        yield from _dangling_binding(document.kind.removesuffix("Binding"), policy, run)


def _variables(expressions: Sequence[PolicyExpression]) -> Iterator[FormProblem]:
    seen: set[str] = set()
    for number, variable in enumerate(expressions):
        if variable.role is not VARIABLE:
            continue
        path, name = (*variable.path[:-1], "name"), variable.name
        if name in seen:
            message = f"variable {name!r} is defined twice: its value depends on the place of use"
            yield FormProblem(path, message, "rename one of them", rule="duplicate-variable")
        elif name in _HIDING_NAMES:
            message = f"the variable name {name!r} is misleading"
            yield FormProblem(path, message, "choose another name", rule="variable-name")
        seen.add(name)
        use = re.compile(rf"\bvariables\s*+(?:\.\s*+(?:\?\s*+)?{re.escape(name)}\b|\[)")
        if not any(use.search(each.text) for each in expressions[number + 1 :]):
            yield FormProblem(path, f"variable {name!r} is never used", rule="unused-variable")


def _exception(exception: Exception_, path: FieldPath, today: date) -> Iterator[FormProblem]:
    yield from _expiry(exception.name, exception.until, (*path, "until"), today)
    if not exception.fields_given - {"name", "reason", "until", "validations"}:
        yield FormProblem(
            path,
            f"exception {exception.name!r} exempts every request",
            "restrict it by namespaces, names, users, groups, operations or labels",
            rule="broad-exception",
        )


def _policy_exception(exception: PolicyException, run: LintRun) -> Iterator[FormProblem]:
    spec, name = exception.spec, exception.metadata.name
    policies = run.policy_documents
    for index, entry in enumerate(spec.policies if policies else ()):
        yield from _dangling(entry, policies, ("spec", "policies", index))
    yield from _expiry(name, spec.until, ("spec", "until"), run.today)
    yield from _kinds(exception)
    if spec.subjects is None and (spec.resources is None or any(map(_is_all, spec.resources))):
        yield FormProblem(
            ("spec",),
            f"exception {name!r} exempts every request",
            "restrict it by resources or subjects",
            rule="broad-exception",
        )


def _kinds(exception: PolicyException) -> Iterator[FormProblem]:
    """Report plurals and kinds in lower case, which no object has as its kind."""
    kinds = {kind for _, kind in BUILTIN_KINDS}
    known = {name: kind for kind in kinds for name in (kind.lower(), plural(kind))}
    for index, resource in enumerate(exception.spec.resources or ()):
        for number, entry in enumerate(resource.kinds or ()):
            group, slash, name = entry.rpartition("/")
            built_in = not slash or group == "core" or group in BUILT_IN_GROUPS
            if built_in and name in known and name not in kinds:
                yield FormProblem(
                    ("spec", "resources", index, "kinds", number),
                    f"no object is of the kind {name!r}: it exempts nothing",
                    f"write {group}{slash}{known[name]}",
                    rule="dangling-exception",
                )


def _is_all(resource: ExceptedResource) -> bool:
    """Whether an entry of resources is about everything."""
    fields = (resource.kinds, resource.namespaces, resource.names, resource.operations)
    return resource.object_selector is None and all(not each or "*" in each for each in fields)


def _expiry(name: str, until: date | None, path: FieldPath, today: date) -> Iterator[FormProblem]:
    if until is None:
        return
    days = (until - today).days
    if days < 0:
        yield FormProblem(
            path,
            f"exception {name!r} expired on {until}: it no longer applies",
            "remove it, or set a later date",
            rule="expired-exception",
        )
    elif days <= SOON:
        when = "today" if days == 0 else f"in {days} day{'s' if days > 1 else ''}"
        message = f"exception {name!r} expires {when}, on {until} at 24:00 UTC"
        yield FormProblem(path, message, rule="expiring-exception")


def _dangling(
    entry: ExceptedPolicy, policies: Sequence[Document], path: FieldPath
) -> Iterator[FormProblem]:
    named = Wildcard(entry.name).matches
    found = [each for each in policies if named(each.name)]  # there are some: others say nothing
    if not found:
        yield FormProblem(
            (*path, "name"),
            f"no policy has the name {entry.name!r}: it exempts nothing from it",
            did_you_mean(entry.name, (each.name for each in policies))
            or "correct the name, or check the policies together with their exceptions",
            rule="dangling-exception",
        )
        return
    if any(each.model is None for each in found):
        return
    known = {name for each in found for name in validations_of(each.model)}
    for number, validation in enumerate(entry.validations or ()):
        if validation not in known:
            what = f"index {validation}" if isinstance(validation, int) else f"name {validation!r}"
            names = sorted(each for each in known if isinstance(each, str))
            last = max((each for each in known if isinstance(each, int)), default=0)
            indexes = f"the indexes are 0 to {last}" if last else "the only index is 0"
            yield FormProblem(
                (*path, "validations", number),
                f"no policy that {entry.name!r} names has a validation with the {what}",
                did_you_mean(str(validation), names)
                or f"{indexes}; named validations: {', '.join(names) or 'none'}",
                rule="dangling-exception",
            )


def _selectors(document: Document, known: set[str]) -> Iterator[FormProblem]:
    """Report namespaceSelectors with labels that no loaded Namespace has."""
    field, match = match_of(document.model)
    if match is None:
        return
    selector = match.namespace_selector
    keys = {*selector.match_labels, *(each.key for each in selector.match_expressions)}
    unknown = sorted(keys - known - {NAMESPACE_NAME})
    if unknown:
        yield FormProblem(
            ("spec", field, "namespaceSelector"),
            f"no known Namespace has these labels: {', '.join(unknown)}",
            "add the Namespace objects to the policy files, or connect policyd to the cluster",
            rule="unknown-namespace-labels",
        )


def _bound_instead(kind: str, name: str, run: LintRun) -> str:
    """Return the remedy for the binding of a policy that does not exist."""
    same = next((each for each in POLICY_KINDS if (each, name) in run.by_name), "")
    if same == "Policy":
        return "remove it: a Policy has no binding; its match rules and actions are its own"
    if same:
        return f"write kind: {same}Binding"
    return nearest_or_listed(
        name, (each.name for each in run.policy_documents if each.kind == kind)
    )


def _dangling_binding(kind: str, binding: AnyBinding, run: LintRun) -> Iterator[FormProblem]:
    """Report the binding of a missing policy: the API server accepts it, but it has no effect."""
    name = binding.spec.policy_name
    found = run.by_name.get((kind, name))
    policy = None if found is None else found.model
    if isinstance(policy, ValidatingAdmissionPolicy | MutatingAdmissionPolicy):
        if policy.spec.param_kind is not None and binding.spec.param_ref is None:
            message = f"{kind} {name!r} has paramKind, but the binding has no paramRef"
            yield _without_param_ref(("spec",), message)
    elif found is None:
        yield FormProblem(
            ("spec", "policyName"),
            f"{kind} {name!r} does not exist: the binding has no effect",
            _bound_instead(kind, name, run),
            rule="dangling-binding",
        )


def _without_param_ref(path: FieldPath, message: str) -> FormProblem:
    return FormProblem(
        path,
        f"{message}: params is null",
        "add paramRef: {name: NAME, namespace: NAMESPACE, parameterNotFoundAction: Deny}",
        rule="missing-param-ref",
    )
