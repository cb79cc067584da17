"""Defaults of Pods, of Pod templates and of their volumes."""

import string
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


_LONGEST_NAME, _LONGEST_TAG = 255, 128
_LOWER = frozenset(string.ascii_lowercase + string.digits)
_ALNUM = frozenset(string.ascii_letters + string.digits)
_TAG = _ALNUM | frozenset("_.-")
_HEX = frozenset("0123456789abcdef")
_DIGESTS = {"sha256": 64, "sha384": 96, "sha512": 128}
_ID = 64  # this many hexadecimal digits are an id, not a name


def pull_policy(image: str) -> str:
    """Return Always for the tag ``latest``, which an image without tag and digest has.

    A string that is not an image has no tag.
    """
    rest, at, digest = image.partition("@")
    slash = rest.rfind("/")
    name, colon, tag = rest[slash + 1 :].partition(":")
    name = rest[: slash + 1] + name
    valid = _is_name(name, image) and (not at or _is_digest(digest)) and (not colon or _is_tag(tag))
    latest = tag == "latest" or not (colon or at)
    return "Always" if valid and latest else "IfNotPresent"


def _is_name(name: str, image: str) -> bool:
    if len(image) == _ID and _HEX.issuperset(image):
        return False
    first, slash, rest = name.partition("/")
    path = name
    if slash and (set(first) & {".", ":"} or first == "localhost" or first != first.lower()):
        if not _is_host(first):
            return False
        path = rest
    return len(name) <= _LONGEST_NAME and all(map(_is_component, path.split("/")))


def _is_host(host: str) -> bool:
    name, colon, port = host.partition(":")
    if host.startswith("["):
        name, _, port = host[1:].partition("]")
        return _HEX.issuperset(name.lower().replace(":", "")) and (not port or port[1:].isdigit())
    if colon and not (port.isascii() and port.isdigit()):
        return False
    return all(
        part and _ALNUM.issuperset(part.replace("-", "")) and part[0] != "-" and part[-1] != "-"
        for part in name.split(".")
    )


def _is_component(text: str) -> bool:
    """Lower-case words with one dot, one or two underscores or any dashes between them."""
    before = ""  # the separators since the last word; a component starts and ends with a word
    for at, each in enumerate(text):
        if each not in _LOWER:
            before += each
        elif before and (at == len(before) or not _separates(before)):
            return False
        else:
            before = ""
    return bool(text) and not before


def _separates(text: str) -> bool:
    return text in (".", "_", "__") or not text.strip("-")


def _is_tag(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_TAG and _TAG.issuperset(text) and text[0] not in ".-"


def _is_digest(text: str) -> bool:
    algorithm, _, value = text.partition(":")
    return len(value) == _DIGESTS.get(algorithm) and _HEX.issuperset(value)
