"""Random requests that a real API server understands: objects that it stores, near the edges of what
``random_policies`` are about. No tests here.
"""

import copy
from random import Random
from typing import Any

from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review

NAMESPACES: dict[str, dict[str, str]] = {
    "shop": {"env": "prod", "team": "a"},
    "shop-dev": {"env": "dev"},
}
USERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("ann", ("devs",)),
    ("bob", ()),
    ("system:serviceaccount:shop:deployer", ("system:serviceaccounts", "ops")),
)
IMAGES = (
    "nginx",
    "nginx:1.25",
    "nginx:latest",
    "registry.example.com/app:1",
    "registry.example.com/app:latest",
    f"registry.example.com/app@sha256:{'0' * 64}",
)
LABELS: dict[str, tuple[str, ...]] = {
    "app": ("web", "db"),
    "tier": ("web", "db", "", "web-1"),
    "env": ("prod", "dev"),
    "example.com/team": ("a", "team-b"),
}
ANNOTATIONS: dict[str, tuple[str, ...]] = {
    "note": ("", "a b", "ünï"),
    "example.com/owner": ("ann", "a/b~c"),
    "count": ("1", "1.5", "x", "1Gi", "1h30m", "1e3", "-2", "0.50", " 5", "true", "100m", "5000m"),
}
_SELECTED = {"app": "web"}
# Kind, apiVersion, and the path of the Pod template.
_CONTROLLERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("Deployment", "apps/v1", ("spec", "template")),
    ("StatefulSet", "apps/v1", ("spec", "template")),
    ("DaemonSet", "apps/v1", ("spec", "template")),
    ("ReplicaSet", "apps/v1", ("spec", "template")),
    ("ReplicationController", "v1", ("spec", "template")),
    ("Job", "batch/v1", ("spec", "template")),
    ("CronJob", "batch/v1", ("spec", "jobTemplate", "spec", "template")),
)


def requests(random: Random, count: int) -> list[JSONObject]:
    """AdmissionRequests for Pods, their controllers and other objects."""
    return [_request(random) for _ in range(count)]


def _request(random: Random) -> JSONObject:
    make = random.choices((_pod, _controller, _config_map, _service), (6, 4, 2, 1))[0]
    new = make(random)
    operation = random.choices(("CREATE", "UPDATE", "DELETE"), (6, 3, 1))[0]
    name, groups = random.choice(USERS)
    old = _changed(random, new) if operation != "CREATE" else None
    review = build_review(
        None if operation == "DELETE" else new,
        old_object=old,
        operation=operation,
        user=name,
        groups=groups,
        overrides={"dryRun": True},
    )
    request: JSONObject = review["request"]
    return request


def _changed(random: Random, new: JSONObject) -> JSONObject:
    """Another object that can become the new one by an update."""
    old = copy.deepcopy(new)
    old["metadata"].pop("labels", None)
    old["metadata"].pop("annotations", None)
    old["metadata"] |= _metadata(random)
    if new["kind"] == "Pod":
        for each in old["spec"]["containers"]:
            each["image"] = random.choice(IMAGES)
    elif new["kind"] in ("Deployment", "DaemonSet", "CronJob"):
        node = old
        for key in dict(_CONTROLLER_PATHS)[new["kind"]]:
            node = node[key]
        kept = node["spec"].get("restartPolicy")
        node["spec"] = _spec(random)
        if kept:
            node["spec"]["restartPolicy"] = kept
    elif new["kind"] == "ConfigMap":
        old["data"] = _data(random)
        old.pop("immutable", None)
    return old


_CONTROLLER_PATHS = [(kind, path) for kind, _, path in _CONTROLLERS]


def _pod(random: Random) -> JSONObject:
    return _named(random, "v1", "Pod", {"spec": _spec(random)})


def _controller(random: Random) -> JSONObject:
    kind, version, _ = random.choice(_CONTROLLERS)
    template: JSONObject = {"metadata": _metadata(random), "spec": _spec(random)}
    spec: JSONObject = {}
    if kind in ("Job", "CronJob"):
        template["spec"]["restartPolicy"] = random.choice(("Never", "OnFailure"))
    else:
        labels = template["metadata"].setdefault("labels", {})
        labels |= _SELECTED
        selector = dict(_SELECTED)
        spec["selector"] = (
            selector if kind == "ReplicationController" else {"matchLabels": selector}
        )
    if kind in ("Deployment", "StatefulSet", "ReplicaSet") and random.random() < 0.5:
        spec["replicas"] = random.choice((0, 1, 3))
    if kind == "StatefulSet":
        spec["serviceName"] = "web"
    if kind == "CronJob":
        spec |= {"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": template}}}
    else:
        spec["template"] = template
    made = _named(random, version, kind, {"spec": spec})
    if kind in ("ReplicaSet", "Job", "StatefulSet") and random.random() < 0.4:
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "owner", "uid": "u"}
        made["metadata"]["ownerReferences"] = [owner | {"controller": random.random() < 0.7}]
    return made


def _config_map(random: Random) -> JSONObject:
    rest: JSONObject = {"data": _data(random)}
    if random.random() < 0.2:
        rest["immutable"] = random.random() < 0.5
    return _named(random, "v1", "ConfigMap", rest)


