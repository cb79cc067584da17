"""The kinds of Kyverno and Gatekeeper in a real API server, without their schemas, and a user who
may only import. No tests here.
"""

import json
from pathlib import Path

from policyd.json_types import JSONObject
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster, certificate
from tests.e2e.kubectl import kubeconfig_document

OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
CONSTRAINTS = "constraints.gatekeeper.sh"


def defined(
    group: str, plural: str, kind: str, *versions: str, namespaced: bool = False
) -> JSONObject:
    """The definition of a kind; the last of its versions is stored."""
    names = {"plural": plural, "singular": kind.lower(), "kind": kind}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": names,
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == versions[-1],
                    "schema": {"openAPIV3Schema": OPEN},
                    "subresources": {"status": {}},
                }
                for version in versions
            ],
        },
    }


def definitions() -> list[JSONObject]:
    """Those of both engines, but for constraints."""
    cel = "policies.kyverno.io"
    return [
        defined("kyverno.io", "clusterpolicies", "ClusterPolicy", "v2beta1", "v1"),
        defined("kyverno.io", "policies", "Policy", "v2beta1", "v1", namespaced=True),
        defined(
            "kyverno.io", "policyexceptions", "PolicyException", "v2beta1", "v2", namespaced=True
        ),
        defined("kyverno.io", "clustercleanuppolicies", "ClusterCleanupPolicy", "v2beta1", "v2"),
        defined(cel, "validatingpolicies", "ValidatingPolicy", "v1alpha1", "v1beta1", "v1"),
        defined(cel, "mutatingpolicies", "MutatingPolicy", "v1alpha1", "v1beta1", "v1"),
        defined("templates.gatekeeper.sh", "constrainttemplates", "ConstraintTemplate", "v1"),
    ]


def constraint_definition(kind: str) -> JSONObject:
    """What Gatekeeper makes of a template."""
    return defined(CONSTRAINTS, kind.lower(), kind, "v1beta1")


def created(client: Client, thing: JSONObject) -> JSONObject:
    """Create an object of such a kind, in the version that it names."""
    plural = thing["kind"].lower()
    if not thing["apiVersion"].startswith(CONSTRAINTS):
        plural = f"{plural[:-1]}ies" if plural.endswith("y") else f"{plural}s"
    namespace = thing["metadata"].get("namespace")
    within = f"namespaces/{namespace}/" if namespace else ""
    answer = client.send("POST", f"/apis/{thing['apiVersion']}/{within}{plural}", thing)
    assert answer.status == 201, answer.message
    found: JSONObject = answer.body
    return found


def kubeconfig_of(api: Cluster, folder: Path, user: str) -> Path:
    """A kubeconfig of a user without permissions."""
    for name in ("ca.crt", "ca.key"):
        (folder / name).write_bytes((api.folder / name).read_bytes())
    certificate(folder, user, f"/CN={user}")
    file = folder / f"{user}.kubeconfig"
    file.write_text(json.dumps(kubeconfig_document(api, "ca.crt", f"{user}.crt", f"{user}.key")))
    return file
