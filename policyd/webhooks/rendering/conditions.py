"""The matchConditions of a webhook for restrictions beyond its rules: names, excludes, reviews.

They read only fields of ``request`` that are always set, or test them first, so they never fail.
``policy_conditions.py`` adds conditions of the policies.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from policyd.policy.model.match import OPERATIONS
from policyd.webhooks.needs.targets import (
    ANY,
    GroupResource,
    RequestTarget,
    TargetIndex,
)
from policyd.webhooks.needs.webhook_needs import REVIEW_GROUPS, Shared, WebhookNeed

MOST = 64  # matchConditions of a webhook
Needs = TargetIndex[WebhookNeed]


@dataclass(frozen=True, slots=True)
class CallCondition:
    """One matchCondition. A webhook is called if all are true."""

    name: str
    expression: str


def quoted(values: Iterable[str]) -> str:
    """Return strings as the items of a CEL list."""
    return ", ".join(map(quote, values))


def quote(value: str) -> str:
    """Return a string as CEL; the values of match rules may be any strings."""
    escaped = "".join(
        char if char.isprintable() and char not in "'\\" else f"\\U{ord(char):08x}"
        for char in value
    )
    return f"'{escaped}'"


def about(pairs: Iterable[GroupResource]) -> str:
    """Return an expression that tests whether the client's resource is one of these."""
    by_group: dict[str, list[str]] = {}
    for group, resource in sorted(pairs):
        by_group.setdefault(group, []).append(resource)
    terms = []
    for group, resources in by_group.items():
        which = (
            f"request.resource.resource == {quote(resources[0])}"
            if len(resources) == 1
            else f"request.resource.resource in [{quoted(resources)}]"
        )
        terms.append(f"request.resource.group == {quote(group)} && {which}")
    return " || ".join(terms) if len(terms) == 1 else " || ".join(f"({term})" for term in terms)


def indexed(needs: Iterable[WebhookNeed]) -> Needs:
    """Return the needs by their targets."""
    return Needs((target, need) for need in needs for target in need.targets)


def own_pairs(index: Needs, shared: Shared) -> list[GroupResource]:
    """Return the resources that the needs name and that no other group shares."""
    return [
        (group, resource)
        for group, resource in index.pairs
        if ANY not in (group, resource)
        and not shared.may_be(RequestTarget(ANY, group, ANY, resource))
    ]


def derived(needs: Sequence[WebhookNeed], shared: Shared) -> Iterator[CallCondition]:
    """Yield the conditions that follow from match rules."""
    yield from _reviews(needs)
    yield from _names(needs, shared)
    yield from _excludes(needs, shared)


def _reviews(needs: Sequence[WebhookNeed]) -> Iterator[CallCondition]:
    """Exclude the reviews that policyd itself may send, if a wildcard includes them."""
    wide = any(
        need.meets(RequestTarget("CREATE", group, ANY, ANY))
        for need in needs
        for group in REVIEW_GROUPS
    )
    if wide:
        yield CallCondition(
            "no-access-reviews", f"!(request.resource.group in [{quoted(REVIEW_GROUPS)}])"
        )


def _names(needs: Sequence[WebhookNeed], shared: Shared) -> Iterator[CallCondition]:
    """Restrict a resource to the names that all rules for it have."""
    by_names: dict[tuple[str, ...], list[GroupResource]] = {}
    index = indexed(needs)
    for pair in own_pairs(index, shared):
        found = [target for target, _ in index.about(pair)]
        if all(target.names for target in found):
            names = sorted({name for target in found for name in target.names})
            by_names.setdefault(tuple(names), []).append(pair)
    for number, (allowed, pairs) in enumerate(sorted(by_names.items()), 1):
        named = f"has(request.name) && request.name in [{quoted(allowed)}]"
        yield CallCondition(f"names-{number}", f"!({about(pairs)}) || {named}")


def _excludes(needs: Sequence[WebhookNeed], shared: Shared) -> Iterator[CallCondition]:
    """Exclude the requests that every policy excludes and rules cannot subtract."""
    operations: dict[RequestTarget, set[str]] = {}
    for need in needs:
        for target in need.excludes:
            if target.scope == ANY and not shared.may_be(target) and _excluded(needs, target):
                operations.setdefault(replace(target, operation=ANY), set()).add(target.operation)
    for number, (target, kinds) in enumerate(sorted(operations.items()), 1):
        terms = " && ".join(_terms(target, kinds))
        yield CallCondition(f"excludes-{number}", f"!({terms})")


def _excluded(needs: Sequence[WebhookNeed], target: RequestTarget) -> bool:
    return all(
        not need.meets(target) or any(each.covers(target) for each in need.excludes)
        for need in needs
    )


def _terms(target: RequestTarget, operations: set[str]) -> Iterator[str]:
    """Yield the conditions for a request to belong to the target."""
    if len(operations) < len(OPERATIONS):
        yield f"request.operation in [{quoted(each for each in OPERATIONS if each in operations)}]"
    for field in ("group", "version", "resource"):
        value = getattr(target, field)
        if value != ANY:
            yield f"request.resource.{field} == {quote(value)}"
    if not target.subresource:
        yield "!has(request.subResource)"
    elif target.subresource != ANY:
        yield f"has(request.subResource) && request.subResource == {quote(target.subresource)}"
    if target.names:
        yield f"has(request.name) && request.name in [{quoted(target.names)}]"
