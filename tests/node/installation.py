"""policyd on the node: how it is installed, and what its replicas report. No tests here.

``install`` is the one place that knows how: with Helm, from ``deploy/chart``.
"""

import json
import time
from typing import Any

from tests.node.certificates import certificate
from tests.node.documents import POLICIES, data, forbidden, plain_pod
from tests.node.machine import Failed, Node, manifest, until
from tests.node.report import Report
from tests.shared import ROOT

NAMESPACE = "policyd"
RELEASE = "policyd"
CHART = str(ROOT / "deploy/chart")
SELECTOR = "app.kubernetes.io/name=policyd"
REPLICAS = 3
KINDS = "validatingwebhookconfigurations,mutatingwebhookconfigurations"
DENIED = "baseline-host-namespaces"
FILE = "values.json"  # of the release, in the folder of the node
HELM_WITHIN = 240.0  # longer than the --timeout of its commands here
EDITED = "edited"  # a ConfigMap of policies that tests change

Values = dict[str, Any]


def _rule(group: str, version: str, operations: str, *resources: str) -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": operations.split(),
        "resources": list(resources),
        "scope": "Namespaced",
    }


RULES = [
    _rule("", "v1", "CREATE UPDATE", "pods", "pods/ephemeralcontainers", "replicationcontrollers"),
    _rule(
        "apps", "v1", "CREATE UPDATE", "deployments", "statefulsets", "daemonsets", "replicasets"
    ),
    _rule("batch", "v1", "CREATE UPDATE", "jobs", "cronjobs"),
    _rule("", "v1", "DELETE", "pods", "configmaps"),
    _rule("", "v1", "UPDATE", "configmaps"),
    _rule("", "v1", "CONNECT", "pods/exec"),
    _rule("", "v1", "CREATE", "pods/eviction"),
    _rule("apps", "v1", "UPDATE", "deployments/scale"),
    _rule("example.com", "v2", "CREATE UPDATE", "widgets"),
]


class Installation:
    """What is installed on a node."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def kubectl(self, *arguments: str, sent: str | None = None) -> str:
        """kubectl in policyd's namespace."""
        return self.node.kubectl("-n", NAMESPACE, *arguments, sent=sent)

    def pods(self) -> list[Any]:
        """All Pods of policyd, those about to end too."""
        return list(self.node.get("pods", "-n", NAMESPACE, "-l", SELECTOR))

    def names(self) -> list[str]:
        """The names of the Pods that are not about to end."""
        return [
            str(each["metadata"]["name"])
            for each in self.pods()
            if "deletionTimestamp" not in each["metadata"]
        ]

    def ready(self) -> bool:
        """Whether all replicas are ready, and no other Pod of policyd is left."""
        found = self.pods()
        return len(found) == REPLICAS and all(is_ready(each) for each in found)

    def settle(self) -> float:
        """Wait until all replicas are ready, and no other Pod is left; the seconds."""
        return until(self.ready, f"{REPLICAS} replicas ready", 180)

    def page(self, pod: str, path: str) -> str:
        """A page of the admin port of a Pod, by the API server's proxy."""
        url = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}:8080/proxy{path}"
        return self.node.kubectl("get", "--raw", url)

    def generations(self) -> dict[str, str]:
        """The generation of the policies that each replica has loaded."""
        return {
            name: json.loads(self.page(name, "/policies"))["generation"] for name in self.names()
        }

    def processes(self) -> list[str]:
        """The ids of policyd's processes, as the node numbers them."""
        return self.node.inside("pgrep", "-f", "policyd serve").split()

    def leader(self) -> str:
        """The Pod that writes for all."""
        lease = self.node.get("lease", "policyd", "-n", NAMESPACE)
        return str(lease["spec"]["holderIdentity"]).rpartition("_")[0]

    def log(self) -> str:
        return self.kubectl("logs", "-l", SELECTOR, "--prefix", "--tail=-1")


def is_ready(pod: Any) -> bool:
    conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions", ())}
    return conditions.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]


def ensure(
    node: Node, report: Report, values: Values, profile: str = "the default profile"
) -> Installation:
    """policyd with these values and all of its replicas ready; what else is installed goes."""
    installed = Installation(node)
    there = bool(node.kubectl("get", "deployment", "-n", NAMESPACE, "-o", "name"))
    same = there and json.loads((node.folder / FILE).read_text()) == values
    if there and not same:
        uninstall(node)
    if not same:
        seconds = install(node, values)
        report.figure(f"helm install ({profile}) to the first denied Pod", f"{seconds:.1f} s")
    installed.settle()
    return installed


def install(node: Node, values: Values) -> float:
    """Install policyd in one command; the seconds to the first Pod that is denied."""
    if not {"static", "certManager"} & values.keys():
        # What another profile left: policyd does not touch a Secret that it did not write.
        node.kubectl("delete", "secret", "policyd-tls", "-n", NAMESPACE, "--ignore-not-found")
    begin = time.monotonic()
    helm(node, "install", RELEASE, CHART, "--create-namespace", values=values)
    return first_denial(node) - begin


def helm(node: Node, *arguments: str, values: Values | None = None) -> str:
    """Run Helm in policyd's namespace; its output."""
    command = ["helm", *arguments, "-n", NAMESPACE]
    if values is not None:
        (node.folder / FILE).write_text(json.dumps(values))
        command += ["-f", str(node.folder / FILE)]
    done = node.run(*command, within=HELM_WITHIN)
    if done.status:
        raise Failed(f"{' '.join(command)}: {done.out}{done.err}")
    return done.out


def managed() -> Values:
    """The default profile: policyd makes its certificate, and registers what the policies match."""
    return {"policies": {"podSecurity": "baseline", "inline": POLICIES}}


def static(node: Node) -> Values:
    """The profile without any rights. The certificate and a ConfigMap of policies are there."""
    files = certificate(node.folder / "certificate", f"policyd.{NAMESPACE}.svc")
    secret = {name: text for name, text in files.items() if name.startswith("tls")}
    metadata = {"name": "policyd-tls", "namespace": NAMESPACE}
    node.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": metadata,
            "stringData": secret,
        },
        data(EDITED, {"edited.yaml": forbidden("none")}, NAMESPACE),
    )
    return {
        "policies": {"podSecurity": "baseline", "inline": POLICIES, "configMaps": [EDITED]},
        "static": {
            "enabled": True,
            "caBundle": files["ca.crt"],
            "validatingRules": RULES,
            "mutatingRules": RULES[:1],
        },
    }


def uninstall(node: Node) -> None:
    """Uninstall the release, and wait until its Pods are gone."""
    helm(node, "uninstall", RELEASE)
    installed = Installation(node)
    until(lambda: not installed.pods(), "the end of the Pods")


def first_denial(node: Node) -> float:
    """Wait until a bad Pod is denied; the time of that."""
    bad = manifest(plain_pod("first-denial", hostNetwork=True))

    def denied() -> bool:
        done = node.run("kubectl", "create", "--dry-run=server", "-f", "-", sent=bad)
        return DENIED in done.err

    until(denied, "the first denied Pod", 180)
    return time.monotonic()
