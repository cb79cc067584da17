"""The policies that stand for templates in Rego exist, and deny what those templates deny."""

from collections.abc import Mapping

import pytest

import policyd
from policyd.importers.gatekeeper.templates import EQUIVALENTS
from policyd.json_types import JSONObject
from tests.builders.objects import container, deployment, pod
from tests.shared import ROOT


def secured(**context: object) -> JSONObject:
    return pod(container(securityContext=context))


def made(kind: str, api_version: str = "v1", **fields: object) -> JSONObject:
    metadata = {"name": "web", "namespace": "shop"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def scaled(replicas: int) -> JSONObject:
    found = deployment()
    return {**found, "spec": {**found["spec"], "replicas": replicas}}


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
ANYBODY = {
    "kind": "Group",
    "name": "system:unauthenticated",
    "apiGroup": "rbac.authorization.k8s.io",
}
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
# An object that the template of the library denies with its sample constraint.
DENIED: Mapping[str, JSONObject] = {
    "k8sallowedrepos": pod(container(image="elsewhere.example.org/web:1")),
    "k8sallowedreposv2": pod(container(image="elsewhere.example.org/web:1")),
    "k8sblocknodeport": made("Service", spec={"type": "NodePort", "ports": [{"port": 80}]}),
    "k8scontainerlimits": pod(),
    "k8scontainerrequests": pod(),
    "k8sdisallowanonymous": made(
        "RoleBinding",
        "rbac.authorization.k8s.io/v1",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        subjects=[ANYBODY],
    ),
    "k8sdisallowedtags": pod(container(image="web:latest")),
    "k8sexternalips": made("Service", spec={"externalIPs": ["1.1.1.1"], "ports": [{"port": 80}]}),
    "k8shorizontalpodautoscaler": made(
        "HorizontalPodAutoscaler",
        "autoscaling/v2",
        spec={"minReplicas": 3, "maxReplicas": 3, "scaleTargetRef": TARGET},
    ),
    "k8shttpsonly": made(
        "Ingress", "networking.k8s.io/v1", spec={"rules": [{"host": "a.example.com"}]}
    ),
    "k8spoddisruptionbudget": made(
        "PodDisruptionBudget",
        "policy/v1",
        spec={"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
    ),
    "k8spspallowprivilegeescalationcontainer": secured(allowPrivilegeEscalation=True),
    "k8spspallowedusers": secured(runAsNonRoot=False, runAsUser=0),
    "k8spspapparmor": secured(appArmorProfile={"type": "Unconfined"}),
    "k8spspautomountserviceaccounttokenpod": pod(automountServiceAccountToken=True),
    "k8spspcapabilities": secured(capabilities={"add": ["SYS_ADMIN"]}),
    "k8spspforbiddensysctls": pod(
        securityContext={"sysctls": [{"name": "net.core.somaxconn", "value": "1024"}]}
    ),
    "k8spsphostfilesystem": pod(volumes=[{"name": "host", "hostPath": {"path": "/tmp"}}]),
    "k8spsphostnamespace": pod(hostPID=True),
    "k8spsphostnetworkingports": pod(container(ports=[{"containerPort": 9001, "hostPort": 9001}])),
    "k8spsphostprobeslifecycle": pod(
        container(livenessProbe={"httpGet": {"host": "10.0.0.1", "port": 80}})
    ),
    "k8spsphostprocess": secured(windowsOptions={"hostProcess": True}),
    "k8spspprivilegedcontainer": secured(privileged=True),
    "k8spspprocmount": secured(procMount="Unmasked"),
    "k8spspreadonlyrootfilesystem": secured(readOnlyRootFilesystem=False),
    "k8spspseccomp": secured(seccompProfile={"type": "Unconfined"}),
    "k8spspseccompv2": secured(seccompProfile={"type": "Unconfined"}),
    "k8spspselinuxv2": secured(seLinuxOptions={"level": "s1:c234,c567", "user": "sysadm_u"}),
    "k8spspvolumetypes": pod(volumes=[{"name": "host", "hostPath": {"path": "/tmp"}}]),
    "k8sreplicalimits": scaled(1),
    "k8srequiredlabels": pod(),
    "k8srequiredprobes": pod(),
    "k8sstorageclass": made("PersistentVolumeClaim", spec={**CLAIM, "storageClassName": "x"}),
    "k8suniqueingresshost": made(
        "Ingress", "networking.k8s.io/v1", spec={"rules": [{"host": "other.example.org"}]}
    ),
}


def test_every_equivalent_has_an_object() -> None:
    assert DENIED.keys() == EQUIVALENTS.keys()


@pytest.mark.parametrize("template", DENIED)
def test_the_equivalent_denies_what_the_template_denies(template: str) -> None:
    policies = policyd.PolicySet.load(ROOT / "policies" / EQUIVALENTS[template] / "policy.yaml")
    assert policies.evaluate(policyd.build_review(DENIED[template])).violations != ()
