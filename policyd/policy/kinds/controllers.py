"""``podControllers``: convert pod templates to Pods, and write changes back. Evaluates nothing."""

from collections.abc import Iterable

from policyd.json_types import JSON, JSONObject, object_in
from policyd.policy.model.match import covers, matches_pods

# Plural resource -> API group of the kinds that make Pods from a template.
CONTROLLERS = {
    "deployments": "apps",
    "statefulsets": "apps",
    "daemonsets": "apps",
    "replicasets": "apps",
    "replicationcontrollers": "",
    "jobs": "batch",
    "cronjobs": "batch",
}
_TEMPLATE_PATHS = {
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
_DEFAULT_PATH = ("spec", "template")
_OPERATIONS = ("CREATE", "UPDATE")


def controller_constraints(constraints: JSONObject) -> JSONObject:
    """Derive the matchConstraints for pod controllers from those for Pods; without resourceRules
    if none is about Pods.

    An exclude rule with resourceNames excludes single Pods; the Pods of a controller have other
    names, so nothing is derived from it.
    """
    rules = controller_rules(constraints.get("resourceRules") or [])
    excludes = controller_rules(
        rule
        for rule in constraints.get("excludeResourceRules") or []
        if not rule.get("resourceNames")
    )
    return {**constraints, "resourceRules": rules, "excludeResourceRules": excludes}


def controller_rules(rules: Iterable[JSONObject]) -> list[JSONObject]:
    """Derive the match rules for pod controllers from those that match Pods.

    The same operations without DELETE and CONNECT, no resourceNames, no subresources.
    """
    derived: list[JSONObject] = []
    for rule in rules:
        given = (rule.get("operations") or ()) if matches_pods(rule) else ()
        operations: list[JSON] = [each for each in _OPERATIONS if covers(given, each)]
        for group in ("apps", "", "batch") if operations else ():
            resources: list[JSON] = [name for name, owner in CONTROLLERS.items() if owner == group]
            derived.append(
                {
                    "apiGroups": [group],
                    "apiVersions": ["*"],
                    "operations": operations,
                    "resources": resources,
                    "scope": rule.get("scope") or "*",
                }
            )
    return derived


def template_is_settled(operation: str, obj: JSON) -> bool:
    """Whether the template must not be mutated, only its Pods.

    The template of a created Job is immutable. An object owned by another controller has the
    owner's template: a Deployment that finds a ReplicaSet with a different template creates another
    one, without end.
    """
    if not isinstance(obj, dict):
        return False
    if obj.get("kind") == "Job" and operation == "UPDATE":
        return True
    owners = object_in(obj, "metadata").get("ownerReferences")
    if not isinstance(owners, list):
        return False
    return any(isinstance(owner, dict) and owner.get("controller") is True for owner in owners)


def template_path(obj: JSON) -> tuple[str, ...]:
    """Return the path of the pod template of a controller, as keys from the root."""
    kind = obj.get("kind") if isinstance(obj, dict) else None
    return _TEMPLATE_PATHS.get(kind, _DEFAULT_PATH) if isinstance(kind, str) else _DEFAULT_PATH


def pod_of(obj: JSON, namespace: str) -> JSONObject | None:
    """Return the Pod of a controller's template, or None if there is no template."""
    *above, last = template_path(obj)
    template = object_in(obj, *above).get(last)
    if not isinstance(template, dict):
        return None
    pod: JSONObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**object_in(template, "metadata"), "namespace": namespace},
    }
    if "spec" in template:
        pod["spec"] = template["spec"]
    return pod


def with_pod(obj: JSONObject, before: JSONObject, after: JSONObject) -> JSONObject:
    """Return ``obj`` with the changes of the Pod in its template; unchanged parts stay the same
    objects.
    """
    keys = template_path(obj)
    template = object_in(obj, *keys[:-1]).get(keys[-1])
    if not isinstance(template, dict):
        return obj
    changed = dict(template)
    metadata = after.get("metadata")
    if metadata is not before.get("metadata"):
        own = dict(object_in(metadata))
        own.pop("namespace", None)
        changed["metadata"] = own
    if "spec" in after:
        changed["spec"] = after["spec"]
    return _replaced(obj, keys, changed)


def _replaced(node: JSONObject, keys: tuple[str, ...], value: JSONObject) -> JSONObject:
    key, *rest = keys
    child = node.get(key)
    copy = dict(node)
    copy[key] = _replaced(child, tuple(rest), value) if rest and isinstance(child, dict) else value
    return copy
