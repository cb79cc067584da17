"""Which requests of a policy a webhook leaves out by its selectors and matchConditions."""

from collections.abc import Iterator

from policyd.webhooks.needs.selectors import ALL, Allowed, LabelSelection, within
from policyd.webhooks.needs.webhook_needs import WebhookNeed
from policyd.webhooks.reach.callers import Caller
from policyd.webhooks.rendering.configurations import NAMESPACE_NAME


def gaps(caller: Caller, need: WebhookNeed, known: frozenset[str]) -> Iterator[str]:
    """Yield what the policy matches and the webhook leaves out.

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


def notes(caller: Caller, need: WebhookNeed) -> Iterator[str]:
    """Yield what works otherwise than the policy says."""
    policy = need.policy
    left = _left_out(need.namespaces.get(NAMESPACE_NAME, ALL), caller.namespaces)
    if left:
        yield f"{caller.name} leaves out {_namespaces(left)}"
    if policy.fail and not caller.fail:
        yield (
            f"{caller.name} admits requests while policyd does not answer: its failurePolicy is "
            "Ignore, that of the policy is Fail"
        )
    if not policy.fail and caller.fail:
        yield (
            f"{caller.name} denies requests while policyd does not answer: its failurePolicy is "
            "Fail, that of the policy is Ignore"
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
