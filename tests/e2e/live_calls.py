"""A real API server with the webhooks of ``product_webhooks``, all at one server that keeps what
comes, and requests of every kind. No tests here.
"""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from policyd.json_types import JSONObject
from tests.builders.called_rows import DEFINITION, DEV, OBSERVER, PATCHER, PLAIN, PROD, SPACES
from tests.builders.objects import config_map, deployment, pod
from tests.builders.product_webhooks import configurations
from tests.e2e.answering import answering
from tests.e2e.client import APPLY, Answer, Client
from tests.e2e.cluster import Cluster
from tests.server.process import until

Requests = Iterator[tuple[str, Answer]]
THINGS = f"/api/v1/namespaces/{PROD}"
BOB = (("Impersonate-User", "bob"), ("Impersonate-Group", "system:masters"))


@dataclass
class Recorder:
    """Who was called: the path and the request of each call, in the order of arrival."""

    calls: list[tuple[str, JSONObject]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    patched: bool = False

    def answer(self, path: str, request: JSONObject) -> JSONObject:
        if request["userInfo"]["username"].startswith("system:"):
            return {}
        with self.lock:
            self.calls.append((path, request))
        obj = request["object"]
        if path != PATCHER or "patched" in (obj["metadata"].get("annotations") or {}):
            return {}
        notes = {"op": "add", "path": "/metadata/annotations", "value": {"patched": "yes"}}
        self.patched = True
        patch = base64.b64encode(json.dumps([notes]).encode()).decode()
        return {"patchType": "JSONPatch", "patch": patch}

    def taken(self) -> list[tuple[str, JSONObject]]:
        with self.lock:
            found, self.calls = self.calls, []
        return found


@dataclass
class Live:
    """The API server with all configurations, and what it did."""

    api: Cluster
    client: Client
    recorder: Recorder
    given: list[JSONObject]

    def row(self, name: str, answer: Answer) -> JSONObject | None:
        """What happened for one request; None if no webhook was called."""
        patched, self.recorder.patched = self.recorder.patched, False
        calls = self.recorder.taken()
        if not calls:
            return None
        assert calls[0][0] == OBSERVER, name
        return {
            "name": name,
            "request": calls[0][1],
            "calls": [
                [path, list(sent["resource"].values()), list(sent["kind"].values())]
                for path, sent in calls
            ],
            "patched": patched,
            "status": answer.status,
            "message": answer.message if answer.status >= 400 else "",
        }


@contextmanager
def live_calls(api: Cluster) -> Iterator[Live]:
    """Register all webhooks until the end."""
    client = Client(api)
    for space in SPACES:
        client.made(space)
    client.made(DEFINITION)
    home = f"/apis/example.com/v1/namespaces/{PROD}/widgets"
    until(lambda: client.send("GET", home).status == 200, "custom resources")
    recorder = Recorder()
    with answering(api, recorder.answer) as port:
        authority = base64.b64encode((api.folder / "ca.crt").read_bytes()).decode()
        given = list(configurations(f"https://127.0.0.1:{port}", authority))
        try:
            for each in given:
                client.made(each)
            until(lambda: _all_called(client, recorder), "calls to the webhooks")
            recorder.taken()
            yield Live(api, client, recorder, given)
        finally:
            for each in (*given, *SPACES, DEFINITION):
                client.deleted(each)
            client.close()


def _all_called(client: Client, recorder: Recorder) -> bool:
    """Whether the API server knows the first and the last configuration of both kinds."""
    recorder.taken()
    client.create(config_map("probe", PROD), dryRun="All")
    paths = {path.split("/")[1] for path, _ in recorder.taken()}
    return {"000-observer", "zz-last", "gatekeeper-validating", "scopes", "namespaces"} <= paths


def labelled(thing: JSONObject, **labels: str) -> JSONObject:
    return {**thing, "metadata": {**thing["metadata"], "labels": labels}}


def simple(
    api_version: str, kind: str, name: str, namespace: str = "", **fields: Any
) -> JSONObject:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def scaler(name: str, version: str) -> JSONObject:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "maxReplicas": 3}
    return simple(f"autoscaling/{version}", "HorizontalPodAutoscaler", name, PROD, spec=spec)


