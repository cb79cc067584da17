"""Explains why a webhook's rules or selectors do not match a request. The core matcher decides."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from policyd._core.match.matcher import MatchInput
from policyd._core.match.selectors import Selector
from policyd.json_types import JSONObject
from policyd.policy.model.base import labels_of
from policyd.policy.model.match import covers, covers_resource

_NAMESPACES = ("", "v1", "namespaces")


class _Mismatch(NamedTuple):
    """A part of a rule that does not match. ``last``: all other parts do, and identify the rule."""

    part: str
    text: str


def rules_reasons(hook: JSONObject, view: MatchInput) -> list[str]:
    """Return why no rule matches: the first mismatch of each rule, the nearest rule first."""
    rules = hook.get("rules", [])
    if not rules:
        return ["the webhook has no rules"]
    found = [list(_mismatches(rule, view)) for rule in rules]
    texts = [_rule_text(index, each[0], hook) for index, each in enumerate(found)]
    nearest = min(range(len(rules)), key=lambda index: len(found[index]))
    return [texts.pop(nearest), *texts]


def _rule_text(index: int, mismatch: _Mismatch, hook: JSONObject) -> str:
    exact = mismatch.part == "version" and hook["matchPolicy"] == "Exact"
    return f"rules[{index}] {mismatch.text}" + (", and matchPolicy is Exact" if exact else "")


def resource_text(resource: Sequence[str]) -> str:
    """Return ``deployments.apps`` or ``pods``: a resource without its version."""
    group, _, name = resource
    return f"{name}.{group}" if group else name


def _mismatches(rule: JSONObject, view: MatchInput) -> Iterator[_Mismatch]:
    group, version, resource = view.request_resource
    name = f"{resource}/{view.sub_resource}" if view.sub_resource else resource
    resources, groups = rule.get("resources", []), rule.get("apiGroups", [])
    if not covers_resource(resources, name):
        yield _Mismatch("resource", f"names {_listed(resources)}, not {name}")
    if not covers(groups, group):
        shown = f"the group {group}" if group else "the core group"
        yield _Mismatch("group", f"names the {_groups(groups)}, not {shown}")
    versions = rule.get("apiVersions", [])
    if not covers(versions, version):
        text = f"names {name} in {_listed(versions)}, not in {version}"
        yield _Mismatch("version", text)
    if not covers(rule.get("operations", []), view.operation):
        yield _Mismatch("operation", f"names {name}, but not {view.operation}")
    scope = rule.get("scope", "*")
    in_namespace = bool(view.namespace) and view.request_resource != _NAMESPACES
    if scope != "*" and in_namespace != (scope == "Namespaced"):
        where = "in a namespace" if in_namespace else "cluster-scoped"
        yield _Mismatch("scope", f"names {name} of scope {scope}, and the object is {where}")


def _groups(groups: Sequence[str]) -> str:
    shown = [each or '""' for each in groups]
    return f"{'group' if len(shown) == 1 else 'groups'} {_listed(shown)}"


def _listed(values: Sequence[str]) -> str:
    return ", ".join(values) or "nothing"


def namespace_reason(selector: JSONObject, view: MatchInput, known: bool) -> str:
    """Return the requirement that the labels of the namespace do not meet. ``known``: its labels
    are known, not only its name.
    """
    labels = view.labels_of_namespace()
    name = view.namespace or view.name
    key, text = next(_unmet(selector, labels))
    if key in labels or known:
        shown = _label(f"namespace {name}", key, labels)
    else:
        shown = f"the labels of namespace {name} are not given"
    return f"namespaceSelector: {text} ({shown})"


def object_reason(selector: JSONObject, view: MatchInput) -> str:
    """Return the requirement that neither object nor oldObject meets."""
    # Options of CONNECT have no metadata.
    seen = {
        name: obj
        for name, obj in (("object", view.object), ("oldObject", view.old_object))
        if isinstance(obj, dict) and isinstance(obj.get("metadata"), dict)
    }
    if not seen:
        shown = view.object.get("kind") if isinstance(view.object, dict) else None
        return f"objectSelector: {shown or 'the request'} has no labels"
    name, obj = next(iter(seen.items()))
    labels = labels_of(obj)
    key, text = next(_unmet(selector, labels))
    return f"objectSelector: {text} ({_label(name, key, labels)})"


def _label(where: str, key: str, labels: Mapping[str, str]) -> str:
    return f"{where}: {key}={labels[key]}" if key in labels else f"{where} has no {key}"


def _unmet(selector: JSONObject, labels: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the key and the text of each requirement that labels do not meet."""
    for key, value in selector.get("matchLabels", {}).items():
        if not Selector({"matchLabels": {key: value}}).matches(labels):
            yield key, f"{key}={value}"
    for requirement in selector.get("matchExpressions", []):
        if not Selector({"matchExpressions": [requirement]}).matches(labels):
            key, values = requirement.get("key", ""), requirement.get("values", [])
            listed = f" [{', '.join(values)}]" if values else ""
            yield key, f"{key} {requirement.get('operator', '')}{listed}"
