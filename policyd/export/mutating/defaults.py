"""Which fields the API server sets by default, by name. It does so after every mutation; policyd
sees the object without them until the request is over.
"""

from typing import NamedTuple

from policyd.defaulting.rules import VALUES

# By the name of a Go struct, the fields that are set in one that is written without them, but for
# those with a fixed default.
_OTHER_FIELDS = {
    "CSIDriverSpec": "preventPodSchedulingIfMissing",
    "CSINode": "status",
    "ClientIPConfig": "timeoutSeconds",
    "ConfigMap": "data",
    "Container": "imagePullPolicy",
    "CustomResourceDefinitionNames": "listKind singular",
    "CustomResourceDefinitionStatus": "storedVersions",
    "DaemonSetUpdateStrategy": "rollingUpdate type",
    "DeploymentStrategy": "rollingUpdate type",
    "Device": "basic",
    "DeviceRequest": "allocationMode count",
    "DeviceSubRequest": "allocationMode count",
    "EphemeralContainer": "imagePullPolicy",
    "ExactDeviceRequest": "allocationMode count",
    "HPAScalingRules": "policies selectPolicy stabilizationWindowSeconds",
    "HorizontalPodAutoscalerBehavior": "scaleDown scaleUp",
    "HorizontalPodAutoscalerSpec": "metrics targetCPUUtilizationPercentage",
    "ImageVolumeSource": "pullPolicy",
    "JobSpec": (
        "backoffLimit completionMode completions manualSelector parallelism"
        " podReplacementPolicy selector suspend"
    ),
    "LimitRangeItem": "default defaultRequest",
    "LoadBalancerIngress": "ipMode",
    "NetworkPolicySpec": "policyTypes",
    "NodeStatus": "allocatable",
    "PersistentVolumeClaim": "apiVersion kind",
    "PersistentVolumeSpec": "persistentVolumeReclaimPolicy volumeMode",
    "PodSpec": "enableServiceLinks",
    "RollingUpdateDaemonSet": "maxSurge maxUnavailable",
    "RollingUpdateDeployment": "maxSurge maxUnavailable",
    "RollingUpdateStatefulSetStrategy": "maxUnavailable partition",
    "ServicePort": "protocol targetPort",
    "ServiceSpec": (
        "allocateLoadBalancerNodePorts externalTrafficPolicy internalTrafficPolicy"
        " sessionAffinity sessionAffinityConfig type"
    ),
    "SessionAffinityConfig": "clientIP",
    "StatefulSetUpdateStrategy": "rollingUpdate type",
    "Subject": "apiGroup",
    "Volume": "emptyDir",
}


def _fields() -> dict[str, frozenset[str]]:
    """Return the fields that are set, by the name of a Go struct."""
    found = {name: frozenset(fields.split()) for name, fields in _OTHER_FIELDS.items()}
    for definition, fields in VALUES.items():
        name = definition.rpartition(".")[2]
        found[name] = found.get(name, frozenset()).union(fields)
    return found


FIELDS = _fields()
NAMES = frozenset().union(*FIELDS.values())


class DerivedDefaults(NamedTuple):
    """Fields that are set because others are written, in objects of these kinds (none: all)."""

    kinds: frozenset[str]
    written: frozenset[str]
    fields: frozenset[str]


def _row(kinds: str, written: str, fields: str) -> DerivedDefaults:
    return DerivedDefaults(*(frozenset(each.split()) for each in (kinds, written, fields)))


_STRATEGIES = "Deployment DaemonSet StatefulSet"
_AUTOSCALED = "metrics behavior scaleUp scaleDown annotations"
# Before 1.37 the resources of a Pod that are given in part follow those of its containers.
POD_RESOURCES = (_row("Pod", "limits requests resources", "limits requests"),)
FOLLOWING = (
    _row("Pod", "limits", "requests"),
    _row("Pod", "hostNetwork containerPort hostPort", "hostPort"),
    _row("", "serviceAccountName serviceAccount", "serviceAccountName serviceAccount"),
    _row("Pod", "podIP podIPs", "podIP podIPs"),
    _row(
        "Service",
        "sessionAffinity sessionAffinityConfig type ports port externalIPs ip",
        "sessionAffinity sessionAffinityConfig externalTrafficPolicy internalTrafficPolicy ipMode"
        " allocateLoadBalancerNodePorts targetPort protocol",
    ),
    _row("Secret", "stringData data", "stringData data"),
    _row("Namespace", "name labels", "labels"),
    _row("Node", "podCIDR podCIDRs capacity", "podCIDR podCIDRs allocatable"),
    _row("PersistentVolume", "spec", "persistentVolumeReclaimPolicy volumeMode"),
    _row("LimitRange", "type max min default defaultRequest", "default defaultRequest"),
    _row("ReplicationController Job", "labels metadata selector", "labels selector"),
    _row("NetworkPolicy", "egress policyTypes", "policyTypes"),
    _row("RoleBinding ClusterRoleBinding", "kind", "apiGroup"),
    _row(
        "CustomResourceDefinition",
        "kind versions webhook clientConfig",
        "names webhook storedVersions",
    ),
    _row(_STRATEGIES, "type rollingUpdate", "rollingUpdate partition maxUnavailable maxSurge"),
    _row("DaemonSet", "annotations metadata", "annotations"),
    _row("StatefulSet", "volumeClaimTemplates", "kind apiVersion"),
    _row(
        "Job",
        "completions parallelism backoffLimit backoffLimitPerIndex podFailurePolicy",
        "completions parallelism backoffLimit podReplacementPolicy",
    ),
    _row(
        "HorizontalPodAutoscaler",
        _AUTOSCALED,
        f"{_AUTOSCALED} targetCPUUtilizationPercentage stabilizationWindowSeconds",
    ),
)
