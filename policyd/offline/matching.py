"""Explain why the match rules of a policy or binding match a request or not. Evaluates nothing.

The core's matcher checks each part by rules with only that part, so the explanation cannot differ
from the decision.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from policyd._core.match.matcher import Hit, MatchInput, MatchRules
from policyd._core.match.selectors import Selector
from policyd.json_types import JSONObject
from policyd.policy.model.base import labels_of

_ANYTHING: JSONObject = {
    "apiGroups": ["*"],
    "apiVersions": ["*"],
    "operations": ["*"],
    "resources": ["*/*"],
    "scope": "*",
    "resourceNames": [],
}
# The order matters: whether a version matches may depend on the group and the resource.
_PARTS = ("operations", "apiGroups", "resources", "apiVersions", "scope", "resourceNames")


@dataclass(frozen=True, slots=True)
class MatchReason:
    """Why something applies or not. ``place`` is the deciding field (``resourceRules[0]``,
    ``namespaceSelector``); ``more`` has further lines.
    """

    applies: bool
    text: str
    place: str = ""
    more: tuple[str, ...] = ()


def why(constraints: JSONObject, view: MatchInput) -> MatchReason:
    """Return why these MatchResources (plain JSON) match the request or not."""
    if view.never_matched:
        group, _, resource = view.request_resource
        named = f"{resource}.{group}" if group else resource
        return MatchReason(False, f"Kubernetes exempts {named} from admission policies")
    rules = constraints.get("resourceRules") or []
    policy = constraints.get("matchPolicy") or "Equivalent"
    ruled = _ruled(rules, policy, view)
    if not ruled.applies:
        return ruled
    for index, rule in enumerate(constraints.get("excludeResourceRules") or []):
        if MatchRules([rule], match_policy=policy).match(view) is not None:
            place = f"excludeResourceRules[{index}]"
            return MatchReason(False, f"{place} excludes the request", place, (shown_rule(rule),))
    return _selected(constraints, view) or ruled


def _ruled(rules: list[JSONObject], policy: str, view: MatchInput) -> MatchReason:
    """Return the rule that matches, or the mismatch of each rule."""
    if not rules:
        return MatchReason(True, "no resourceRules: every resource matches")
    for way in ("Exact", "Equivalent"):
        for index, rule in enumerate(rules):
            hit = MatchRules([rule], match_policy=way).match(view)
            if hit is not None and policy in (way, "Equivalent"):
                place = f"resourceRules[{index}]"
                return MatchReason(True, f"{place} matches{_as_other(hit, view)}", place)
    missing = [list(_missing(rule, policy, view)) for rule in rules]
    nearest = min(range(len(rules)), key=lambda index: len(missing[index]))
    place = f"resourceRules[{nearest}]"
    others = [
        f"resourceRules[{index}]: {'; '.join(parts)}"
        for index, parts in enumerate(missing)
        if index != nearest
    ]
    return MatchReason(False, f"{place}: {'; '.join(missing[nearest])}", place, tuple(others))


def _as_other(hit: Hit, view: MatchInput) -> str:
    """Describe what the policy sees when its rule names an equivalent resource."""
    if hit.resource == view.request_resource:
        return ""
    group, version, resource = hit.resource
    named = f"{resource}.{version}.{group}" if group else f"{resource}.{version}"
    problem = hit.mismatch or hit.error
    trouble = f", but {problem}" if problem else ""
    return f" by matchPolicy Equivalent, as {named}{trouble}"


def _missing(rule: JSONObject, policy: str, view: MatchInput) -> Iterator[str]:
    """Yield the parts of a rule that the request does not match."""
    group, version, resource = view.request_resource
    if view.sub_resource:
        resource = f"{resource}/{view.sub_resource}"
    has = {
        "operations": view.operation,
        "apiGroups": f'"{group}"',
        "apiVersions": version,
        "resources": resource,
        "scope": "Namespaced" if view.namespace else "Cluster",
        "resourceNames": view.name or "without a name",
    }
    asked, failed = dict(_ANYTHING), False
    for part in _PARTS:
        wanted = rule.get(part)
        if wanted in (None, []) and part in ("scope", "resourceNames"):
            continue
        probe = {**asked, part: wanted}
        if MatchRules([probe], match_policy=policy).match(view) is None:
            failed = True
            yield f"{part} {_listed(wanted)}, the request is {has[part]}"
        else:
            asked = probe
    if not failed:
        yield "the rule does not name the resource of the request"


def _selected(constraints: JSONObject, view: MatchInput) -> MatchReason | None:
    """Return the selector that rejects the request; None if both match."""
    for place in ("namespaceSelector", "objectSelector"):
        selector = constraints.get(place)
        if not selector:
            continue
        only = {place: selector}
        hit = MatchRules(
            namespace_selector=only.get("namespaceSelector"),
            object_selector=only.get("objectSelector"),
        ).match(view)
        if hit is not None and hit.error:
            return MatchReason(True, f"{place} is invalid: {hit.error}", place)
        if hit is None:
            seen = tuple(_seen(place, selector, view))
            return MatchReason(False, f"{place} does not match", place, seen)
    return None


def _seen(place: str, selector: JSONObject, view: MatchInput) -> Iterator[str]:
    """Yield the labels that a selector checked, and the requirements that they fail."""
    if place == "namespaceSelector":
        labels = view.labels_of_namespace()
        yield f"labels of namespace {view.namespace or view.name!r}: {_labels_text(labels)}"
        yield from _unmet(selector, labels)
        return
    for name, obj in (("object", view.object), ("oldObject", view.old_object)):
        if obj is None:
            yield f"the request has no {name}"
            continue
        labels = labels_of(obj)
        yield f"labels of {name}: {_labels_text(labels)}"
        yield from _unmet(selector, labels)


def _unmet(selector: JSONObject, labels: dict[str, str]) -> Iterator[str]:
    for key, value in (selector.get("matchLabels") or {}).items():
        if not Selector({"matchLabels": {key: value}}).matches(labels):
            yield f"  not {key}={value}"
    for expression in selector.get("matchExpressions") or []:
        if not Selector({"matchExpressions": [expression]}).matches(labels):
            values = expression.get("values")
            listed = f" ({', '.join(values)})" if values else ""
            yield f"  not {expression.get('key')} {expression.get('operator')}{listed}"


def _labels_text(labels: dict[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items())) or "none"


def shown_rule(rule: JSONObject) -> str:
    """Format a rule on one line."""
    given = [part for part in _PARTS if rule.get(part) not in (None, [], "*")]
    return ", ".join(f"{part} {_listed(rule[part])}" for part in given)


def _listed(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(f'"{each}"' if each == "" else str(each) for each in value) + "]"
    return str(value)
