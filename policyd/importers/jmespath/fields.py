"""What fields of Kubernetes hold, by their names alone: so that an expression that does not know
the kind of its object can still be written for the right type.
"""

from policyd.importers.jmespath.kinds import (
    ANY,
    BOOL,
    LIST,
    MAP,
    NUMBER,
    STRING,
    STRINGS,
    TEXTS,
    JsonKind,
)

_OBJECTS = JsonKind("list", MAP)
_KINDS: dict[JsonKind, str] = {
    STRING: "apiVersion kind name namespace generateName uid image imagePullPolicy nodeName "
    "serviceAccountName serviceAccount hostname subdomain dnsPolicy restartPolicy schedulerName "
    "priorityClassName runtimeClassName storageClassName ingressClassName protocol mountPath subPath "
    "workingDir schedule concurrencyPolicy externalName sessionAffinity apiGroup username "
    "operation terminationMessagePath volumeName procMount claimName secretName host",
    NUMBER: "replicas hostPort containerPort nodePort runAsUser runAsGroup fsGroup defaultMode "
    "terminationGracePeriodSeconds minReadySeconds revisionHistoryLimit progressDeadlineSeconds "
    "ttlSecondsAfterFinished backoffLimit parallelism completions activeDeadlineSeconds priority "
    "initialDelaySeconds periodSeconds timeoutSeconds failureThreshold successThreshold minReplicas "
    "maxReplicas successfulJobsHistoryLimit failedJobsHistoryLimit",
    BOOL: "hostNetwork hostPID hostIPC privileged allowPrivilegeEscalation readOnlyRootFilesystem "
    "runAsNonRoot readOnly automountServiceAccountToken suspend immutable stdin tty optional "
    "shareProcessNamespace enableServiceLinks hostUsers allowVolumeExpansion",
    STRINGS: "verbs resources apiGroups resourceNames nonResourceURLs command args add drop finalizers "
    "groups hosts accessModes policyTypes externalIPs loadBalancerSourceRanges sysctls "
    "dnsNames mountOptions externalNames",
    _OBJECTS: "containers initContainers ephemeralContainers volumes volumeMounts env envFrom ports "
    "tolerations imagePullSecrets ownerReferences subjects rules tls paths items webhooks ingress "
    "egress topologySpreadConstraints hostAliases secrets readinessGates conditions "
    "volumeClaimTemplates volumeDevices",
    LIST: "supplementalGroups",
    TEXTS: "labels annotations matchLabels nodeSelector",
    MAP: "spec metadata template securityContext capabilities livenessProbe readinessProbe "
    "startupProbe limits requests selector podSelector namespaceSelector emptyDir hostPath configMap "
    "secret projected csi persistentVolumeClaim lifecycle affinity roleRef exec httpGet tcpSocket "
    "data stringData binaryData",
}
_BY_NAME = {name: kind for kind, names in _KINDS.items() for name in names.split()}
# Below these names, the fields are keys that people choose.
_CHOSEN = frozenset({"labels", "annotations", "matchLabels", "nodeSelector", "data", "stringData"})


def kind_of_field(name: str, parent: str) -> JsonKind:
    """Return what a field holds, ``any`` if that depends on the object."""
    if parent in _CHOSEN:
        return STRING
    if parent in ("limits", "requests"):
        return ANY  # a quantity may be written as a number
    if name == "resources" and parent not in ("rules", "rule"):
        return ANY  # of a container it is a map
    if name in ("ingress", "host", "secret", "selector", "rules") and parent == "":
        return ANY
    return _BY_NAME.get(name, ANY)
