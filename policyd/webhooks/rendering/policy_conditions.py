"""The matchConditions of policies that a webhook can evaluate, so that it is called less often.

For each resource the webhook is called if the conditions of one of its policies are true. Errors
keep their meaning: ``||`` and ``&&`` hide the error of one operand only if the other operand
decides, as policyd does for each policy. If nothing decides, the API server denies the request
(failurePolicy Fail) or does not call the webhook (Ignore); with Fail a condition that can fail is
therefore passed up only if its policy would deny for the same error.
"""

from collections.abc import Iterator, Sequence

from policyd.webhooks.needs.targets import ANY, GroupResource, RequestTarget
from policyd.webhooks.needs.webhook_needs import Shared, WebhookNeed
from policyd.webhooks.rendering.conditions import CallCondition, about, indexed, own_pairs
from policyd.webhooks.rendering.safety import facts

# A webhook's condition has no params, reads, variables or namespaceObject.
_ONLY_POLICIES_SEE = frozenset({"namespaceObject", "params", "reads", "variables"})
_OBJECTS = frozenset({"object", "oldObject"})  # with podControllers these are not the request's
_MOST = 8  # alternatives in one condition: more would cost the API server more than a call
_ALL: GroupResource = (ANY, ANY)
_Alternatives = tuple[tuple[str, ...], ...]  # one of them must hold, with all of its expressions


def passed(needs: Sequence[WebhookNeed], shared: Shared) -> Iterator[CallCondition]:
    """Yield the policies' conditions that the webhook of these needs can evaluate."""
    costly = [text for need in needs for text in need.conditions if facts(text).costly]
    barred = frozenset(costly) - frozenset(costly[:1])  # the conditions share one cost budget
    same_matching = len({need.equivalent for need in needs}) == 1
    index = indexed(needs)
    pairs = own_pairs(index, shared)
    found: dict[_Alternatives, list[GroupResource]] = {}
    everywhere = len(pairs) == len(index.pairs)
    if not everywhere and (common := _alternatives(needs, _ALL, barred, same_matching)):
        found, everywhere, pairs = {common: []}, True, []
    for pair in pairs:
        touched = list({id(need): need for _, need in index.about(pair)}.values())
        if alternatives := _alternatives(touched, pair, barred, same_matching):
            found.setdefault(alternatives, []).append(pair)
    texts: list[str] = []
    for alternatives, agreed in found.items():
        if not everywhere or len(agreed) < len(pairs):
            texts.append(f"!({about(agreed)}) || {_either(alternatives)}")
        elif len(alternatives) == 1:
            texts += alternatives[0]
        else:
            texts.append(_either(alternatives))
    for number, text in enumerate(texts, 1):
        yield CallCondition(f"condition-{number}", text)


def _either(alternatives: _Alternatives) -> str:
    return " || ".join(
        f"({each[0]})" if len(each) == 1 else "(" + " && ".join(f"({text})" for text in each) + ")"
        for each in alternatives
    )


def _alternatives(
    touched: Sequence[WebhookNeed], pair: GroupResource, barred: frozenset[str], same_matching: bool
) -> _Alternatives:
    """Return the combined conditions of the touched policies; empty if there are none."""
    if not _same_versions(touched, pair):
        return ()
    found: dict[tuple[str, ...], None] = {}
    for need in touched:
        texts = tuple(text for text in need.conditions if _passable(need, text, barred))
        if need.policy.fail and not all(facts(text).safe for text in texts):
            denied = same_matching and _denies(need) and _sees_all(need, touched, pair)
            if not denied or len(texts) < len(need.conditions):
                texts = tuple(text for text in texts if facts(text).safe)
        if not texts:
            return ()
        found[texts] = None
    if len(found) > _MOST:
        return ()
    return tuple(each for each in found if not any(set(other) < set(each) for other in found))


def _passable(need: WebhookNeed, text: str, barred: frozenset[str]) -> bool:
    """Whether the webhook's condition is true or false whenever the policy's is."""
    policy, names = need.policy, facts(text).names
    return (
        text not in barred
        and not policy.problem
        and policy.param_kind is None  # a paramKind that is missing denies before conditions
        and not names & _ONLY_POLICIES_SEE
        and not (need.template and names & _OBJECTS)
    )


def _same_versions(needs: Sequence[WebhookNeed], pair: GroupResource) -> bool:
    """Whether all see the object of a request in the same version."""
    about_it = RequestTarget(ANY, pair[0], ANY, pair[1], ANY)
    found = {
        frozenset(each.version for each in need.targets if about_it.meet(each)) for need in needs
    }
    return len(found) == 1


def _sees_all(need: WebhookNeed, touched: Sequence[WebhookNeed], pair: GroupResource) -> bool:
    """Whether the policy matches every request that the rules of these policies match."""
    about_it = RequestTarget(ANY, pair[0], ANY, pair[1], ANY)
    return need.exact and all(
        any(mine.covers(each) for mine in need.targets)
        for other in touched
        for each in other.targets
        if about_it.meet(each)
    )


def _denies(need: WebhookNeed) -> bool:
    """Whether a failure of a condition denies the request."""
    return need.webhook == "mutate" or all("Deny" in each.actions for each in need.policy.bindings)
