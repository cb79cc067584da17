"""Defaults of Pods, of Pod templates and of their volumes."""

from collections.abc import Iterator
from typing import Any

from policyd.defaulting.rules.images import pull_policy
from policyd.json_types import JSONObject

_CORE = "io.k8s.api.core.v1."


def pod(obj: JSONObject) -> None:
    """Fields that only Pods have, not the templates of their controllers."""
    spec: JSONObject = obj["spec"]
    seconds = spec.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds < 0:
        spec["terminationGracePeriodSeconds"] = 1
    spec.setdefault("enableServiceLinks", True)
    for container in _containers(spec):
        resources: JSONObject = container["resources"]
        if resources.get("limits") is not None:
            resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
        if spec.get("hostNetwork"):
            for port in container.get("ports") or ():
                port["hostPort"] = port.get("hostPort") or port.get("containerPort") or 0


def _containers(spec: JSONObject) -> Iterator[Any]:
    for field in ("containers", "initContainers"):
        yield from spec.get(field) or ()


def pod_spec(obj: JSONObject) -> None:
    """The two names of the service account are one."""
    name = obj.get("serviceAccountName") or obj.get("serviceAccount")
    if name:
        obj["serviceAccountName"] = obj["serviceAccount"] = name


def pod_status(obj: JSONObject) -> None:
    """The address and the list of addresses agree."""
    address, listed = obj.get("podIP"), obj.get("podIPs")
    if address:
        if not listed or listed[0].get("ip") != address:
            obj["podIPs"] = [{"ip": address}]
    elif listed:
        obj["podIP"] = listed[0].get("ip") or ""


def container(obj: JSONObject) -> None:
    """The pull policy follows the tag of the image."""
    if not obj.get("imagePullPolicy"):
        obj["imagePullPolicy"] = pull_policy(obj.get("image") or "")


def volume(obj: JSONObject) -> None:
    """A volume without a source is an emptyDir; the pull policy of an image follows its tag."""
    if set(obj) <= {"name"}:
        obj["emptyDir"] = {}
    image = obj.get("image")
    if image is not None and not image.get("pullPolicy"):
        image["pullPolicy"] = pull_policy(image.get("reference") or "")


FUNCTIONS = {
    _CORE + "Volume": (volume,),
    _CORE + "Pod": (pod,),
    _CORE + "PodSpec": (pod_spec,),
    _CORE + "PodStatus": (pod_status,),
    _CORE + "Container": (container,),
    _CORE + "EphemeralContainer": (container,),
}
