"""Defaults of Pods, of Pod templates and of their volumes."""

import re
from collections.abc import Iterator
from typing import Any

from policyd.json_types import JSONObject

_CORE = "io.k8s.api.core.v1."


def pod(obj: JSONObject) -> None:
    """Fields that only Pods get, not the templates of their controllers."""
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
    """The two fields for the service account's name agree."""
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


_LONGEST_NAME = 255
_LABEL = r"[A-Za-z0-9]++(?:-++[A-Za-z0-9]++)*+"
_HOST = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*+|\[[0-9a-fA-F:]++\])(?::[0-9]++)?+")
_COMPONENT = re.compile(r"[a-z0-9]++(?:(?:\.|__?+|-++)[a-z0-9]++)*+")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}+")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}")
_ID = re.compile(r"[0-9a-f]{64}")  # an id, not a name


def pull_policy(image: str) -> str:
    """Return Always for the tag ``latest``, which an image without tag and digest has.

    A string that is not an image has no tag.
    """
    rest, at, digest = image.partition("@")
    slash = rest.rfind("/")
    name, colon, tag = rest[slash + 1 :].partition(":")
    name = rest[: slash + 1] + name
    valid = (
        _is_name(name)
        and not _ID.fullmatch(image)
        and (not at or _DIGEST.fullmatch(digest))
        and (not colon or _TAG.fullmatch(tag))
    )
    latest = tag == "latest" or not (colon or at)
    return "Always" if valid and latest else "IfNotPresent"


def _is_name(name: str) -> bool:
    first, slash, path = name.partition("/")
    if slash and (set(first) & {".", ":"} or first == "localhost" or first != first.lower()):
        valid = bool(_HOST.fullmatch(first))
    else:
        valid, path = True, name
    return valid and len(name) <= _LONGEST_NAME and all(map(_COMPONENT.fullmatch, path.split("/")))
