"""The objects that helm and kustomize make of deploy/. No tests here."""

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from policyd.json_types import JSONObject
from tests.programs import program
from tests.shared import ROOT

CHART = ROOT / "deploy" / "chart"
PROFILES: dict[str, tuple[str, ...]] = {
    "default": (),
    "cert-manager": ("certManager.enabled=true",),
    "static": ("static.enabled=true",),
    "static with cert-manager": ("static.enabled=true", "certManager.enabled=true"),
    "static with lookups": ("static.enabled=true", "static.clusterLookups=true"),
    "report": ("report.enabled=true",),
    "network of nodes": ("hostNetwork=true", "ports.webhook=18443", "ports.admin=18080"),
    "everything": (
        "inTree.mode=auto",
        "events=true",
        "apiServerToken.required=true",
        "apiServerToken.keysConfigMap=keys",
        "apiServerToken.issuer=https://issuer.example",
        "report.enabled=true",
        "report.suspend=true",
        "report.args={--qps=20}",
        "image.repository=registry.example/policyd",
        "imagePullSecrets[0].name=registry",
        "policies.podSecurity=restricted",
        "exceptions.namespaces={team-*,shop}",
        "policies.podSecurityActions={Warn,Audit}",
        "policies.configMaps={more,and.more}",
        "autoscaling.enabled=true",
        "priorityClass.create=true",
        "rbac.params[0].apiGroups={example.com}",
        "rbac.params[0].resources={limits}",
        "reads.kinds[0].apiGroup=networking.k8s.io",
        "reads.kinds[0].resource=ingresses",
        "networkPolicy.apiServerCIDRs={10.0.0.1/32}",
        "tracing.endpoint=https://collector.monitoring",
        "tracing.sample=0.1",
        "tracing.collector[0].namespaceSelector.matchLabels.a=b",
        "workers=2",
        "extraArgs={--timeout=5s}",
        "extraEnv[0].name=TZ",
        "extraEnv[0].value=UTC",
        "labels.team=platform",
        "podAnnotations.example\\.com/a=b",
        "serviceAccount.annotations.example\\.com/a=b",
        "nodeSelector.kubernetes\\.io/os=linux",
        "tolerations[0].operator=Exists",
        "ports.webhook=18443",
        "topologySpreadConstraints[0].maxSkew=1",
        "topologySpreadConstraints[0].topologyKey=topology.kubernetes.io/zone",
        "topologySpreadConstraints[0].whenUnsatisfiable=DoNotSchedule",
    ),
}


def helm(*arguments: str, home: str = "/nonexistent") -> "subprocess.CompletedProcess[str]":
    """Run helm without the settings of a user, or with the kubeconfig in that home."""
    command = [program("helm"), *arguments]
    environment = {"PATH": os.environ["PATH"], "HOME": home, "KUBECONFIG": f"{home}/kubeconfig"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@cache
def template(*values: str, release: str = "policyd", namespace: str = "policyd") -> str:
    """What ``helm template`` prints for these values, without the Pod of ``helm test``."""
    sets = [part for each in values for part in ("--set", each)]
    done = helm("template", release, str(CHART), "-n", namespace, "--skip-tests", *sets)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(*values: str) -> str:
    """Why ``helm template`` prints nothing for these values."""
    sets = [part for each in values for part in ("--set", each)]
    done = helm("template", "policyd", str(CHART), *sets)
    assert done.returncode != 0
    return done.stderr


def chart(*values: str, **options: str) -> list[JSONObject]:
    """The objects of the chart with these values."""
    return documents(template(*values, **options))


def pods_of_the_test(*values: str, release: str) -> list[JSONObject]:
    """What ``helm test`` makes of the chart."""
    sets = [part for each in values for part in ("--set", each)]
    only = ["--show-only", "templates/test.yaml"]
    done = helm("template", release, str(CHART), "-n", "policyd", *only, *sets)
    assert done.returncode == 0, done.stderr
    return documents(done.stdout)


def kustomized(folder: str | Path) -> list[JSONObject]:
    """The objects of a kustomization, named by its path below deploy/."""
    return documents(_printed(ROOT / "deploy" / folder))


@cache
def _printed(folder: Path) -> str:
    command = [program("kubectl"), "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def with_component(*names: str, folder: Path) -> list[JSONObject]:
    """The objects of the default overlay with more components; ``folder`` is empty."""
    deploy = os.path.relpath(ROOT / "deploy", folder.resolve())
    kustomization = {
        "resources": [f"{deploy}/overlays/default"],
        "components": [f"{deploy}/components/{each}" for each in names],
    }
    (folder / "kustomization.yaml").write_text(json.dumps(kustomization))
    return kustomized(folder.resolve())


def documents(text: str) -> list[JSONObject]:
    return [each for each in yaml.load_all(text, yaml.CSafeLoader) if each is not None]


def named(objects: list[JSONObject], kind: str, name: str = "policyd") -> dict[str, Any]:
    """The object of that kind and name."""
    (found,) = (
        each for each in objects if (each["kind"], each["metadata"]["name"]) == (kind, name)
    )
    return found


def container(objects: list[JSONObject]) -> dict[str, Any]:
    (deployment,) = (each for each in objects if each["kind"] == "Deployment")
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    return dict(only)


def flags(objects: list[JSONObject]) -> dict[str, str]:
    """The flags of ``policyd serve`` with their values, "" for those without."""
    first, *rest = container(objects)["args"]
    assert first == "serve"
    pairs = (each.removeprefix("--").partition("=") for each in rest)
    return {name: value for name, _, value in pairs}
