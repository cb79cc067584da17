"""The kinds that kube-apiserver 1.36 serves, and which of them are namespaced. Only data.

Taken from its API discovery; versions that are not served by default (alpha, beta) are left out.
"""

# apiVersion -> kinds; a star marks a cluster-scoped kind.
_SERVED = {
    "admissionregistration.k8s.io/v1": (
        "MutatingAdmissionPolicy* MutatingAdmissionPolicyBinding* "
        "MutatingWebhookConfiguration* ValidatingAdmissionPolicy* "
        "ValidatingAdmissionPolicyBinding* ValidatingWebhookConfiguration*"
    ),
    "apiextensions.k8s.io/v1": "CustomResourceDefinition*",
    "apiregistration.k8s.io/v1": "APIService*",
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "authentication.k8s.io/v1": "SelfSubjectReview* TokenReview*",
    "authorization.k8s.io/v1": (
        "LocalSubjectAccessReview SelfSubjectAccessReview* SelfSubjectRulesReview* "
        "SubjectAccessReview*"
    ),
    "autoscaling/v1": "HorizontalPodAutoscaler",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "batch/v1": "CronJob Job",
    "certificates.k8s.io/v1": "CertificateSigningRequest*",
    "coordination.k8s.io/v1": "Lease",
    "discovery.k8s.io/v1": "EndpointSlice",
    "events.k8s.io/v1": "Event",
    "flowcontrol.apiserver.k8s.io/v1": "FlowSchema* PriorityLevelConfiguration*",
    "networking.k8s.io/v1": "IPAddress* Ingress IngressClass* NetworkPolicy ServiceCIDR*",
    "node.k8s.io/v1": "RuntimeClass*",
    "policy/v1": "PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1": "ClusterRole* ClusterRoleBinding* Role RoleBinding",
    "resource.k8s.io/v1": "DeviceClass* ResourceClaim ResourceClaimTemplate ResourceSlice*",
    "scheduling.k8s.io/v1": "PriorityClass*",
    "storage.k8s.io/v1": (
        "CSIDriver* CSINode* CSIStorageCapacity StorageClass* VolumeAttachment* "
        "VolumeAttributesClass*"
    ),
    "v1": (
        "Binding ComponentStatus* ConfigMap Endpoints Event LimitRange Namespace* Node* "
        "PersistentVolume* PersistentVolumeClaim Pod PodTemplate ReplicationController "
        "ResourceQuota Secret Service ServiceAccount"
    ),
}

# (apiVersion, kind) -> whether objects of the kind live in a namespace.
BUILTIN_KINDS: dict[tuple[str, str], bool] = {
    (api_version, name.removesuffix("*")): not name.endswith("*")
    for api_version, names in _SERVED.items()
    for name in names.split()
}

# (group, kind) -> the same of the kinds that are served only if a feature gate is on.
OTHER_SCOPES: dict[tuple[str, str], bool] = {
    ("certificates.k8s.io", "ClusterTrustBundle"): False,
    ("certificates.k8s.io", "PodCertificateRequest"): True,
    ("coordination.k8s.io", "LeaseCandidate"): True,
    ("internal.apiserver.k8s.io", "StorageVersion"): False,
    ("resource.k8s.io", "DeviceTaintRule"): False,
    ("resource.k8s.io", "ResourcePoolStatusRequest"): False,
    ("scheduling.k8s.io", "PodGroup"): True,
    ("scheduling.k8s.io", "Workload"): True,
    ("storagemigration.k8s.io", "StorageVersionMigration"): False,
}
