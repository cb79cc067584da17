"""Defaults of the groups apps, batch, autoscaling and policy."""

from typing import Any

from policyd.json_types import JSONObject

_APPS = "io.k8s.api.apps.v1."
_BATCH = "io.k8s.api.batch.v1."
_AUTOSCALING = "io.k8s.api.autoscaling."
_MOST = 2**31 - 1
# Of a Job, not of the template in a CronJob.
_JOB: JSONObject = {"completionMode": "NonIndexed", "suspend": False, "manualSelector": False}
_GENERATION = "deprecated.daemonset.template.generation"
_METRICS = "autoscaling.alpha.kubernetes.io/metrics"
_CPU_PERCENT = 80
_UP: JSONObject = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_DOWN: JSONObject = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}


def deployment_strategy(obj: JSONObject) -> None:
    _rolling_update(obj, {"maxUnavailable": "25%", "maxSurge": "25%"})


def daemon_set_strategy(obj: JSONObject) -> None:
    _rolling_update(obj, {"maxUnavailable": 1, "maxSurge": 0})


def _rolling_update(obj: JSONObject, defaults: JSONObject) -> None:
    obj["type"] = obj.get("type") or "RollingUpdate"
    if obj["type"] == "RollingUpdate":
        obj["rollingUpdate"] = {**defaults, **(obj.get("rollingUpdate") or {})}
    elif obj.get("rollingUpdate") is not None:  # not used, but printed as numbers
        obj["rollingUpdate"] = {**dict.fromkeys(defaults, 0), **obj["rollingUpdate"]}


def stateful_set_strategy(obj: JSONObject) -> None:
    """Adds no rollingUpdate to a given type."""
    if not obj.get("type"):
        obj["type"] = "RollingUpdate"
        obj.setdefault("rollingUpdate", {})
    if obj["type"] == "RollingUpdate" and obj.get("rollingUpdate") is not None:
        obj["rollingUpdate"].setdefault("partition", 0)


def unavailable_replica(obj: JSONObject) -> None:
    """Since 1.37, maxUnavailable has a default."""
    if obj["type"] == "RollingUpdate" and obj.get("rollingUpdate") is not None:
        obj["rollingUpdate"].setdefault("maxUnavailable", 1)


def daemon_set(obj: JSONObject) -> None:
    """An annotation keeps the number of a field that apps/v1 removed."""
    annotations = obj["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = {_GENERATION: "0", **annotations}


def stateful_set_spec(obj: JSONObject) -> None:
    """Claims have their own kind."""
    for claim in obj.get("volumeClaimTemplates") or ():
        claim |= {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}


def job(obj: JSONObject) -> None:
    """Completions, retries and the labels of the template."""
    spec: JSONObject = obj["spec"]
    obj["spec"] |= {**_JOB, **spec}
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _MOST if "backoffLimitPerIndex" in spec else 6)
    labels: Any = spec["template"]["metadata"].get("labels")
    if labels is not None and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = labels
    failed = "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
    spec.setdefault("podReplacementPolicy", failed)


def cpu_autoscaler(obj: JSONObject) -> None:
    """CPU is the metric if there is none."""
    if _METRICS not in (obj["metadata"].get("annotations") or {}):
        obj["spec"].setdefault("targetCPUUtilizationPercentage", _CPU_PERCENT)


def autoscaler(obj: JSONObject) -> None:
    """CPU is the metric if there is none; completes the given rules."""
    spec: JSONObject = obj["spec"]
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": _CPU_PERCENT}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior: Any = spec.get("behavior")
    if behavior is not None:
        for field, rules in (("scaleUp", _UP), ("scaleDown", _DOWN)):
            given = behavior.get(field) or {}
            kept = {key: value for key, value in given.items() if value is not None}
            behavior[field] = {**rules, **kept}


FUNCTIONS = {
    _APPS + "DeploymentStrategy": (deployment_strategy,),
    _APPS + "DaemonSetUpdateStrategy": (daemon_set_strategy,),
    _APPS + "StatefulSetUpdateStrategy": (stateful_set_strategy,),
    _APPS + "DaemonSet": (daemon_set,),
    _APPS + "StatefulSetSpec": (stateful_set_spec,),
    _BATCH + "Job": (job,),
    _AUTOSCALING + "v1.HorizontalPodAutoscaler": (cpu_autoscaler,),
    _AUTOSCALING + "v2.HorizontalPodAutoscaler": (autoscaler,),
}
