"""Needs: the requests that a policy must see at a webhook, one need for each binding and set of
match rules (its own, and podControllers'). Works on compiled policies; renders nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from policyd._core.match.equivalents import Equivalents
from policyd._core.match.matcher import MatchRules
from policyd.policy.compile.compiled import Binding, CompiledPolicy
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook
from policyd.webhooks.changes import NEVER_SENT
from policyd.webhooks.needs.selectors import LabelSelection, both, selection
from policyd.webhooks.needs.targets import (
    ANY,
    EVERYTHING,
    RequestTarget,
    minus,
    targets_of,
    without_scopes,
)

# No policy matches the resources of these groups: reviews of users, such as policyd's own.
REVIEW_GROUPS = ("authentication.k8s.io", "authorization.k8s.io")
# A patch of these changes nothing.
_UNCHANGED = ("DELETE", "CONNECT")


@dataclass(frozen=True, slots=True)
class Shared:
    """The resources that are the same in several API groups, and these groups."""

    resources: frozenset[str]
    groups: frozenset[str]

    @classmethod
    def of(cls, equivalents: Equivalents) -> "Shared":
        """Return the shared resources in a table of equivalent ones."""
        found = [
            family.resources
            for family in equivalents.families.values()
            if len({group for group, _, _ in family.resources}) > 1
        ]
        return cls(
            frozenset(resource for each in found for _, _, resource in each),
            frozenset(group for each in found for group, _, _ in each),
        )

    def may_be(self, target: RequestTarget) -> bool:
        """Whether a request of the target may be for another group."""
        return (target.resource == ANY or target.resource in self.resources) and (
            target.group == ANY or target.group in self.groups
        )


@dataclass(frozen=True, slots=True)
class WebhookNeed:
    """The requests that one policy must see at one webhook.

    ``targets`` may include more than it matches: ``excludes`` are not subtracted if rules cannot
    express it. ``namespaces`` is the selection of its namespaceSelectors; ``objects`` includes that
    of its objectSelectors, which for a ``template`` (of podControllers) applies to the template's
    labels. ``exact``: the policy matches every request of the targets.
    """

    policy: CompiledPolicy
    webhook: Webhook
    targets: tuple[RequestTarget, ...]
    equivalent: bool
    excludes: tuple[RequestTarget, ...] = ()
    namespaces: LabelSelection = field(default_factory=dict)
    objects: LabelSelection = field(default_factory=dict)
    template: bool = False
    binding: str = ""
    exact: bool = False

    @property
    def conditions(self) -> tuple[str, ...]:
        """Return the expressions of the policy's matchConditions."""
        policy = self.policy
        plan = policy.validation if self.webhook == "validate" else policy.mutation
        return () if plan is None else tuple(each.text for each in plan.conditions)

    def meets(self, target: RequestTarget) -> bool:
        """Whether a request of ``target`` may belong to this need, in any version."""
        return any(each.meet(target, versions=False) is not None for each in self.targets)


def webhooks_of(policy: CompiledPolicy) -> tuple[Webhook, ...]:
    """Return the webhooks at which a policy acts."""
    found: list[Webhook] = []
    if policy.mutation is not None or "mutate" in policy.broken_at:
        found.append("mutate")
    if policy.validation is not None or "validate" in policy.broken_at:
        found.append("validate")
    return tuple(found)


def needs_of(policies: CompiledPolicySet) -> list[WebhookNeed]:
    """Return the needs of all policies, in the order of the policies."""
    shared = Shared.of(policies.equivalents)
    return [
        need
        for policy in policies.policies
        for webhook in webhooks_of(policy)
        for need in policy_needs(policy, webhook, shared)
    ]


def policy_needs(policy: CompiledPolicy, webhook: Webhook, shared: Shared) -> Iterator[WebhookNeed]:
    """Yield the needs of a policy; none without a binding, or if no request can match."""
    # A broken policy has no bindings; requests that it matches follow its failurePolicy.
    bindings = policy.bindings or ((Binding(),) if policy.problem else ())
    given = [(policy.rules, False)]
    if policy.controllers is not None:
        given.append((policy.controllers, True))
    for binding in bindings:
        for rules, template in given:
            need = _need(policy, webhook, binding, rules, shared)
            if need.targets:
                # The labels of a template are not the object's.
                yield replace(need, template=True, objects={}) if template else need


def _need(
    policy: CompiledPolicy, webhook: Webhook, binding: Binding, rules: MatchRules, shared: Shared
) -> WebhookNeed:
    limits = [rules] if binding.rules is None else [rules, binding.rules]
    targets: Iterable[RequestTarget] = _targets(rules)
    if binding.rules is not None:
        targets = _bound(targets, rules.equivalent, binding.rules, shared)
    found = [target for target in without_scopes(targets) if _sent(target, webhook)]
    excludes: list[RequestTarget] = []
    for limit in limits:
        for excluded in without_scopes(targets_of(limit.written["excludeResourceRules"])):
            excludes.append(excluded)
            found = [
                left
                for target in found
                for left in _without(target, excluded, rules.equivalent, limit.equivalent)
            ]
    found = list(without_scopes(found))  # there may be nothing left but a scope
    written = [limit.written for limit in limits]
    namespaces: LabelSelection = {}
    for each in written:
        namespaces = both(namespaces, selection(each["namespaceSelector"]))
    excludes = [each for each in excludes if any(each.meet(target) for target in found)]
    return WebhookNeed(
        policy,
        webhook,
        tuple(dict.fromkeys(found)),
        rules.equivalent,
        tuple(excludes),
        namespaces,
        # An update may match one selector by its new labels and the other by its old ones.
        next(filter(None, (selection(each["objectSelector"]) for each in written)), {}),
        binding=binding.name,
        exact=policy.invoked_once
        and not rules.selects
        and not excludes
        and not any(target.names for target in found),
    )


def _targets(rules: MatchRules) -> tuple[RequestTarget, ...]:
    return tuple(targets_of(rules.written["resourceRules"])) if rules.rules else EVERYTHING


def _sent(target: RequestTarget, webhook: Webhook) -> bool:
    """Whether a webhook may receive such requests and act on them."""
    if webhook == "mutate" and target.operation in _UNCHANGED:
        return False
    return (target.group, target.resource) not in NEVER_SENT and target.group not in REVIEW_GROUPS


def _bound(
    targets: Iterable[RequestTarget], equivalent: bool, binding: MatchRules, shared: Shared
) -> Iterator[RequestTarget]:
    """Yield the targets of a policy that its binding also matches.

    The API server converts to the version in the webhook's rule, so the policy's version stays,
    unless both match exactly.
    """
    others = _targets(binding)
    for target in targets:
        for other in others:
            loose = equivalent or binding.equivalent
            if loose and shared.may_be(target) and shared.may_be(other):
                met = replace(target, group=ANY).meet(replace(other, group=ANY), versions=False)
                met = met and replace(met, group=target.group)
            else:
                versions = not loose or (not binding.equivalent and target.version == ANY)
                met = target.meet(other, versions=versions)
            if met is not None:
                yield met


def _without(
    target: RequestTarget, excluded: RequestTarget, equivalent: bool, excludes_equivalents: bool
) -> list[RequestTarget]:
    """Subtract an exclude rule if that subtracts nothing else, not even converted requests."""
    any_version = excluded.version == ANY
    same_version = any_version or excluded.version == target.version
    if not equivalent:
        fits = same_version
    elif excludes_equivalents:
        fits = same_version and (any_version or excluded.group != ANY)
    else:
        fits = any_version and excluded.group == ANY
    return minus(target, excluded) if fits else [target]