def _data(random: Random) -> JSONObject:
    values = ("1", "two", "", "ü\n")
    return {key: random.choice(values) for key in _some(random, ("a", "b", "x.y", "key-1"))}


def _service(random: Random) -> JSONObject:
    spec: JSONObject = {"ports": [{"port": 80}], "selector": dict(_SELECTED)}
    if random.random() < 0.5:
        spec["type"] = random.choice(("NodePort", "LoadBalancer", "ClusterIP"))
    if random.random() < 0.3:
        spec["ports"] = [{"port": 80, "name": "http"}, {"port": 443, "name": "https"}]
    return _named(random, "v1", "Service", {"spec": spec})


def _named(random: Random, version: str, kind: str, rest: JSONObject) -> JSONObject:
    name = {"name": random.choice(("web", "web-2", "legacy-db"))}
    namespace = {"namespace": random.choice(list(NAMESPACES))}
    metadata = {**_metadata(random), **name, **namespace}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def _metadata(random: Random) -> JSONObject:
    found: JSONObject = {}
    for key, pool in (("labels", LABELS), ("annotations", ANNOTATIONS)):
        if random.random() < 0.7:
            chosen = {each: random.choice(pool[each]) for each in _some(random, tuple(pool))}
            if chosen or random.random() < 0.3:
                found[key] = chosen
    return found


def _spec(random: Random) -> JSONObject:
    names = _some(random, ("a", "b", "sidecar")) or ["a"]
    spec: JSONObject = {"containers": [_container(random, name) for name in names]}
    if random.random() < 0.25:
        spec["initContainers"] = [_container(random, "init")]
    for key, values in _POD_FIELDS.items():
        if random.random() < 0.2:
            spec[key] = copy.deepcopy(random.choice(values))
    return spec


def _container(random: Random, name: str) -> JSONObject:
    # A container of an API server always has resources.
    container: JSONObject = {"name": name, "image": random.choice(IMAGES), "resources": {}}
    for key, values in _CONTAINER_FIELDS.items():
        if random.random() < 0.3:
            container[key] = copy.deepcopy(random.choice(values))
    return container


def _some(random: Random, pool: tuple[str, ...]) -> list[str]:
    return random.sample(pool, random.randint(0, min(3, len(pool))))


_POD_FIELDS: dict[str, tuple[Any, ...]] = {
    "hostNetwork": (True, False),
    "securityContext": (
        {},
        {"runAsNonRoot": True},
        {"runAsUser": 0},
        {"runAsUser": 1000},
        {"runAsNonRoot": False, "seccompProfile": {"type": "RuntimeDefault"}},
    ),
    "nodeSelector": ({"disk": "ssd"}, {}, {"kubernetes.io/os": "linux"}),
    "terminationGracePeriodSeconds": (0, 5, 30, 31),
    "serviceAccountName": ("default", "deployer"),
    "automountServiceAccountToken": (True, False),
    "tolerations": (
        [{"key": "gpu", "operator": "Exists"}],
        [{"key": "a", "value": "b", "effect": "NoSchedule"}, {"operator": "Exists"}],
    ),
    "volumes": (
        [{"name": "tmp", "emptyDir": {}}],
        [
            {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
            {"name": "c", "configMap": {"name": "c"}},
        ],
        [{"name": "host", "hostPath": {"path": "/var/run"}}],
    ),
    "imagePullSecrets": ([{"name": "pull"}], [{"name": "pull"}, {"name": "other"}]),
}
_CONTAINER_FIELDS: dict[str, tuple[Any, ...]] = {
    "imagePullPolicy": ("Always", "IfNotPresent", "Never"),
    "args": (["--a"], ["--a", "--b=1"], []),
    "env": (
        [{"name": "A", "value": "1"}],
        [{"name": "A"}, {"name": "B", "value": "two"}],
        [{"name": "A", "value": "1"}, {"name": "A", "value": "twice"}],
        [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    ),
    "ports": (
        [{"containerPort": 80}],
        [{"containerPort": 8080, "protocol": "UDP", "name": "dns"}],
        [{"containerPort": 80, "hostPort": 80}, {"containerPort": 443, "name": "https"}],
        [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}],
    ),
    "livenessProbe": (
        {"httpGet": {"port": 80, "path": "/"}},
        {"httpGet": {"port": "https", "path": "/a"}},
        {"exec": {"command": ["true"]}, "periodSeconds": 5},
    ),
    "resources": (
        {},
        {"limits": {"memory": "64Mi"}},
        {"limits": {"memory": "1Gi", "cpu": "500m"}},
        {"limits": {"memory": "134217728", "cpu": 2}},
        {"requests": {"cpu": "0.5"}},
        {"requests": {"memory": "64Mi"}, "limits": {"memory": "128Mi", "cpu": "1"}},
    ),
    "securityContext": (
        {},
        {"privileged": True},
        {"privileged": False},
        {"runAsUser": 0},
        {"runAsNonRoot": True},
        {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        {"readOnlyRootFilesystem": True, "capabilities": {"add": ["NET_ADMIN", "SYS_TIME"]}},
    ),
}