def requests(live: Live) -> Requests:
    """Send requests of every kind, one each time; a later one may use what an earlier one made."""
    for part in (_objects, _pods, _versions, _cluster, _reviews, _deletes):
        yield from part(live.client)
    other = Client(live.api, BOB)
    yield "another user", other.create(config_map("bobs", PROD))
    yield "another user's secret", other.create(simple("v1", "Secret", "bobs", PROD))
    yield "another user's delete", other.delete(config_map("bobs", PROD))
    other.close()


def _objects(client: Client) -> Requests:
    for space in (PROD, DEV, PLAIN):
        yield f"create in {space}", client.create(config_map("a", space))
        yield f"pod in {space}", client.create(pod(name="web", namespace=space))
        yield f"secret in {space}", client.create(simple("v1", "Secret", "s", space))
    yield "update", client.patch(config_map("a", PROD), {"data": {"a": "2"}})
    yield "unchanged", client.patch(config_map("a", PROD), {"data": {"a": "2"}})
    yield "dry run", client.create(config_map("dry", PROD), dryRun="All")
    yield "patched", client.create(labelled(config_map("p", PROD), patch="yes"))
    yield "patched again", client.patch(config_map("p", PROD), {"data": {"b": "3"}})
    applied = labelled(config_map("applied", PROD), patch="yes")
    for _ in range(2):
        yield (
            "apply",
            client.patch(applied, applied, APPLY, fieldManager="me", force="true"),
        )
    for name in ("broken", "ignored"):
        yield name, client.create(simple("v1", "Secret", name, PROD))


def _pods(client: Client) -> Requests:
    inject = labelled(pod(name="inject", namespace=DEV), **{"sidecar.istio.io/inject": "true"})
    yield "an injected pod", client.create(inject)
    opted = labelled(pod(name="opted", namespace=PROD), **{"sidecar.istio.io/inject": "false"})
    yield "a pod that opted out", client.create(opted)
    named = pod(name="account", namespace=PROD)
    named["spec"]["serviceAccountName"] = "builder"
    yield "a pod with an account", client.create(named)
    for path in ("exec", "attach"):
        query = {"container": "app", "stdout": "true"} | (
            {"command": "ls"} if path == "exec" else {}
        )
        yield path, client.send("POST", f"{THINGS}/pods/web/{path}", **query)
    yield "port-forward", client.send("POST", f"{THINGS}/pods/web/portforward", ports="80")
    yield "proxy", client.send("GET", f"{THINGS}/pods/web/proxy/")
    status = {"status": {"message": "hello"}}
    yield "status", client.send("PATCH", f"{THINGS}/pods/web/status", status,
                                        "application/merge-patch+json")  # fmt: skip
    extra = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "a"}]}}
    yield "ephemeral", client.send("PATCH", f"{THINGS}/pods/web/ephemeralcontainers", extra,
                                           "application/strategic-merge-patch+json")  # fmt: skip
    eviction = simple("policy/v1", "Eviction", "opted", PROD)
    yield "eviction", client.send("POST", f"{THINGS}/pods/opted/eviction", eviction)
    binding = simple("v1", "Binding", "account", PROD, target={"kind": "Node", "name": "n1"})
    yield "binding", client.send("POST", f"{THINGS}/pods/account/binding", binding)


