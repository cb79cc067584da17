"""The known facts of a value before evaluation: its JSON type, and its items'. Where an
expression does not know the kind of its object, the names of fields of Kubernetes show it.
"""

from dataclasses import dataclass
from typing import Literal

# A quantity is a string or a number. A value of ``any`` may be of different kinds in different
# objects.
KindName = Literal["any", "null", "bool", "number", "string", "quantity", "list", "map"]


@dataclass(frozen=True, slots=True)
class JsonKind:
    """A JSON type. ``item`` is the kind of a list's items or of a map's values."""

    name: KindName
    item: "JsonKind | None" = None

    @property
    def items(self) -> "JsonKind":
        """Return the kind of the items."""
        return self.item or ANY


ANY = JsonKind("any")
NULL = JsonKind("null")
BOOL = JsonKind("bool")
NUMBER = JsonKind("number")
STRING = JsonKind("string")
QUANTITY = JsonKind("quantity")
QUANTITIES = JsonKind("map", QUANTITY)
LIST = JsonKind("list")
MAP = JsonKind("map")
STRINGS = JsonKind("list", STRING)
TEXTS = JsonKind("map", STRING)
SCALARS = frozenset({"null", "bool", "number", "string", "quantity"})


def kind_of(value: object) -> JsonKind:
    """Return the kind of a decoded JSON value; the kind of a list's items if they have the same."""
    match value:
        case None:
            return NULL
        case bool():
            return BOOL
        case int() | float():
            return NUMBER
        case str():
            return STRING
        case list():
            return JsonKind("list", _common(value))
        case _:
            return MAP


def either(first: JsonKind, second: JsonKind) -> JsonKind:
    """Return the kind of a value that has one of two kinds."""
    if first.name != second.name:
        return ANY
    return first if first.item == second.item else JsonKind(first.name)


def _common(values: list[object]) -> JsonKind | None:
    kinds = {kind_of(each) for each in values}
    return kinds.pop() if len(kinds) == 1 else None


_STRING = """
    apiVersion kind name namespace generateName uid image imagePullPolicy nodeName hostname
    subdomain serviceAccountName serviceAccount dnsPolicy restartPolicy schedulerName
    priorityClassName runtimeClassName storageClassName ingressClassName protocol mountPath
    subPath workingDir schedule concurrencyPolicy externalName sessionAffinity apiGroup username
    operation procMount path pathType terminationMessagePath terminationMessagePolicy volumeName
    claimName secretName host group version url repoURL project server key value effect operator
    clusterIP type duration frequency issuer fsType reclaimPolicy volumeBindingMode provisioner
    nodePublishSecretRef topologyKey revision
"""
_NUMBER = """
    replicas hostPort containerPort nodePort runAsUser runAsGroup fsGroup defaultMode priority
    terminationGracePeriodSeconds minReadySeconds revisionHistoryLimit progressDeadlineSeconds
    ttlSecondsAfterFinished backoffLimit parallelism completions activeDeadlineSeconds
    minReplicas initialDelaySeconds periodSeconds timeoutSeconds failureThreshold
    successThreshold maxReplicas successfulJobsHistoryLimit failedJobsHistoryLimit
    startingDeadlineSeconds expirationSeconds
"""
_BOOL = """
    hostNetwork hostPID hostIPC privileged allowPrivilegeEscalation readOnlyRootFilesystem
    readOnly runAsNonRoot automountServiceAccountToken suspend immutable stdin tty optional
    hostUsers shareProcessNamespace enableServiceLinks allowVolumeExpansion controller
    blockOwnerDeletion
"""
_STRINGS = """
    verbs apiGroups resourceNames nonResourceURLs command args add drop finalizers groups hosts
    accessModes policyTypes externalIPs loadBalancerSourceRanges dnsNames mountOptions
"""
_OBJECTS = """
    containers initContainers ephemeralContainers volumes volumeMounts env envFrom ports
    tolerations imagePullSecrets ownerReferences subjects rules tls paths items webhooks
    hostAliases secrets topologySpreadConstraints readinessGates volumeClaimTemplates
    volumeDevices sysctls
"""
_MAP = """
    spec metadata template securityContext capabilities livenessProbe readinessProbe
    startupProbe podSelector namespaceSelector emptyDir hostPath configMap projected csi
    persistentVolumeClaim lifecycle affinity roleRef exec httpGet tcpSocket seccompProfile
    appArmorProfile seLinuxOptions status userInfo resourceFieldRef downwardAPI ephemeral nfs
    issuerRef destination
"""
_BY_NAME = {
    name: kind
    for kind, names in (
        (STRING, _STRING),
        (NUMBER, _NUMBER),
        (BOOL, _BOOL),
        (STRINGS, _STRINGS),
        (JsonKind("list", MAP), _OBJECTS),
        (MAP, _MAP),
        (LIST, "supplementalGroups"),
        (QUANTITIES, "limits requests capacity allocatable"),
        (TEXTS, "labels annotations matchLabels nodeSelector stringData parameters"),
    )
    for name in names.split()
}
# Below these names, the fields are keys that people choose, with strings as values.
TEXT_MAPS = frozenset(
    {"labels", "annotations", "matchLabels", "nodeSelector", "data", "stringData"}
)
# Fields that hold a number, or a string that is never empty.
NUMBER_OR_STRING = frozenset({"minAvailable", "maxUnavailable", "maxSurge", "port", "targetPort"})
# Fields that hold a string that is never empty.
NEVER_EMPTY = frozenset({"operation", "kind", "apiVersion", "username", "image"})


def kind_of_field(name: str, parent: str) -> JsonKind:
    """Return what a field of a map with this name holds, ``any`` if that depends on the object."""
    if parent in TEXT_MAPS:
        return STRING
    if parent in ("limits", "requests"):
        return QUANTITY
    if name == "resources":
        return (
            STRINGS if parent == "rules" else MAP if parent.lower().endswith("containers") else ANY
        )
    return _BY_NAME.get(name, ANY)
