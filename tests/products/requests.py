"""Public policies of Kyverno, and for each one that denies or audits an object that violates only that
one; objects that violate none. No tests here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from policyd.json_types import JSONObject
from tests.products.running import documents
from tests.shared import IMPORT, find

NAMESPACES = ("shop", "web", "batch")
DEFAULT = "best-practices/disallow-default-namespace"
_BASELINE = "pod-security/baseline"


def _merged(base: Any, change: Any) -> Any:
    """The value with another one merged into it; None removes a field."""
    if not (isinstance(base, dict) and isinstance(change, dict)):
        return change
    kept = {key: value for key, value in base.items() if change.get(key, value) is not None}
    new = {key: _merged(base.get(key), each) for key, each in change.items() if each is not None}
    return {**kept, **new}


_CONTAINER: JSONObject = {
    "name": "app",
    "image": "bar.io/app:1",
    "livenessProbe": {"tcpSocket": {"port": 80}},
    "resources": {
        "requests": {"cpu": "10m", "memory": "64Mi"},
        "limits": {"cpu": "1", "memory": "64Mi"},
    },
    "securityContext": {"capabilities": {"drop": ["ALL", "NET_RAW"]}},
}
_POD: JSONObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"annotations": {"corp.org/department": "shop"}},
    "spec": {
        "automountServiceAccountToken": False,
        "imagePullSecrets": [{"name": "registry"}],
        "priorityClassName": "system-cluster-critical",
        "securityContext": {
            "runAsUser": 1000, "runAsGroup": 3000, "fsGroup": 2000,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_CONTAINER],
    },
}  # fmt: skip


def _pod(container: JSONObject | None = None, **spec: Any) -> JSONObject:
    containers = [_merged(_CONTAINER, container or {})]
    made: JSONObject = _merged(_POD, {"spec": {**spec, "containers": containers}})
    return made


def _annotated(**annotations: str | None) -> JSONObject:
    made: JSONObject = _merged(_POD, {"metadata": {"annotations": annotations}})
    return made


def _secured(**context: Any) -> JSONObject:
    return _pod({"securityContext": context})


def _service(kind: str = "ClusterIP", port: int = 32100) -> JSONObject:
    spec = {"type": kind, "ports": [{"port": port}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": spec}


def _account(**fields: Any) -> JSONObject:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {}, **fields}


def _secret(kind: str) -> JSONObject:
    annotations = {"kubernetes.io/service-account.name": "default"}
    metadata = {"annotations": annotations}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind}


def _ingress(http: str) -> JSONObject:
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"annotations": {"kubernetes.io/ingress.allow-http": http}},
        "spec": {
            "tls": [{"hosts": ["a.example"], "secretName": "tls"}],
            "rules": [{"host": "a.example", "http": {"paths": paths}}],
        },
    }


def _cluster_role(resource: str, group: str = "") -> JSONObject:
    rules = [{"apiGroups": [group], "resources": [resource], "verbs": ["get"]}]
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    return {**kind, "metadata": {}, "rules": rules}


def _job() -> JSONObject:
    made = _pod(restartPolicy="Never")
    template = {"metadata": made["metadata"], "spec": made["spec"]}
    spec = {"template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {}, "spec": spec}


VIOLATIONS: Mapping[str, JSONObject] = {
    "best-practices/disallow-cri-sock-mount": _pod(
        volumes=[{"name": "sock", "hostPath": {"path": "/var/run/docker.sock"}}]
    ),
    DEFAULT: _POD,
    "best-practices/disallow-helm-tiller": _pod({"image": "bar.io/tiller:1"}),
    "best-practices/disallow-latest-tag": _pod({"image": "bar.io/app:latest"}),
    "best-practices/require-drop-all": _secured(capabilities={"drop": ["NET_RAW"]}),
    "best-practices/require-drop-cap-net-raw": _secured(capabilities={"drop": ["ALL"]}),
    "best-practices/require-probes": _pod({"livenessProbe": None}),
    "best-practices/restrict-image-registries": _pod({"image": "docker.io/app:1"}),
    "best-practices/restrict-node-port": _service("NodePort"),
    f"{_BASELINE}/disallow-host-ports": _pod(
        {"ports": [{"name": "http", "containerPort": 5500, "hostPort": 5500}]}
    ),
    f"{_BASELINE}/disallow-host-process": _pod(
        {"securityContext": {"windowsOptions": {"hostProcess": True}}}, hostNetwork=True
    ),
    f"{_BASELINE}/disallow-privileged-containers": _secured(privileged=True),
    f"{_BASELINE}/disallow-selinux": _secured(seLinuxOptions={"type": "spc_t"}),
    f"{_BASELINE}/restrict-seccomp": _secured(seccompProfile={"type": "Unconfined"}),
    "pod-security/restricted/require-run-as-non-root-user": _secured(runAsUser=0),
    "psp-migration/restrict-adding-capabilities": _secured(capabilities={"add": ["SYS_ADMIN"]}),
    "other/restrict-usergroup-fsgroup-id": _pod(securityContext={"fsGroup": 2001}),
    "other/require-non-root-groups": _secured(runAsGroup=0),
    "other/allowed-annotations": _annotated(**{"fluxcd.io/other": "a"}),
    "other/check-env-vars": _pod({"env": [{"name": "DISABLE_OPA", "value": "true"}]}),
    "other/disallow-all-secrets": _pod(volumes=[{"name": "s", "secret": {"secretName": "s"}}]),
    "other/enforce-pod-duration": _annotated(**{"pod.kubernetes.io/lifetime": "24h"}),
    "other/enforce-resources-as-ratio": _pod({"resources": {"limits": {"memory": "1Gi"}}}),
    "other/prevent-cr8escape": _pod(
        securityContext={"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1+2=3"}]}
    ),
    "other/require-annotations": _annotated(**{"corp.org/department": None}),
    "other/require-container-port-names": _pod({"ports": [{"containerPort": 80}]}),
    "other/require-cpu-limits": _pod({"resources": {"limits": {"cpu": None}}}),
    "other/require-imagepullsecrets": _pod(imagePullSecrets=None),
    "other/require-pod-priorityclassname": _pod(priorityClassName=None),
    "other/restrict-controlplane-scheduling": _pod(
        tolerations=[{"key": "node-role.kubernetes.io/master", "operator": "Exists"}]
    ),
    "other/restrict-automount-sa-token": _pod(automountServiceAccountToken=True),
    "other/restrict-loadbalancer": _service("LoadBalancer"),
    "other/restrict-service-port-range": _service(port=80),
    "other/check-serviceaccount-secrets": _account(
        automountServiceAccountToken=False, secrets=[{"name": "s"}]
    ),
    "other/restrict-sa-automount-sa-token": _account(automountServiceAccountToken=True),
    "other/deny-secret-service-account-token-type": _secret("kubernetes.io/service-account-token"),
    "other/require-ingress-https": _ingress("true"),
    "other/restrict-clusterrole-nodesproxy": _cluster_role("nodes/proxy"),
}  # fmt: skip
# Policies that only audit; nothing changes these objects after they are created.
AUDITED: Mapping[str, JSONObject] = {
    "other/restrict-wildcard-resources": _cluster_role("*", "apps"),
    "other-vpol/restrict-networkpolicy-empty-podselector": {
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {}, "spec": {"podSelector": {}},
    },
}  # fmt: skip
MUTATIONS = ("other/add-ndots", "other/add-ttl-jobs")
GOOD: Sequence[JSONObject] = (
    _POD, _service(), _account(automountServiceAccountToken=False), _secret("Opaque"),
    _ingress("false"), _cluster_role("nodes"), _job(),
)  # fmt: skip


# It is older than Kyverno: an update that does not concern what it violates is a good request.
OLD = {**_service("NodePort", port=80), "metadata": {"name": "old", "namespace": "shop"}}


def placed(thing: JSONObject, name: str, namespace: str) -> JSONObject:
    """The object with this name, in a namespace if its kind is in one."""
    where = {} if thing["kind"] == "ClusterRole" else {"namespace": namespace}
    return {**thing, "metadata": {**thing["metadata"], "name": name, **where}}


def mutated(stored: JSONObject) -> bool:
    """Whether an object has what ``MUTATIONS`` write."""
    spec = stored.get("spec", {})
    if stored["kind"] == "Job":
        return bool(spec.get("ttlSecondsAfterFinished") == 900)
    wanted = {"name": "ndots", "value": "1"}
    return stored["kind"] != "Pod" or wanted in spec.get("dnsConfig", {}).get("options", [])


def sources() -> list[JSONObject]:
    """The policies: those that deny or mutate, and those that only audit."""
    enforced = map(_enforced, _policies(*VIOLATIONS, *MUTATIONS))
    return [*enforced, *_policies(*AUDITED)]


def _policies(*paths: str) -> Iterator[JSONObject]:
    for path in paths:
        for each in documents(find(IMPORT, f"kyverno/{path}")):
            if each.get("kind") in ("ClusterPolicy", "ValidatingPolicy"):
                yield each


def _enforced(policy: JSONObject) -> JSONObject:
    policy["spec"].pop("validationFailureAction", None)
    for rule in policy["spec"]["rules"]:
        if "validate" in rule:
            rule["validate"]["failureAction"] = "Enforce"
    return policy
