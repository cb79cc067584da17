"""What the diff of a 4 KB Pod with two changes costs, beside the jsonpatch package.

Run it: ``python -m tools.bench.bench_patch``. Prints; never fails for being slow.
"""

import json
import timeit
from collections.abc import Callable
from typing import Any

import jsonpatch

from policyd._core.patch.apply import apply, diff


def container(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "image": f"registry.example.com/team/{name}:1.2.3",
        "args": ["--verbose", "--listen=:8080"],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [{"name": f"VARIABLE_{n}", "value": f"value-{n}"} for n in range(12)],
        "resources": {
            "limits": {"memory": "256Mi"},
            "requests": {"cpu": "100m", "memory": "128Mi"},
        },
        "volumeMounts": [
            {"name": "data", "mountPath": "/data"},
            {
                "name": "kube-api-access",
                "readOnly": True,
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
            },
        ],
        "livenessProbe": {
            "httpGet": {"path": "/livez", "port": "http", "scheme": "HTTP"},
            "periodSeconds": 10,
        },
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def defaulted_pod() -> dict[str, Any]:
    """A Pod as it arrives at a mutating webhook: defaulted, two containers, projected token."""

    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-6d4cf56db6-x2x7z",
            "namespace": "shop",
            "labels": {"app.kubernetes.io/name": "web", "pod-template-hash": "6d4cf56db6"},
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "8080"},
        },
        "spec": {
            "volumes": [
                {"name": "data", "emptyDir": {}},
                {"name": "kube-api-access", "projected": {"sources": sources, "defaultMode": 420}},
            ],
            "containers": [container("app"), container("proxy")],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "securityContext": {},
            "schedulerName": "default-scheduler",
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{key}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for key in ("not-ready", "unreachable")
            ],
            "priority": 0,
            "enableServiceLinks": True,
        },
        "status": {},
    }


CHANGES = [
    {"op": "add", "path": "/metadata/labels/team", "value": "blue"},
    {"op": "replace", "path": "/spec/containers/1/imagePullPolicy", "value": "Always"},
]


def cost(run: Callable[[], object], number: int) -> float:
    """Microseconds of one call."""
    return min(timeit.repeat(run, number=number, repeat=7)) / number * 1e6


def main() -> None:
    old = defaulted_pod()
    shared = apply(CHANGES, old)
    apart = json.loads(json.dumps(shared))
    assert diff(old, shared) == diff(old, apart) == CHANGES
    print(f"a Pod of {len(json.dumps(old))} bytes with two changes")
    for name, new in (("as mutated (untouched parts shared)", shared), ("decoded apart", apart)):
        ours = cost(lambda new=new: diff(old, new), 20_000)  # type: ignore[misc]
        theirs = cost(lambda new=new: jsonpatch.make_patch(old, new), 500)  # type: ignore[misc]
        print(f"diff, {name}: {ours:.2f} µs; jsonpatch: {theirs:.0f} µs (x {theirs / ours:.0f})")
    print(f"apply: {cost(lambda: apply(CHANGES, old), 20_000):.2f} µs")


if __name__ == "__main__":
    main()
