"""Generate policyd/importers/custom_kinds.json: kinds of well-known projects, and their scopes.

python -m tools.make_custom_kinds DIRECTORY    # with clones of the repositories below, at any depth

The kinds are those of the CustomResourceDefinitions in YAML files of the repositories, but for
``WRITTEN``.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from policyd.policy.kinds.plural import plural

FILE = Path(__file__).parent.parent / "policyd" / "importers" / "custom_kinds.json"
REPOSITORIES: Mapping[str, str] = {
    "argoproj.io": "argoproj/argo-cd argoproj/argo-rollouts argoproj/argo-workflows",
    "autoscaling.k8s.io": "kubernetes/autoscaler",
    "cert-manager.io": "cert-manager/cert-manager",
    "cluster.x-k8s.io": "kubernetes-sigs/cluster-api",
    "config.openshift.io": "openshift/api",
    "external-secrets.io": "external-secrets/external-secrets",
    "gateway.networking.k8s.io": "kubernetes-sigs/gateway-api",
    "helm.toolkit.fluxcd.io": "fluxcd/helm-controller",
    "karpenter.sh": "kubernetes-sigs/karpenter",
    "keda.sh": "kedacore/keda",
    "kustomize.toolkit.fluxcd.io": "fluxcd/kustomize-controller",
    "kyverno.io": "kyverno/kyverno",
    "linkerd.io": "linkerd/linkerd2",
    "machine.openshift.io": "openshift/api",
    "monitoring.coreos.com": "prometheus-operator/prometheus-operator",
    "networking.istio.io": "istio/api",
    "policy.linkerd.io": "linkerd/linkerd2",
    "route.openshift.io": "openshift/api",
    "security.istio.io": "istio/api",
    "snapshot.storage.k8s.io": "kubernetes-csi/external-snapshotter",
    "source.toolkit.fluxcd.io": "fluxcd/source-controller",
    "tekton.dev": "tektoncd/pipeline",
    "traefik.io": "traefik/traefik",
    "velero.io": "vmware-tanzu/velero",
    "wgpolicyk8s.io": "kyverno/kyverno",
}
# (group, kinds, whether they are in namespaces), read in the source that stands above.
WRITTEN = (
    # The paths of API calls in policies of Kasten in kyverno/policies
    ("apps.kio.kasten.io", "RestorePoint", True),
    ("config.kio.kasten.io", "Policy Profile", True),
    # cilium/cilium:pkg/k8s/apis/cilium.io/client/crds/v2
    ("cilium.io", "CiliumEndpoint CiliumNetworkPolicy", True),
    ("cilium.io", "CiliumClusterwideNetworkPolicy", False),
    # openshift/api: types.go
    ("image.openshift.io", "ImageStream", True),
    ("project.openshift.io", "Project", False),
    ("user.openshift.io", "Group Identity User", False),
    # kubevirt/kubevirt:pkg/virt-operator/resource/generate/components/crds.go
    ("instancetype.kubevirt.io", "VirtualMachineInstancetype VirtualMachinePreference", True),
    (
        "instancetype.kubevirt.io",
        "VirtualMachineClusterInstancetype VirtualMachineClusterPreference",
        False,
    ),
    ("kubevirt.io", "KubeVirt VirtualMachine VirtualMachineInstance", True),
    # traefik/traefik v2: docs/content/reference/dynamic-configuration
    ("traefik.containo.us", "IngressRoute IngressRouteTCP IngressRouteUDP Middleware", True),
)
_FIELDS = {
    "group": re.compile(r"^  group: (\S+)", re.MULTILINE),
    "kind": re.compile(r"^    kind: (\S+)", re.MULTILINE),
    "plural": re.compile(r"^    plural: (\S+)", re.MULTILINE),
    "scope": re.compile(r"^  scope: (\S+)", re.MULTILINE),
}
_IS_DEFINITION = "^kind: CustomResourceDefinition"


def definitions(repository: Path) -> Iterator[Mapping[str, str]]:
    """Yield group, kind, plural and scope of the definitions in a clone; its tests and designs have
    others. The files are not read as YAML, since many are templates.
    """
    git = ("git", "-C", str(repository))
    listed = subprocess.run(
        [*git, "grep", "-l", _IS_DEFINITION, "HEAD"], capture_output=True, text=True, check=False
    )
    for name in listed.stdout.split():
        if re.search("test|design", name) or not name.endswith((".yaml", ".yml")):
            continue
        text = subprocess.run(
            [*git, "show", name], capture_output=True, text=True, check=True
        ).stdout
        for document in re.split(r"^---", text, flags=re.MULTILINE):
            fields = {field: form.search(document) for field, form in _FIELDS.items()}
            if all(fields.values()) and re.search(_IS_DEFINITION, document, re.MULTILINE):
                yield {field: found[1].strip("\"'") for field, found in fields.items() if found}


def table(repositories: Path) -> dict[str, dict[str, str]]:
    """Return the kinds by scope and group. The importer derives plurals: those of all follow."""
    found = {(group, kind, is_in) for group, kinds, is_in in WRITTEN for kind in kinds.split()}
    for git in repositories.rglob("HEAD"):
        for each in definitions(git.parent) if (git.parent / "objects").is_dir() else ():
            if each["group"] in REPOSITORIES:
                assert each["plural"] == plural(each["kind"]), each
                found.add((each["group"], each["kind"], each["scope"] != "Cluster"))
    missing = REPOSITORIES.keys() - {group for group, _, _ in found}
    if missing:
        raise SystemExit(f"no clones with definitions of {', '.join(sorted(missing))}")
    return {
        scope: {
            group: " ".join(
                sorted(kind for of, kind, within in found if (of, within) == (group, is_in))
            )
            for group in sorted({of for of, _, within in found if within is is_in})
        }
        for scope, is_in in (("namespaced", True), ("cluster", False))
    }


if __name__ == "__main__":
    FILE.write_text(f"{json.dumps(table(Path(sys.argv[1])), indent=2)}\n")
