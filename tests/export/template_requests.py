"""Requests for Pods, and the same Pods in the templates of controllers."""

from collections.abc import Iterator

from policyd.json_types import JSON, JSONObject

_NESTED = ("spec", "template")
# Kind, resource, group, and the path of the template.
CONTROLLERS = (
    ("Deployment", "deployments", "apps", _NESTED),
    ("ReplicationController", "replicationcontrollers", "", _NESTED),
    ("Job", "jobs", "batch", _NESTED),
    ("CronJob", "cronjobs", "batch", ("spec", "jobTemplate", "spec", "template")),
)


def in_controllers(request: JSONObject) -> Iterator[JSONObject]:
    """Yield the request of a Pod as one for each kind of controller that has it as its template;
    nothing for other requests.
    """
    objects = [request.get("object"), request.get("oldObject")]
    if request["kind"]["kind"] != "Pod" or request["operation"] not in ("CREATE", "UPDATE"):
        return
    if request.get("subResource") or not request.get("namespace"):
        return
    for kind, resource, group, path in CONTROLLERS:
        version = {"group": group, "version": "v1"}
        new, old = (controller(each, kind, group, path) for each in objects)
        seen = {"kind": {**version, "kind": kind}, "resource": {**version, "resource": resource}}
        asked = {"requestKind": seen["kind"], "requestResource": seen["resource"]}
        yield {**request, **seen, **asked, "object": new, "oldObject": old}


def controller(pod: JSON, kind: str, group: str, path: tuple[str, ...]) -> JSON:
    """Return a controller with the metadata and spec of a Pod as its template; None for None."""
    if not isinstance(pod, dict):
        return pod
    node: JSONObject = {key: pod[key] for key in ("metadata", "spec") if key in pod}
    if "metadata" in node:
        node["metadata"] = {
            key: each for key, each in node["metadata"].items() if key != "namespace"
        }
    for key in reversed(path):
        node = {key: node}
    head = {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind}
    return {**head, "metadata": {"name": "owner", "namespace": "shop"}, **node}