def _versions(client: Client) -> Requests:
    yield "deployment", client.create(deployment(name="web", namespace=PROD))
    scale = {"spec": {"replicas": 3}}
    yield "scale", client.send("PATCH", f"/apis/apps/v1/namespaces/{PROD}/deployments/web/scale",
                                       scale, "application/merge-patch+json")  # fmt: skip
    for version in ("v1", "v2"):
        yield f"scaler {version}", client.create(scaler(f"h-{version}", version))
        change = {"spec": {"maxReplicas": 5}}
        yield (
            f"scaler {version} update",
            client.patch(scaler(f"h-{version}", version), change),
        )
        yield (
            f"widget {version}",
            client.create(
                simple(f"example.com/{version}", "Widget", f"w-{version}", PROD, spec={"size": 1})
            ),
        )
    about = {"kind": "Pod", "name": "web", "namespace": PROD}
    yield (
        "event",
        client.create(
            simple("v1", "Event", "e", PROD, involvedObject=about, reason="a", type="Normal")
        ),
    )
    yield "event of the group", client.create(
        simple("events.k8s.io/v1", "Event", "g", PROD, regarding=about, reason="a", type="Normal",
               action="a", reportingController="a.b/c", reportingInstance="d",
               eventTime="2026-01-01T00:00:00.000000Z")
    )  # fmt: skip


def _cluster(client: Client) -> Requests:
    for name, labels in (("new", {}), ("made-prod", {"env": "prod"}),
                         ("gate", {"admission.gatekeeper.sh/ignore": "yes"})):  # fmt: skip
        made = labelled(simple("v1", "Namespace", f"calls-{name}"), **labels)
        yield f"namespace {name}", client.create(made)
        label = {"metadata": {"labels": {"env": "prod"}}}
        yield f"namespace {name} update", client.patch(made, label)
        yield f"namespace {name} delete", client.delete(made)
    for thing in (simple("v1", "Node", "n1"), simple("rbac.authorization.k8s.io/v1", "ClusterRole", "calls"),
                  simple("v1", "ServiceAccount", "builder", PROD)):  # fmt: skip
        yield thing["kind"], client.create(thing)
        yield f"{thing['kind']} dry delete", client.delete(thing, dryRun="All")
    token = simple(
        "authentication.k8s.io/v1", "TokenRequest", "builder", PROD, spec={"audiences": ["a"]}
    )
    yield "token", client.send("POST", f"{THINGS}/serviceaccounts/builder/token", token)


def _reviews(client: Client) -> Requests:
    attributes = {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": PROD}}
    for kind, spec in (("SelfSubjectAccessReview", attributes), ("SelfSubjectRulesReview", {"namespace": PROD}),
                       ("SubjectAccessReview", {**attributes, "user": "bob"})):  # fmt: skip
        yield kind, client.send("POST", f"/apis/authorization.k8s.io/v1/{kind.lower()}s",
                                        {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec})  # fmt: skip
    for kind, spec in (("TokenReview", {"token": "x"}), ("SelfSubjectReview", {})):
        yield kind, client.send("POST", f"/apis/authentication.k8s.io/v1/{kind.lower()}s",
                                        {"apiVersion": "authentication.k8s.io/v1", "kind": kind, "spec": spec})  # fmt: skip
    hooks = simple(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "calls-none"
    )
    yield "webhook configuration", client.create(hooks)
    yield "webhook configuration delete", client.delete(hooks)


def _deletes(client: Client) -> Requests:
    ingress = simple("networking.k8s.io/v1", "Ingress", "i", PROD, spec={"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}})  # fmt: skip
    path = f"/apis/networking.k8s.io/v1/namespaces/{PROD}/ingresses"
    yield "ingress", client.send("POST", path, ingress)
    service = simple("v1", "Service", "svc", PROD, spec={"ports": [{"port": 80}]})
    yield "service", client.create(service)
    yield "service delete", client.delete(service)
    yield "kept", client.create(labelled(config_map("kept", PROD), keep="yes"))
    yield "kyverno", client.create(labelled(config_map("kyverno", DEV), kyverno="yes"))
    yield "kept delete", client.delete(config_map("kept", PROD))
    yield "delete", client.delete(config_map("a", PROD))
    yield "delete collection", client.send("DELETE", f"{THINGS}/configmaps", labelSelector="patch=yes", fieldSelector="metadata.name=p")  # fmt: skip
    for thing in (
        simple("v1", "Node", "n1"),
        simple("rbac.authorization.k8s.io/v1", "ClusterRole", "calls"),
    ):
        yield f"{thing['kind']} delete", client.delete(thing)
    yield "lease", client.create(simple("coordination.k8s.io/v1", "Lease", "l", PROD))
