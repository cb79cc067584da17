"""What the objects of suites lack, so that a real API server accepts them. No tests here."""

import copy
from collections.abc import Callable, Mapping

from policyd.json_types import JSON, JSONObject

IMAGE = "registry.example.com/app:1"
LABELS = {"app.kubernetes.io/name": "web"}
STORAGE: JSONObject = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
}


def completed(thing: JSONObject) -> JSONObject:
    """The object with the fields that its kind requires, where they are missing."""
    made = copy.deepcopy(thing)
    complete = KINDS.get(str(thing["kind"]))
    if complete is not None:
        complete(made)
    return made


def _pod(pod: JSONObject) -> None:
    spec = _at(pod, "spec")
    if not spec.get("containers"):
        spec["containers"] = [{}]
    for key in ("containers", "initContainers", "ephemeralContainers"):
        for index, each in enumerate(spec.get(key) or ()):
            each.setdefault("name", f"{key.lower()}-{index}")
            each.setdefault("image", IMAGE)


def _workload(thing: JSONObject) -> None:
    spec = _at(thing, "spec")
    template = _at(spec, "template")
    labels = _at(_at(template, "metadata"), "labels")
    wanted = (spec.get("selector") or {}).get("matchLabels") or dict(LABELS)
    spec["selector"] = {"matchLabels": wanted, **(spec.get("selector") or {})}
    labels |= {key: value for key, value in wanted.items() if key not in labels}
    if labels.items() < wanted.items() or any(labels[key] != wanted[key] for key in wanted):
        spec["selector"] = {"matchLabels": {key: labels[key] for key in wanted}}
    _pod(template)
    for each in spec.get("volumeClaimTemplates") or ():
        _claim(each)


def _job(thing: JSONObject) -> None:
    template = _at(_at(thing, "spec"), "template")
    _at(template, "spec").setdefault("restartPolicy", "Never")
    _pod(template)


def _cron_job(thing: JSONObject) -> None:
    spec = _at(thing, "spec")
    spec.setdefault("schedule", "0 0 * * *")
    _job(_at(spec, "jobTemplate"))


def _service(thing: JSONObject) -> None:
    spec = _at(thing, "spec")
    if spec.get("type") == "ExternalName":
        spec.setdefault("externalName", "example.com")
    elif not spec.get("ports"):
        spec["ports"] = [{"port": 80}]


def _claim(thing: JSONObject) -> None:
    spec = _at(thing, "spec")
    for key, value in STORAGE.items():
        if not spec.get(key):
            spec[key] = copy.deepcopy(value)


def _autoscaler(thing: JSONObject) -> None:
    spec = _at(thing, "spec")
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec["scaleTargetRef"] = {**target, **(spec.get("scaleTargetRef") or {})}
    spec.setdefault("maxReplicas", 3)


def _ingress(thing: JSONObject) -> None:
    spec = _at(thing, "spec")
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    if not (spec.get("rules") or spec.get("defaultBackend")):
        spec["defaultBackend"] = copy.deepcopy(backend)
    for rule in spec.get("rules") or ():
        for path in (rule.get("http") or {}).get("paths") or ():
            path.setdefault("pathType", "Prefix")
            path.setdefault("path", "/")
            path.setdefault("backend", copy.deepcopy(backend))


def _role(thing: JSONObject) -> None:
    for rule in thing.get("rules") or ():
        if not rule.get("nonResourceURLs"):
            rule.setdefault("apiGroups", [""])
            if not rule.get("resources"):
                rule["resources"] = ["pods"]
        if not rule.get("verbs"):
            rule["verbs"] = ["get"]


def _secret(thing: JSONObject) -> None:
    if thing.get("type") == "kubernetes.io/service-account-token":
        annotations = _at(_at(thing, "metadata"), "annotations")
        annotations.setdefault("kubernetes.io/service-account.name", "default")


def _at(thing: JSONObject, key: str) -> JSONObject:
    """The map under a key, made if it is missing."""
    if not isinstance(thing.get(key), Mapping):
        thing[key] = {}
    found: JSON = thing[key]
    assert isinstance(found, dict)
    return found


KINDS: Mapping[str, Callable[[JSONObject], None]] = {
    "Pod": _pod,
    "Deployment": _workload,
    "StatefulSet": _workload,
    "DaemonSet": _workload,
    "ReplicaSet": _workload,
    "Job": _job,
    "CronJob": _cron_job,
    "Service": _service,
    "PersistentVolumeClaim": _claim,
    "HorizontalPodAutoscaler": _autoscaler,
    "Ingress": _ingress,
    "Role": _role,
    "ClusterRole": _role,
    "Secret": _secret,
}
