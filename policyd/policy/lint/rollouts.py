"""Advice on rollouts that are over, contradict themselves, never end, or have nothing to hold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from policyd.errors import Problem
from policyd.json_types import FieldPath
from policyd.policy.compile.bindings import PolicyBindings
from policyd.policy.kinds.served import Resources
from policyd.policy.lint.run import LintRun
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import (
    POLICY_KINDS,
    AnyPolicy,
    MutatingAdmissionPolicy,
    Policy,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from policyd.policy.model.match import NamedRuleWithOperations, covers
from policyd.policy.model.rollout import PolicyRollout, Rollout
from policyd.policy.source.loaded_documents import Document

_WHOLE = 100
_NAMESPACES = ("", "namespaces")  # cluster-scoped, and selected by their own labels


def advise_rollouts(run: LintRun) -> Iterator[Problem]:
    """Yield the advice for all rollouts, in file order."""
    bindings = PolicyBindings(run.sources)
    policies = [each for each in run.sources.of_kind(*POLICY_KINDS) if each.model is not None]
    for document in run.sources.documents:
        model = document.model
        path: FieldPath = ("spec",)
        if isinstance(model, Policy) and model.spec.rollout is not None:
            rollout, staged, path = model.spec.rollout, [document], ("spec", "rollout")
        elif isinstance(model, Rollout):
            name = model.spec.policy_name
            rollout, staged = model.spec, [each for each in policies if each.name == name]
        else:
            continue
        effects = [_Effects.of(each, bindings) for each in staged]
        advice = _RolloutAdvice(rollout, path, effects, run.resources)
        for finding in advice.findings(run.today):
            yield document.problem(finding, "advice")


@dataclass(frozen=True, slots=True)
class _Effects:
    """The possible effects of a policy on a request, and the requests that it matches."""

    denies: bool
    mutates: bool
    rules: Sequence[NamedRuleWithOperations]

    @classmethod
    def of(cls, document: Document, bindings: PolicyBindings) -> "_Effects":
        policy = document.model
        rules: Sequence[NamedRuleWithOperations] = ()
        if isinstance(policy, AnyPolicy):
            rules = policy.spec.match_constraints.resource_rules
        if isinstance(policy, Policy):
            spec = policy.spec
            denies = bool(spec.validations) and "Deny" in spec.validation_actions
            return cls(denies, bool(spec.mutations), rules)
        bound = [each.model for each in bindings.of(document)]
        denies = isinstance(policy, ValidatingAdmissionPolicy) and (
            not bound  # another lint rule reports that
            or any(
                isinstance(each, ValidatingAdmissionPolicyBinding)
                and "Deny" in each.spec.validation_actions
                for each in bound
            )
        )
        return cls(denies, isinstance(policy, MutatingAdmissionPolicy), rules)


@dataclass(frozen=True, slots=True)
class _RolloutAdvice:
    """Checks one rollout and the policies that it is of."""

    rollout: PolicyRollout
    path: FieldPath
    effects: Sequence[_Effects]
    known: Resources

    def findings(self, today: date) -> Iterator[FormProblem]:
        """Yield what is wrong; of a rollout that is over, only that."""
        until = self.rollout.until
        if until is not None and until <= datetime.combine(today, time.min, UTC):
            message = (
                f"the rollout is over since {until:%Y-%m-%d}: the policy is enforced everywhere"
            )
            hint = "remove the rollout, or set a later time"
            yield FormProblem((*self.path, "until"), message, hint, rule="expired-rollout")
            return
        yield from self._contradictions()
        yield from self._without_end()
        if self.effects:
            yield from self._without_effect()

    def _contradictions(self) -> Iterator[FormProblem]:
        enforce, at = self.rollout.enforce, (*self.path, "enforce", "percent")
        others = sorted(
            type(enforce).fields[each].alias for each in enforce.fields_given - {"percent"}
        )
        rule = "contradictory-rollout"
        if enforce.percent == 0 and others:
            message = f"with percent 0 the policy is enforced nowhere, whatever {others[0]} says"
            yield FormProblem(at, message, "write enforce: {}, or a higher percent", rule=rule)
        elif enforce.percent == _WHOLE and others:
            yield FormProblem(at, "percent 100 restricts nothing", "remove percent", rule=rule)
        elif enforce.percent == _WHOLE:
            message = "percent 100 enforces the policy everywhere"
            yield FormProblem(at, message, "remove the rollout", rule=rule)
        if enforce.fields_given == {"new_only"} and not enforce.new_only:
            at = (*self.path, "enforce", "newOnly")
            message = "newOnly: false selects nothing: the policy is enforced nowhere"
            hint = "remove the rollout to enforce it everywhere, or write enforce: {}"
            yield FormProblem(at, message, hint, rule=rule)
        selector = enforce.namespace_selector
        if selector is not None and not (selector.match_labels or selector.match_expressions):
            at = (*self.path, "enforce", "namespaceSelector")
            message = "an empty namespaceSelector selects every namespace"
            yield FormProblem(at, message, "name labels, or remove it", rule=rule)

    def _without_end(self) -> Iterator[FormProblem]:
        enforce = self.rollout.enforce
        nowhere = not (enforce.percent or enforce.new_only or enforce.namespace_selector)
        if nowhere and self.rollout.until is None:
            message = "nothing enforces the policy, and there is no time from which it is enforced"
            hint = "set until, so that the shadow is not forgotten"
            yield FormProblem(self.path, message, hint, rule="open-ended-rollout")

    def _without_effect(self) -> Iterator[FormProblem]:
        enforce, rule = self.rollout.enforce, "idle-rollout"
        denies = any(each.denies for each in self.effects)
        if not denies and not any(each.mutates for each in self.effects):
            message = (
                "the policy neither denies nor mutates: a rollout holds nothing but its errors"
            )
            hint = "add Deny to validationActions, or remove the rollout"
            yield FormProblem(self.path, message, hint, rule=rule)
            return
        rules = [each for effect in self.effects for each in effect.rules]
        if enforce.new_only:
            at = (*self.path, "enforce", "newOnly")
            updates = any(covers(each.operations, "UPDATE") for each in rules)
            if not denies or not updates:
                what = "matches no UPDATE" if denies else "denies nothing"
                message = f"newOnly is about denials of UPDATE requests, and the policy {what}"
                yield FormProblem(at, message, "remove it", rule=rule)
        selector = enforce.namespace_selector
        if selector is not None and rules and all(map(self._is_cluster_scoped, rules)):
            message = "the policy matches only cluster-scoped objects, which every selector matches"
            hint = "use percent, or remove the selector"
            at = (*self.path, "enforce", "namespaceSelector")
            yield FormProblem(at, message, hint, rule=rule)

    def _is_cluster_scoped(self, rule: NamedRuleWithOperations) -> bool:
        """Whether no object that the rule matches has a namespace or is one."""
        for group in rule.api_groups:
            for each in rule.resources:
                resource = group, each.partition("/")[0]
                home = self.known.get(resource)
                if resource == _NAMESPACES or home is None or home.namespaced is not False:
                    return False
        return True
