"""Finds the webhooks and rules that reach each policy, and the gaps.

for found in reach(policies, configurations):
    print(found.policy, found.state, *found.gaps)
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from policyd._core.match.equivalents import Equivalents
from policyd._core.match.labels import NAMESPACE_NAME
from policyd.json_types import JSONObject
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook
from policyd.webhooks.needs.selectors import ALL, Allowed, LabelSelection, within
from policyd.webhooks.needs.targets import ANY, RequestTarget, in_only_version
from policyd.webhooks.needs.webhook_needs import Shared, WebhookNeed, policy_needs, webhooks_of
from policyd.webhooks.reach.callers import Caller, callers_of
from policyd.webhooks.reach.reach_result import Reached, ReachedBy
from policyd.webhooks.rendering.conditions import derived
from policyd.webhooks.rendering.merged_rules import rules_of
from policyd.webhooks.rendering.policy_conditions import passed

_Group = tuple[Webhook, bool]  # and whether the policies fail closed


def reach(policies: CompiledPolicySet, configurations: Iterable[JSONObject]) -> list[Reached]:
    """Return the result for each policy, in the order of the policies.

    ``configurations`` are webhook configurations of any product; only webhooks with one of
    policyd's paths matter.
    """
    callers = list(callers_of(configurations))
    shared = Shared.of(policies.equivalents)
    needs = {
        policy.sort_key: [
            need
            for webhook in webhooks_of(policy)
            for need in policy_needs(policy, webhook, shared)
        ]
        for policy in policies.policies
    }
    known = _known([need for found in needs.values() for need in found], shared)
    search = _Search(callers, known, policies.equivalents)
    return [search.run(policy, needs[policy.sort_key]) for policy in policies.policies]


def _known(needs: Iterable[WebhookNeed], shared: Shared) -> dict[_Group, frozenset[str]]:
    """Return the conditions that render() gives the webhook of each group."""
    groups: dict[_Group, list[WebhookNeed]] = {}
    for need in needs:
        groups.setdefault((need.webhook, need.policy.fail), []).append(need)
    return {
        key: frozenset(each.expression for each in (*derived(own, shared), *passed(own, shared)))
        for key, own in groups.items()
    }


class _Findings:
    """The findings about one policy, without repetitions."""

    def __init__(self, policy: CompiledPolicy) -> None:
        self.policy = policy
        self.by: dict[ReachedBy, None] = {}
        self.gaps: dict[str, None] = {}
        self.notes: dict[str, None] = {}
        # Targets without a webhook that evaluates the policy, and targets with another path.
        self.missing: dict[Webhook, list[RequestTarget]] = {}
        self.elsewhere: dict[Caller, list[RequestTarget]] = {}

    def reached(self) -> Reached:
        """Return the findings in words."""
        for caller, targets in self.elsewhere.items():
            self.gaps[
                f"{caller.name} has a rule for {described(targets)}, but its path {caller.path} "
                f"does not evaluate the policy"
            ] = None
        for webhook, targets in self.missing.items():
            configuration = "mutating" if webhook == "mutate" else "validating"
            self.gaps[f"no {configuration} webhook has a rule for {described(targets)}"] = None
        return Reached(
            self.policy.name,
            self.policy.kind,
            tuple(sorted(self.by)),
            tuple(self.gaps),
            tuple(self.notes),
        )


@dataclass(frozen=True, slots=True)
class _Search:
    """The start of the search for the callers of a policy."""

    callers: Sequence[Caller]
    known: dict[_Group, frozenset[str]]
    equivalents: Equivalents

    def run(self, policy: CompiledPolicy, needs: Sequence[WebhookNeed]) -> Reached:
        """Find the webhooks that reach a policy."""
        found = _Findings(policy)
        if not needs and not policy.bindings and not policy.problem:
            found.gaps["it has no binding"] = None
        elif not needs:
            found.gaps["the API server sends no request that it matches to webhooks"] = None
        for need in needs:
            for target in need.targets:
                self._look(need, in_only_version(target), found)
        return found.reached()

    def _look(self, need: WebhookNeed, target: RequestTarget, found: _Findings) -> None:
        """Add how the requests of a target reach the policy: by the rule with the fewest gaps."""
        best: tuple[list[str], Caller, int] | None = None
        others: list[Caller] = []
        known = self.known[need.webhook, need.policy.fail]
        for caller in self.callers:
            if caller.webhook != need.webhook:
                continue
            for rule in _covering(caller, target, need.equivalent):
                if not caller.evaluates(need.policy):
                    others.append(caller)
                    continue
                gaps = [
                    *_selection_gaps(caller, need, known),
                    *_version_gaps(caller, rule, target, need, self.equivalents),
                ]
                if best is None or len(gaps) < len(best[0]):
                    best = (gaps, caller, rule)
        if best is not None:
            gaps, caller, rule = best
            found.by[ReachedBy(caller.kind, caller.configuration, caller.name, rule)] = None
            found.gaps.update(dict.fromkeys(gaps))
            found.notes.update(dict.fromkeys(_notes(caller, need)))
        elif others:
            found.elsewhere.setdefault(others[0], []).append(target)
        else:
            found.missing.setdefault(need.webhook, []).append(target)


def _covering(caller: Caller, target: RequestTarget, equivalent: bool) -> Iterator[int]:
    """Yield the rules that send every request of the target, those with conversion last."""
    rules = list(caller.rules.about((target.group, target.resource)))
    yield from (rule for each, rule in rules if each.covers(target))
    if equivalent and caller.equivalent:
        yield from (
            rule
            for each, rule in rules
            if each.covers(target, versions=False) and not each.covers(target)
        )


def _version_gaps(
    caller: Caller, rule: int, target: RequestTarget, need: WebhookNeed, equivalents: Equivalents
) -> Iterator[str]:
    """Yield the gaps that differing versions of policy and rule cause."""
    family = equivalents.families.get((target.group, target.resource))
    covering = [
        each
        for each, number in caller.rules.about((target.group, target.resource))
        if number == rule and each.covers(target, versions=False)
    ]
    if not any(each.covers(target) for each in covering):
        if family is None or not family.convertible:
            sent = ", ".join(sorted({each.version for each in covering}))
            read = "every version" if target.version == ANY else target.version
            yield (
                f"{caller.name} sends {target.path} in version {sent}, and the policy names {read}"
            )
        return
    closed = family is None and (target.group in equivalents.closed_groups)
    if need.equivalent and not caller.equivalent and target.version != ANY and not closed:
        yield f"{caller.name} leaves out other versions of {target.path}: its matchPolicy is Exact"


def described(targets: Iterable[RequestTarget]) -> str:
    """Return targets in words: ``CREATE, UPDATE of pods, services``."""
    return "; ".join(_rule_text(rule) for rule in rules_of(targets))


def _rule_text(rule: JSONObject) -> str:
    groups = [group for group in rule["apiGroups"] if group]
    resources = ", ".join(rule["resources"])
    operations = "every operation" if rule["operations"] == [ANY] else ", ".join(rule["operations"])
    if groups:
        every = groups == [ANY]
        resources += " of every API group" if every else f" of {', '.join(groups)}"
    scope = "" if rule["scope"] == ANY else f" ({rule['scope']})"
    return f"{operations} of {resources}{scope}"


def _selection_gaps(caller: Caller, need: WebhookNeed, known: frozenset[str]) -> Iterator[str]:
    """Yield the requests that the policy matches and the webhook leaves out.

    ``known`` are conditions that are true for all requests that policies of this webhook match.
    """
    for key, allowed in caller.namespaces.items():
        wanted = need.namespaces.get(key, ALL)
        if key == NAMESPACE_NAME:
            yield from _namespace_gaps(caller, wanted, allowed)
        elif not wanted <= allowed:
            yield f"{caller.name} leaves out namespaces whose label {_outside(key, allowed)}"
    if not within(need.objects, caller.objects):
        for key, allowed in caller.objects.items():
            if not need.objects.get(key, ALL) <= allowed:
                yield f"{caller.name} leaves out objects whose label {_outside(key, allowed)}"
    for name, expression in caller.conditions:
        own = expression in need.conditions and not need.template
        if not own and expression not in known:
            yield f"{caller.name} leaves out requests for which its matchCondition {name} is false"


def _notes(caller: Caller, need: WebhookNeed) -> Iterator[str]:
    """Yield differences between the webhook and the policy."""
    policy = need.policy
    left = _left_out(need.namespaces.get(NAMESPACE_NAME, ALL), caller.namespaces)
    if left:
        yield f"{caller.name} leaves out {_namespaces(left)}"
    if policy.fail and not caller.fail:
        yield (
            f"{caller.name} admits requests while policyd does not answer: its failurePolicy is "
            "Ignore, the policy's is Fail"
        )
    if not policy.fail and caller.fail:
        yield (
            f"{caller.name} denies requests while policyd does not answer: its failurePolicy is "
            "Fail, the policy's is Ignore"
        )
    if policy.timeout_ns > caller.timeout * 1e9:
        yield (
            f"{caller.name} waits {caller.timeout} s, less than the timeoutSeconds of the policy, "
            f"{policy.timeout_ns / 1e9:g}"
        )
    if need.webhook == "mutate" and policy.reinvoke and not caller.reinvoked:
        yield f"{caller.name} is not called again when a later webhook changes the object"


def _namespace_gaps(caller: Caller, wanted: Allowed, allowed: Allowed) -> Iterator[str]:
    if wanted <= allowed:
        return
    if allowed.nothing and not wanted.others:
        named = sorted(wanted.values)
        yield f"{caller.name} leaves out {_namespaces(named)}, which the policy selects"
    elif allowed.nothing:
        yield f"{caller.name} leaves out every namespace"
    elif not allowed.others:
        yield f"{caller.name} calls policyd only for {_namespaces(sorted(allowed.values))}"
    elif not wanted.others and (named := sorted(wanted.values & allowed.values)):
        yield f"{caller.name} leaves out {_namespaces(named)}, which the policy selects"


def _left_out(wanted: Allowed, selected: LabelSelection) -> list[str]:
    allowed = selected.get(NAMESPACE_NAME, ALL)
    if not allowed.others or not wanted.others:
        return []  # gaps
    return sorted(allowed.values - wanted.values)


def _namespaces(names: list[str]) -> str:
    word = "namespace" if len(names) == 1 else "namespaces"
    return f"the {word} {', '.join(names)}"


def _outside(key: str, allowed: Allowed) -> str:
    """Return the values of a label that are not allowed, in words."""
    values = ", ".join(sorted(allowed.values))
    if not allowed.others:
        return f"{key} is not {'one of ' if len(allowed.values) > 1 else ''}{values}"
    if allowed.values:
        return f"{key} is {values}" + ("" if allowed.absent else " or missing")
    return f"{key} is missing"
