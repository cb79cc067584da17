"""Check a whole configuration, when it is created and when it replaces another.

Follows kubernetes ``pkg/apis/admissionregistration/validation`` of 1.36 and 1.37; the texts, their
order and the mistakes are those of the API server.
"""

from collections.abc import Iterator

from policyd.json_types import JSONObject
from policyd.versions import NEWEST, KubernetesVersion
from policyd.webhooks.changes import DECLARATIVE_METADATA, REVIEWS_EXCLUDED, STATIC_NAMES
from policyd.webhooks.validation.decoding import decode
from policyd.webhooks.validation.defaults import defaulted
from policyd.webhooks.validation.field_problems import FieldProblem, duplicate, invalid
from policyd.webhooks.validation.hooks import (
    NO_SIDE_EFFECTS,
    Checks,
    check_webhook,
    knows_review,
)
from policyd.webhooks.validation.metadata import check_metadata, distinct_owners
from policyd.webhooks.validation.rule_checks import check_selector

# Names of configurations that a file of the API server may have, and no others.
STATIC_SUFFIX = ".static.k8s.io"
# Resources that policies never see and, since 1.37, webhooks neither.
EXCLUDED = frozenset(
    {
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    }
)


def problems(
    configuration: JSONObject, *, version: KubernetesVersion = NEWEST
) -> list[FieldProblem]:
    """Return the problems for which the API server refuses to create a configuration.

    Raises ConfigError for an object that is no webhook configuration.
    """
    decoded = decode(configuration)
    if decoded.problem is not None:
        return [decoded.problem]
    return _checked(defaulted(decoded.configuration), Checks(version), created=True)


def problems_of_update(
    configuration: JSONObject, stored: JSONObject, *, version: KubernetesVersion = NEWEST
) -> list[FieldProblem]:
    """Return the problems for which the API server refuses to replace a stored configuration.

    What was invalid in it, because an older API server accepted it, may stay.
    """
    decoded = decode(configuration)
    if decoded.problem is not None:
        return [decoded.problem]
    new, old = decoded.configuration, decode(stored).configuration
    hooks = old.get("webhooks", [])
    names = [hook.get("name", "") for hook in hooks]
    reviewed = [hook for hook in hooks if hook.get("admissionReviewVersions")]
    checks = Checks(
        version,
        conditions=_conditions(new) != _conditions(old),
        no_side_effects=all(hook.get("sideEffects") in NO_SIDE_EFFECTS for hook in hooks),
        known_reviews=all(map(knows_review, reviewed)),
        unique_names=len(names) == len(set(names)),
        label_values=not any(
            list(check_selector(hook.get(field, {}), field))
            for hook in hooks
            for field in ("namespaceSelector", "objectSelector")
        ),
    )
    return _checked(defaulted(new), checks, created=False)


def warnings(configuration: JSONObject, *, version: KubernetesVersion = NEWEST) -> list[str]:
    """Return the warnings of the API server for a configuration without problems."""
    found = defaulted(decode(configuration).configuration)
    listed = []
    meta = found.get("metadata", {})
    _, duplicates = distinct_owners(meta)
    if duplicates:
        listed.append(f"{_DUPLICATE_OWNERS}: {', '.join(duplicates)}")
    name = meta.get("name", "")
    if not version.has(STATIC_NAMES) and name.endswith(STATIC_SUFFIX):
        listed.append(f"metadata.name: {_STATIC_NAME}")
    if version.has(REVIEWS_EXCLUDED):
        for number, hook in enumerate(found.get("webhooks", [])):
            for index, rule in enumerate(hook.get("rules", [])):
                listed += [
                    f"webhooks[{number}].rules[{index}]: {resource}.{group} is excluded from "
                    "admission webhooks; this rule will have no effect"
                    for group, resource in _excluded(rule)
                ]
    return listed


_DUPLICATE_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in "
    "1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate "
    "UID(s) observed"
)
_STATIC_NAME = (
    f'names ending with "{STATIC_SUFFIX}" are reserved for static manifest-based configurations '
    "and cannot be managed via the API"
)


def _conditions(configuration: JSONObject) -> list[list[JSONObject]]:
    return [hook.get("matchConditions", []) for hook in configuration.get("webhooks", [])]


def _checked(configuration: JSONObject, checks: Checks, *, created: bool) -> list[FieldProblem]:
    found = list(_check(configuration, checks, created=created))
    return list(dict.fromkeys(found)) if checks.version.has(DECLARATIVE_METADATA) else found


def _check(configuration: JSONObject, checks: Checks, *, created: bool) -> Iterator[FieldProblem]:
    meta = configuration.get("metadata", {})
    yield from check_metadata(meta, checks.version)
    names: set[str] = set()
    for index, hook in enumerate(configuration.get("webhooks", [])):
        path = f"webhooks[{index}]"
        yield from check_webhook(hook, path, checks)
        name = hook.get("name", "")
        if name and name in names and checks.unique_names:
            yield duplicate(f"{path}.name", name)
        names.add(name)
    name = meta.get("name", "")
    if created and name.endswith(STATIC_SUFFIX) and checks.version.has(STATIC_NAMES):
        yield from invalid("metadata.name", name, [_STATIC_NAME])


def _excluded(rule: JSONObject) -> list[tuple[str, str]]:
    """Return the excluded resources that a rule names, without its wildcards."""
    groups, resources = rule.get("apiGroups", []), rule.get("resources", [])
    if "*" in groups or "*" in resources:
        return []
    named = [(group, resource) for group in groups for resource in resources]
    return [each for each in dict.fromkeys(named) if each in EXCLUDED]
