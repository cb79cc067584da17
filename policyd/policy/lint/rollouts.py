"""Advice on rollouts that are over, contradict themselves, never end, or have nothing to hold."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, time

from policyd.json_types import FieldPath
from policyd.policy.kinds.served import Resources
from policyd.policy.lint.run import LintedPolicy, LintRun
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import (
    Policy,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from policyd.policy.model.match import NamedRuleWithOperations, covers
from policyd.policy.model.rollout import Enforce, Rollout
from policyd.policy.source.loaded_documents import Document

_WHOLE = 100
_NAMESPACES = ("", "namespaces")  # cluster-scoped, and selected by their own labels


def advise_rollouts(run: LintRun, document: Document) -> Iterator[FormProblem]:
    """Yield what is wrong with a rollout; of one that is over, only that."""
    model = document.model
    path: FieldPath = ("spec",)
    policies: Iterable[LintedPolicy | None] = [run.policy(document)]
    if isinstance(model, Policy) and model.spec.rollout is not None:
        rollout, path = model.spec.rollout, ("spec", "rollout")
    elif isinstance(model, Rollout):
        rollout = model.spec
        policies = (each for each in run.policies if each.document.name == rollout.policy_name)
    else:
        return
    if rollout.until is not None and rollout.until <= datetime.combine(run.today, time.min, UTC):
        message = (
            f"the rollout is over since {rollout.until:%Y-%m-%d}: the policy is enforced everywhere"
        )
        hint = "remove the rollout, or set a later time"
        yield FormProblem((*path, "until"), message, hint, rule="expired-rollout")
        return
    yield from _contradictions(rollout.enforce, (*path, "enforce"))
    enforce = rollout.enforce
    nowhere = not (enforce.percent or enforce.new_only or enforce.namespace_selector)
    if nowhere and rollout.until is None:
        message = "nothing enforces the policy, and there is no time from which it is enforced"
        hint = "set until, so that the shadow is not forgotten"
        yield FormProblem(path, message, hint, rule="open-ended-rollout")
    staged = [each for each in policies if each is not None]
    if staged:
        yield from _without_effect(enforce, path, staged)


def _contradictions(enforce: Enforce, path: FieldPath) -> Iterator[FormProblem]:
    others = sorted(type(enforce).fields[each].alias for each in enforce.fields_given - {"percent"})
    at, rule = (*path, "percent"), "contradictory-rollout"
    if enforce.percent == 0 and others:
        message = f"with percent 0 the policy is enforced nowhere, whatever {others[0]} says"
        yield FormProblem(at, message, "write enforce: {}, or a higher percent", rule=rule)
    elif enforce.percent == _WHOLE and others:
        yield FormProblem(at, "percent 100 restricts nothing", "remove percent", rule=rule)
    elif enforce.percent == _WHOLE:
        message = "percent 100 enforces the policy everywhere"
        yield FormProblem(at, message, "remove the rollout", rule=rule)
    if enforce.fields_given == {"new_only"} and not enforce.new_only:
        message = "newOnly: false selects nothing: the policy is enforced nowhere"
        hint = "remove the rollout to enforce it everywhere, or write enforce: {}"
        yield FormProblem((*path, "newOnly"), message, hint, rule=rule)
    selector = enforce.namespace_selector
    if selector is not None and not (selector.match_labels or selector.match_expressions):
        message = "an empty namespaceSelector selects every namespace"
        yield FormProblem(
            (*path, "namespaceSelector"), message, "name labels, or remove it", rule=rule
        )


def _without_effect(
    enforce: Enforce, path: FieldPath, staged: Sequence[LintedPolicy]
) -> Iterator[FormProblem]:
    rule, denies = "idle-rollout", any(map(_denies, staged))
    if not denies and not any(each.mutations for each in staged):
        message = "the policy neither denies nor mutates: a rollout holds nothing but its errors"
        hint = "add Deny to validationActions, or remove the rollout"
        yield FormProblem(path, message, hint, rule=rule)
        return
    rules = [rule for policy in staged for rule in policy.rules]
    updates = any(covers(each.operations, "UPDATE") for each in rules)
    if enforce.new_only and not (denies and updates):
        what = "matches no UPDATE" if denies else "denies nothing"
        message = f"newOnly is about denials of UPDATE requests, and the policy {what}"
        yield FormProblem((*path, "enforce", "newOnly"), message, "remove it", rule=rule)
    known = staged[0].run.resources
    unscoped = bool(rules) and all(_is_cluster_scoped(each, known) for each in rules)
    if enforce.namespace_selector is not None and unscoped:
        message = "the policy matches only cluster-scoped objects, which every selector matches"
        hint = "use percent, or remove the selector"
        yield FormProblem((*path, "enforce", "namespaceSelector"), message, hint, rule=rule)


def _denies(policy: LintedPolicy) -> bool:
    """Whether a policy may deny a request; one without a binding may: another rule reports it."""
    if policy.own is not None:
        return bool(policy.validations) and "Deny" in policy.own.validation_actions
    bound = [each.model for each in policy.run.bindings.of(policy.document)]
    return isinstance(policy.model, ValidatingAdmissionPolicy) and (
        not bound
        or any(
            isinstance(each, ValidatingAdmissionPolicyBinding)
            and "Deny" in each.spec.validation_actions
            for each in bound
        )
    )


def _is_cluster_scoped(rule: NamedRuleWithOperations, known: Resources) -> bool:
    """Whether no object that a rule matches has a namespace or is one."""
    for group in rule.api_groups:
        for each in rule.resources:
            resource = group, each.partition("/")[0]
            home = known.get(resource)
            if resource == _NAMESPACES or home is None or home.namespaced is not False:
                return False
    return True
