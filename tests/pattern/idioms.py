"""Patterns of Kyverno's documentation and policies, with objects that they admit or deny."""

from typing import Any

from tests.builders.objects import pod

NGINX = {"name": "n", "image": "nginx:1"}
HOST_PORTS = {
    "spec": {
        "=(initContainers)": [{"=(ports)": [{"=(hostPort)": 0}]}],
        "containers": [{"=(ports)": [{"=(hostPort)": 0}]}],
    }
}
APPARMOR = {
    "=(metadata)": {
        "=(annotations)": {
            "=(container.apparmor.security.beta.kubernetes.io/*)": "runtime/default | localhost/*"
        }
    }
}
SELINUX = {
    "spec": {
        "=(securityContext)": {
            "=(seLinuxOptions)": {
                "=(type)": "container_t | container_init_t | container_kvm_t",
                "X(user)": "null",
            }
        }
    }
}
TAGS = {"spec": {"containers": [{"image": "*:*"}]}}
LATEST = {"spec": {"containers": [{"image": "!*:latest"}]}}
SOCKET = {"spec": {"=(volumes)": [{"=(hostPath)": {"path": "!/var/run/*.sock"}}]}}
PULL = {"spec": {"containers": [{"(image)": "*:latest", "imagePullPolicy": "Always"}]}}
SIZES = {
    "spec": {
        "containers": [
            {
                "name": "*",
                "resources": {
                    "requests": {"memory": "?*", "cpu": "<=2"},
                    "limits": {"memory": "100Mi-1Gi"},
                },
            }
        ]
    }
}
NODE_PORTS = {"spec": {"=(type)": "!NodePort"}}
SECRET_ENV = {"spec": {"containers": [{"=(env)": [{"=(valueFrom)": {"X(secretKeyRef)": "null"}}]}]}}
SIDECAR = {"spec": {"^(containers)": [{"image": "envoy:*"}]}}
EMPTY_DIR = {"spec": {"(volumes)": [{"(emptyDir)": {}}], "nodeSelector": {"disk": "?*"}}}
PORTS = {"spec": {"containers": [{"ports": [{"containerPort": ">=1024 & !8080"}]}]}}
DIGEST = {"spec": {"containers": [{"image": "registry.io/*@sha256:*"}]}}


def annotated(value: str) -> dict[str, Any]:
    annotations = {"container.apparmor.security.beta.kubernetes.io/n": value, "other": "x"}
    return {"metadata": {"annotations": annotations}, "spec": {}}


def sized(request: str, cpu: object, limit: object) -> dict[str, Any]:
    resources = {"requests": {"memory": request, "cpu": cpu}, "limits": {"memory": limit}}
    return pod({**NGINX, "resources": resources})


ROWS: list[tuple[Any, Any, bool]] = [
    (HOST_PORTS, pod(NGINX), True),
    (HOST_PORTS, pod({**NGINX, "ports": [{"containerPort": 80}]}), True),
    (HOST_PORTS, pod({**NGINX, "ports": [{"hostPort": 0}, {"hostPort": 80}]}), False),
    (HOST_PORTS, pod(NGINX, initContainers=[{"ports": [{"hostPort": 1}]}]), False),
    (APPARMOR, annotated("runtime/default"), True),
    (APPARMOR, annotated("localhost/x"), True),
    (APPARMOR, annotated("unconfined"), False),
    (APPARMOR, {"metadata": {}}, True),
    (SELINUX, pod(securityContext={"seLinuxOptions": {"type": "container_t"}}), True),
    (SELINUX, pod(securityContext={"seLinuxOptions": {"type": "spc_t"}}), False),
    (SELINUX, pod(securityContext={"seLinuxOptions": {"user": "root"}}), False),
    (TAGS, pod(NGINX), True),
    (TAGS, pod({"image": "nginx"}), False),
    (LATEST, pod(NGINX), True),
    (LATEST, pod(NGINX, {"image": "a:latest"}), False),
    (SOCKET, pod(NGINX, volumes=[{"emptyDir": {}}, {"hostPath": {"path": "/data"}}]), True),
    (SOCKET, pod(NGINX, volumes=[{"hostPath": {"path": "/var/run/docker.sock"}}]), False),
    (PULL, pod(NGINX), True),
    (PULL, pod({"image": "a:latest", "imagePullPolicy": "Always"}), True),
    (PULL, pod(NGINX, {"image": "a:latest", "imagePullPolicy": "Never"}), False),
    (SIZES, sized("1Gi", "2000m", "0.5Gi"), True),
    (SIZES, sized("1Gi", 1, 2**29), True),
    (SIZES, sized("1Gi", "2.001", "0.5Gi"), False),
    (SIZES, sized("", "1", "0.5Gi"), False),
    (SIZES, sized("1", "1", "99Mi"), False),
    (SIZES, pod(NGINX), False),
    (NODE_PORTS, {"spec": {}}, True),
    (NODE_PORTS, {"spec": {"type": "NodePort"}}, False),
    (SECRET_ENV, pod({"env": [{"name": "a", "value": "b"}]}), True),
    (SECRET_ENV, pod({"env": [{"valueFrom": {"secretKeyRef": {"name": "s"}}}]}), False),
    (SIDECAR, pod(NGINX, {"image": "envoy:1"}), True),
    (SIDECAR, pod(NGINX), False),
    (EMPTY_DIR, pod(NGINX), True),
    (EMPTY_DIR, pod(NGINX, volumes=[{"hostPath": {}}]), True),
    (EMPTY_DIR, pod(NGINX, volumes=[{"hostPath": {}}, {"emptyDir": {}}]), False),
    (EMPTY_DIR, pod(volumes=[{"emptyDir": {}}], nodeSelector={"disk": "ssd"}), True),
    (PORTS, pod({"ports": [{"containerPort": 9090}]}), True),
    (PORTS, pod({"ports": [{"containerPort": 8080}]}), False),
    (PORTS, pod({"ports": [{"containerPort": 80}]}), False),
    (DIGEST, pod({"image": "registry.io/a/b@sha256:00"}), True),
    (DIGEST, pod({"image": "registry.io/a/b:1"}), False),
]

NON_ROOT = [
    {"spec": {"securityContext": {"runAsNonRoot": True},
              "containers": [{"=(securityContext)": {"=(runAsNonRoot)": True}}]}},
    {"spec": {"containers": [{"securityContext": {"runAsNonRoot": True}}]}},
]  # fmt: skip
