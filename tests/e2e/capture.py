"""What a mutating webhook is sent: a webhook that keeps the object of each request and denies it,
so that nothing is created. No tests here.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from policyd.json_types import JSONObject
from tests.e2e.answering import answering
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.server.process import until

# These run before the webhooks, and change objects or refuse them.
PLUGINS = (
    "ServiceAccount",
    "LimitRanger",
    "TaintNodesByCondition",
    "PodTopologyLabels",
    "Priority",
    "DefaultTolerationSeconds",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "RuntimeClass",
    "DefaultIngressClass",
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "ClusterTrustBundleAttest",
    "PodGroupProtection",
)
FLAGS = (f"--disable-admission-plugins={','.join(PLUGINS)}", "--runtime-config=api/all=true")
NAMESPACE = "samples"
# Fields of metadata that no manifest has.
OWN_METADATA = ("uid", "creationTimestamp", "resourceVersion", "generation", "managedFields")
NAME = "capture.policyd.dev"
# The kinds that admission itself consists of are sent to no webhook.
EXEMPT = "admissionregistration.k8s.io/"


class Capture:
    """The webhook of a cluster: ``seen`` creates an object and returns what the webhook got."""

    def __init__(self, api: Cluster) -> None:
        self._api = api
        self._found: list[Any] = []
        self._paths = _paths(api)

    def answer(self, path: str, request: JSONObject) -> JSONObject:
        """Keep the object of a request of the tests, and deny it."""
        if request["userInfo"]["username"] != "admin":
            return {}
        self._found.append(request["object"])
        return {"allowed": False, "status": {"code": 403, "message": "captured"}}

    def seen(self, manifest: JSONObject) -> JSONObject:
        """Return the object as a webhook sees it, or as stored if webhooks never see its kind.

        LookupError with the server's message if there is neither.
        """
        path, namespaced = self._paths[manifest["apiVersion"], manifest["kind"]]
        if namespaced:
            path = path.replace("NAMESPACE", NAMESPACE)
        self._found.clear()
        status, answer = self._api.call("POST", f"{path}?dryRun=All", manifest)
        stored = status == 201 and manifest["apiVersion"].startswith(EXEMPT)
        found = self._found[0] if self._found else answer if stored else None
        if found is None:
            raise LookupError(f"{manifest['apiVersion']} {manifest['kind']}: {answer}")
        metadata = {
            key: value for key, value in found["metadata"].items() if key not in OWN_METADATA
        }
        if "namespace" not in manifest["metadata"]:
            metadata.pop("namespace", None)
        return {**found, "metadata": metadata}

    @property
    def kinds(self) -> frozenset[tuple[str, str]]:
        """apiVersion and kind of what can be created."""
        return frozenset(self._paths)


@contextmanager
def capturing(api: Cluster, definitions: Sequence[JSONObject] = ()) -> Iterator[Capture]:
    """Register the webhook for everything in the cluster, once it serves these definitions."""
    client = Client(api)
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    for each in definitions:
        client.made(each)
        until(lambda each=each: _is_served(api, each), "custom resources")  # type: ignore[misc]
    capture = Capture(api)
    with answering(api, capture.answer) as port:
        every = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
        authority = base64.b64encode((api.folder / "ca.crt").read_bytes()).decode()
        entry = {
            "name": NAME,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": {"url": f"https://127.0.0.1:{port}/", "caBundle": authority},
            "rules": [{**every, "operations": ["CREATE"]}],
        }
        client.made(
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "MutatingWebhookConfiguration",
                "metadata": {"name": "capture"},
                "webhooks": [entry],
            }
        )
        probe = {"apiVersion": "v1", "kind": "ConfigMap"}
        until(lambda: _called(client, probe), "calls to the webhook")
        try:
            yield capture
        finally:
            client.close()


def _is_served(api: Cluster, definition: JSONObject) -> bool:
    spec = definition["spec"]
    home = f"/apis/{spec['group']}/{spec['versions'][0]['name']}"
    path = f"{home}/namespaces/{NAMESPACE}/{spec['names']['plural']}"
    return api.request("GET", path)[0] == 200


def _called(client: Client, probe: JSONObject) -> bool:
    metadata = {"name": "probe", "namespace": NAMESPACE}
    return client.create({**probe, "metadata": metadata}, dryRun="All").status == 403


def _paths(api: Cluster) -> Mapping[tuple[str, str], tuple[str, bool]]:
    """The path that objects of each kind are created at, and whether it names a namespace."""
    homes = ["/api/v1"]
    for group in api.call("GET", "/apis")[1]["groups"]:
        homes += [f"/apis/{each['groupVersion']}" for each in group["versions"]]
    found: dict[tuple[str, str], tuple[str, bool]] = {}
    for home in homes:
        served = home.removeprefix("/apis/").removeprefix("/api/")
        for resource in api.call("GET", home)[1]["resources"]:
            if "create" not in resource["verbs"]:
                continue
            name, _, subresource = resource["name"].partition("/")
            middle = "/namespaces/NAMESPACE" if resource["namespaced"] else ""
            path = f"{home}{middle}/{name}" + (f"/sample/{subresource}" if subresource else "")
            group = resource.get("group", "")
            version = resource.get("version")
            api_version = served if not version else f"{group}/{version}" if group else version
            found.setdefault((api_version, resource["kind"]), (path, resource["namespaced"]))
    return found
