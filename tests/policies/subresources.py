"""Which subresources write the metadata of an object, as ``tests/e2e/test_subresource_writes.py``
measures it on a real API server; the others keep it. No tests here.
"""

from collections.abc import Mapping

BOTH = frozenset({"labels", "annotations"})
NONE = frozenset[str]()
# (group, resource) -> subresource -> the parts of metadata that a PUT or PATCH of it changes.
METADATA_WRITES: Mapping[tuple[str, str], Mapping[str, frozenset[str]]] = {
    ("", "namespaces"): {"status": BOTH, "finalize": BOTH},
    ("", "nodes"): {"status": BOTH},
    ("", "persistentvolumes"): {"status": BOTH},
    ("", "persistentvolumeclaims"): {"status": BOTH},
    ("", "pods"): {"status": BOTH, "ephemeralcontainers": NONE, "resize": NONE},
    ("", "replicationcontrollers"): {"status": BOTH},
    ("", "resourcequotas"): {"status": BOTH},
    ("", "services"): {"status": BOTH},
    ("apps", "daemonsets"): {"status": BOTH},
    ("apps", "deployments"): {"status": frozenset({"annotations"})},
    ("apps", "replicasets"): {"status": BOTH},
    ("apps", "statefulsets"): {"status": BOTH},
    ("autoscaling", "horizontalpodautoscalers"): {"status": BOTH},
    ("batch", "cronjobs"): {"status": BOTH},
    ("batch", "jobs"): {"status": BOTH},
    ("networking.k8s.io", "ingresses"): {"status": BOTH},
    ("policy", "poddisruptionbudgets"): {"status": BOTH},
    ("apiextensions.k8s.io", "customresourcedefinitions"): {"status": BOTH},
    ("writes.example.com", "gauges"): {"status": NONE, "scale": NONE},  # a custom resource
}
