"""Which fields the API server sets by default, by name. It does so after every mutation; policyd
sees the object without them until the request is over.
"""

from typing import NamedTuple

# By the name of a Go struct, the fields that are set in one that is written without them.
_FIELDS = {
    "AzureDiskVolumeSource": "cachingMode fsType kind readOnly",
    "CSIDriverSpec": (
        "attachRequired fsGroupPolicy podInfoOnMount preventPodSchedulingIfMissing"
        " requiresRepublish seLinuxMount storageCapacity volumeLifecycleModes"
    ),
    "CSINode": "status",
    "ClientIPConfig": "timeoutSeconds",
    "ConfigMap": "data",
    "ConfigMapVolumeSource": "defaultMode",
    "Container": "imagePullPolicy terminationMessagePath terminationMessagePolicy",
    "ContainerPort": "protocol",
    "CronJobSpec": "concurrencyPolicy failedJobsHistoryLimit successfulJobsHistoryLimit suspend",
    "CustomResourceDefinitionNames": "listKind singular",
    "CustomResourceDefinitionSpec": "conversion",
    "CustomResourceDefinitionStatus": "storedVersions",
    "DaemonSetSpec": "revisionHistoryLimit",
    "DaemonSetUpdateStrategy": "rollingUpdate type",
    "DeploymentSpec": "progressDeadlineSeconds replicas revisionHistoryLimit",
    "DeploymentStrategy": "rollingUpdate type",
    "Device": "basic",
    "DeviceRequest": "allocationMode count",
    "DeviceSubRequest": "allocationMode count",
    "DeviceToleration": "operator",
    "DownwardAPIVolumeSource": "defaultMode",
    "EndpointPort": "name protocol",
    "EphemeralContainer": "imagePullPolicy terminationMessagePath terminationMessagePolicy",
    "ExactDeviceRequest": "allocationMode count",
    "ExemptPriorityLevelConfiguration": "lendablePercent nominalConcurrencyShares",
    "FileKeySelector": "optional",
    "FlowSchemaSpec": "matchingPrecedence",
    "GRPCAction": "service",
    "HPAScalingRules": "policies selectPolicy stabilizationWindowSeconds",
    "HTTPGetAction": "path scheme",
    "HorizontalPodAutoscalerBehavior": "scaleDown scaleUp",
    "HorizontalPodAutoscalerSpec": "metrics minReplicas targetCPUUtilizationPercentage",
    "HostPathVolumeSource": "type",
    "ISCSIPersistentVolumeSource": "iscsiInterface",
    "ISCSIVolumeSource": "iscsiInterface",
    "ImageVolumeSource": "pullPolicy",
    "IngressClassParametersReference": "scope",
    "JobSpec": (
        "backoffLimit completionMode completions manualSelector parallelism"
        " podReplacementPolicy selector suspend"
    ),
    "LimitRangeItem": "default defaultRequest",
    "LimitedPriorityLevelConfiguration": "lendablePercent nominalConcurrencyShares",
    "LoadBalancerIngress": "ipMode",
    "MatchResources": "matchPolicy namespaceSelector objectSelector",
    "MutatingAdmissionPolicySpec": "failurePolicy",
    "MutatingWebhook": (
        "failurePolicy matchPolicy namespaceSelector objectSelector reinvocationPolicy"
        " timeoutSeconds"
    ),
    "NamedRuleWithOperations": "scope",
    "NamespaceStatus": "phase",
    "NetworkPolicyPort": "protocol",
    "NetworkPolicySpec": "policyTypes",
    "NodeStatus": "allocatable",
    "ObjectFieldSelector": "apiVersion",
    "PersistentVolumeClaim": "apiVersion kind",
    "PersistentVolumeClaimSpec": "volumeMode",
    "PersistentVolumeClaimStatus": "phase",
    "PersistentVolumeSpec": "persistentVolumeReclaimPolicy volumeMode",
    "PersistentVolumeStatus": "phase",
    "PodCertificateRequestSpec": "maxExpirationSeconds",
    "PodFailurePolicyOnPodConditionsPattern": "status",
    "PodGroupSpec": "disruptionMode",
    "PodSpec": (
        "dnsPolicy enableServiceLinks restartPolicy schedulerName securityContext"
        " terminationGracePeriodSeconds"
    ),
    "PriorityClass": "preemptionPolicy",
    "Probe": "failureThreshold periodSeconds successThreshold timeoutSeconds",
    "ProjectedVolumeSource": "defaultMode",
    "QueuingConfiguration": "handSize queueLengthLimit queues",
    "RBDPersistentVolumeSource": "keyring pool user",
    "RBDVolumeSource": "keyring pool user",
    "ReplicaSetSpec": "replicas",
    "ReplicationControllerSpec": "replicas",
    "ResourcePoolStatusRequestSpec": "limit",
    "RoleRef": "apiGroup",
    "RollingUpdateDaemonSet": "maxSurge maxUnavailable",
    "RollingUpdateDeployment": "maxSurge maxUnavailable",
    "RollingUpdateStatefulSetStrategy": "maxUnavailable partition",
    "RuleWithOperations": "scope",
    "ScaleIOPersistentVolumeSource": "fsType storageMode",
    "ScaleIOVolumeSource": "fsType storageMode",
    "Secret": "type",
    "SecretVolumeSource": "defaultMode",
    "ServiceAccountTokenProjection": "expirationSeconds",
    "ServicePort": "protocol targetPort",
    "ServiceReference": "port",
    "ServiceSpec": (
        "allocateLoadBalancerNodePorts externalTrafficPolicy internalTrafficPolicy"
        " sessionAffinity sessionAffinityConfig type"
    ),
    "SessionAffinityConfig": "clientIP",
    "StatefulSetPersistentVolumeClaimRetentionPolicy": "whenDeleted whenScaled",
    "StatefulSetSpec": (
        "persistentVolumeClaimRetentionPolicy podManagementPolicy replicas revisionHistoryLimit"
    ),
    "StatefulSetUpdateStrategy": "rollingUpdate type",
    "StorageClass": "reclaimPolicy volumeBindingMode",
    "Subject": "apiGroup",
    "TokenRequestSpec": "expirationSeconds",
    "ValidatingAdmissionPolicySpec": "failurePolicy",
    "ValidatingWebhook": (
        "failurePolicy matchPolicy namespaceSelector objectSelector timeoutSeconds"
    ),
    "Volume": "emptyDir",
}
FIELDS = {name: frozenset(fields.split()) for name, fields in _FIELDS.items()}
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
