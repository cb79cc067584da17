"""ClusterPolicies with one rule, converted and evaluated. No tests here."""

from typing import Any

import policyd
from policyd.importers.all import convert
from policyd.importers.model import Imported
from policyd.json_types import JSON, JSONObject
from tests.importers import converting
from tests.importers.converting import converted

CONTAINER = {"name": "app", "image": "nginx:1.27"}


def cluster_policy(
    *rules: JSONObject, name: str = "p", annotations: JSONObject | None = None, **spec: JSON
) -> JSONObject:
    """A ClusterPolicy of Kyverno with these rules."""
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {"validationFailureAction": "Enforce", "rules": list(rules), **spec},
    }


def rule_of(validate: JSONObject, *kinds: str, name: str = "r", **fields: JSON) -> JSONObject:
    """A rule for kinds, Pods by default, with ``validate``."""
    match = {"any": [{"resources": {"kinds": list(kinds or ("Pod",))}}]}
    return {"name": name, "match": match, "validate": validate, **fields}


def pattern(tree: JSON, *kinds: str, **fields: JSON) -> JSONObject:
    """A rule with a pattern."""
    return rule_of({"message": "no", "pattern": tree}, *kinds, **fields)


def condition(key: JSON, operator: str, value: JSON) -> JSONObject:
    """One condition of Kyverno."""
    return {"key": key, "operator": operator, "value": value}


def equals(key: JSON, value: JSON) -> JSONObject:
    """A block of one condition."""
    return {"all": [condition(key, "Equals", value)]}


def matching(match: JSONObject, exclude: JSONObject | None = None, **fields: JSON) -> JSONObject:
    """A rule that denies all that it applies to."""
    found: JSONObject = {"name": "r", "match": match, "validate": {"message": "no", "deny": {}}}
    return {**found, **({"exclude": exclude} if exclude else {}), **fields}


def imported(policy: JSONObject, *others: JSONObject) -> Imported:
    """What a policy became."""
    return converted(convert, policy, *others)


def spec_of(policy: JSONObject, *others: JSONObject) -> JSONObject:
    """The ``spec`` of the only Policy that a policy became."""
    return converting.spec_of(imported(policy, *others))


def reason(policy: JSONObject) -> str:
    """Why a policy was not imported."""
    return converting.reason_of(imported(policy))


def allows(
    policy: JSONObject, obj: JSONObject | None, authorizer: JSON = (), **request: Any
) -> bool:
    """Whether the Policies that a policy became admit a request for an object."""
    documents = [each.raw for each in imported(policy).documents]
    assert documents, imported(policy).reasons
    who = policyd.StaticAuthorizer(authorizer)
    policies = policyd.PolicySet.from_documents(*documents, authorizer=who)
    return policies.evaluate(
        policyd.build_review(obj, defaults=False, **request), "validate"
    ).allowed


def applies(
    match: JSONObject, obj: JSONObject, exclude: JSONObject | None = None, **more: Any
) -> bool:
    """Whether a rule that denies all that it applies to denies an object."""
    return not allows(cluster_policy(matching(match, exclude)), obj, **more)


def resources(kind: str = "Pod", **fields: JSON) -> JSONObject:
    """An entry of ``match`` or ``exclude``."""
    return {"resources": {"kinds": [kind], **fields}}


def pod_of(name: str = "web", *, labels: JSONObject | None = None, **spec: JSON) -> JSONObject:
    """A Pod with one container, in the namespace default."""
    metadata: JSONObject = {"name": name, "namespace": "default"}
    if labels:
        metadata["labels"] = labels
    containers = {"containers": [CONTAINER]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**containers, **spec}}


def workload(kind: str = "Deployment", **spec: JSON) -> JSONObject:
    """A controller with the spec of a Pod in its template."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [CONTAINER], **spec}}
    inner: JSONObject = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    if kind == "CronJob":
        inner = {"schedule": "@daily", "jobTemplate": {"spec": {"template": template}}}
    return {
        "apiVersion": "batch/v1" if kind in ("Job", "CronJob") else "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "default"},
        "spec": inner,
    }


def thing(kind: str, api_version: str = "v1", **fields: JSON) -> JSONObject:
    """An object of any kind."""
    metadata: JSONObject = {"name": "it", **(fields.pop("metadata", {}))}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
