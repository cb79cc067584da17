"""Kyverno on the node: its controllers of admission and of reports, installed with its own chart. No tests here.

``cluster/programs.sh kyverno`` builds its programs; each is an image of one program here.
"""

import json
import shutil
import tempfile
from pathlib import Path

from tests.node.machine import Failed, Node
from tests.node.programs import IMAGES, pack
from tests.programs import program

NAMESPACE = "kyverno"
PROGRAMS = ("kyverno", "kyverno-init", "readiness-checker", "reports-controller")
WITHIN = 300.0
ROLES = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"]}
OTHERS = ("backgroundController", "cleanupController")


def install(node: Node, *spared: str) -> None:
    """Install Kyverno, and wait until its Pods are ready. ``spared`` are namespaces that its webhooks leave out."""
    for name in PROGRAMS:
        node.load(_archive(name))
    selector = {"key": "kubernetes.io/metadata.name", "operator": "NotIn"}
    expressions = [{**selector, "values": ["kube-system", *spared]}]
    values = {
        **{name: {"enabled": False} for name in OTHERS},
        "admissionController": {
            # A busy machine makes it slow, so its webhooks have the longest timeout that there is.
            "container": {"image": _image("kyverno"), "extraArgs": {"webhookTimeout": 30}},
            "initContainer": {"image": _image("kyverno-init")},
        },
        "reportsController": {
            "image": _image("reports-controller"),
            # By default it reads what the role "view" may read.
            "rbac": {"clusterRole": {"extraResources": [ROLES]}},
        },
        "webhooksCleanup": {"image": _image("readiness-checker")},
        "config": {"webhooks": {"namespaceSelector": {"matchExpressions": expressions}}},
    }
    file = node.folder / "kyverno.json"
    file.write_text(json.dumps(values))
    chart = str(node.programs / "kyverno-chart")
    command = ["helm", "install", "kyverno", chart, "-n", NAMESPACE, "--create-namespace"]
    done = node.run(*command, "-f", str(file), "--wait", within=WITHIN)
    if done.status:
        raise Failed(f"{done.out}{done.err}")


def _image(name: str) -> dict[str, str]:
    return {"registry": "docker.io", "repository": f"library/{name}", "tag": "node"}


def _archive(name: str) -> Path:
    archive = IMAGES / f"{name}.tar"
    if not archive.exists():
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(program(name), folder)
            pack(name, Path(folder), archive, Entrypoint=[f"/{name}"], User="65534:65534")
    return archive
